package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/percached/percached/internal/base/durable"
)

// recordName is the file in a database's folder that says what the database must
// contain. FORMAT.md describes it.
const recordName = "RECORD"

const (
	recordVersion = 1
	stateOpen     = "open"
	stateClosed   = "closed"
	slotSize      = 64 // bytes of a line that is rewritten in place
	slots         = 2
)

// record is what a RECORD file says.
type record struct {
	State  string       `json:"state"`
	Commit uint64       `json:"commit"`          // the last commit that was acknowledged
	Log    uint32       `json:"-"`               // the log that holds it; only lines tell
	Gap    bool         `json:"gap,omitempty"`   // a commit failed: its number may be missing
	Files  []fileRecord `json:"files,omitempty"` // what a closed database consists of
}

// fileRecord names a file of a closed database.
type fileRecord struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  uint32 `json:"crc32c"` // 0 for tables: badger's own checksums cover them
}

// encode gives the bytes of a RECORD file. An open one ends in lines that note
// rewrites.
func (r *record) encode() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b := fmt.Appendf(nil, "record %d %08x\n%s\n", recordVersion, crc32.Checksum(body, castagnoli), body)
	if r.State == stateOpen {
		for range slots {
			b = append(b, slotLine(r.Commit, r.Log, r.Gap)...)
		}
	}
	return b, nil
}

// slotLine is a line of an open record.
func slotLine(commit uint64, log uint32, gap bool) []byte {
	text := fmt.Sprintf("%020d %010d %-5t", commit, log, gap)
	text = fmt.Sprintf("%s %08x", text, crc32.Checksum([]byte(text), castagnoli))
	return fmt.Appendf(nil, "%-*s\n", slotSize-1, text)
}

var errRecordNewer = errors.New("a newer percached wrote it")

// decodeRecord reads a RECORD file. Damaged lines of an open one are passed over.
func decodeRecord(b []byte) (*record, error) {
	var version int
	var sum uint32
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	if n, err := fmt.Sscanf(string(head), "record %d %08x", &version, &sum); !ok || err != nil || n != 2 {
		return nil, errors.New("it does not begin as a record")
	}
	if version > recordVersion {
		return nil, errRecordNewer
	}
	body, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("it does not match its checksum")
	}
	r := &record{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	if r.State != stateOpen && r.State != stateClosed {
		return nil, fmt.Errorf("it has the unknown state %q", r.State)
	}
	for ; len(rest) >= slotSize; rest = rest[slotSize:] {
		if commit, log, gap, ok := decodeSlot(rest[:slotSize]); ok {
			r.Commit, r.Log, r.Gap = max(r.Commit, commit), max(r.Log, log), r.Gap || gap
		}
	}
	return r, nil
}

func decodeSlot(b []byte) (commit uint64, log uint32, gap, ok bool) {
	if _, err := fmt.Sscanf(string(b), "%d %d %t", &commit, &log, &gap); err != nil {
		return 0, 0, false, false
	}
	return commit, log, gap, bytes.Equal(b, slotLine(commit, log, gap))
}

// readRecord reads the record of a closed database; nil where there is none.
func readRecord(dir string) (*record, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(b)
}

// journal keeps the record of a database that is open.
type journal struct {
	dir string

	mu     sync.Mutex
	file   *os.File // nil behind close
	at     int64    // of the first line
	line   int64    // the next one to write
	commit uint64
	log    uint32 // the newest log of a memtable; 0 until the first commit
	gap    bool
	known  map[string]fileRecord // value logs that were read, by name, with their sums
}

// startJournal writes that the database is open and was committed up to a number.
func startJournal(dir string, commit uint64, known []fileRecord) (*journal, error) {
	r := record{State: stateOpen, Commit: commit}
	b, err := r.encode()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, recordName)
	if err := durable.Write(path, b); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	j := &journal{dir: dir, file: f, at: int64(len(b) - slots*slotSize), commit: commit, known: map[string]fileRecord{}}
	for _, k := range known {
		j.known[k.Name] = k
	}
	return j, nil
}

// committed notes the number of a commit before it is acknowledged. It does not
// sync: after a power failure the record may say less than the truth, never more.
func (j *journal) committed(commit uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil || commit <= j.commit {
		return nil
	}
	j.commit = commit
	if j.log == 0 {
		j.log = newestLog(j.dir)
	}
	for exists(filepath.Join(j.dir, logFileName(j.log+1))) {
		j.log++
	}
	return j.write()
}

// newestLog is the highest number of a memtable's log.
func newestLog(dir string) (newest uint32) {
	found, _ := filepath.Glob(filepath.Join(dir, "*.mem"))
	for _, path := range found {
		if id, ok := logNumber(filepath.Base(path)); ok {
			newest = max(newest, id)
		}
	}
	return newest
}

// failed notes that a commit failed whose number may be used up.
func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil || j.gap {
		return nil
	}
	j.gap = true
	return j.write()
}

// write rewrites one line in place. The caller holds mu.
func (j *journal) write() error {
	_, err := j.file.WriteAt(slotLine(j.commit, j.log, j.gap), j.at+j.line*slotSize)
	j.line = (j.line + 1) % slots
	return err
}

// end closes the file. A database that badger closed well gets a record of its
// files; else the record keeps saying that it is open, and the next Open looks at
// more.
func (j *journal) end(closed bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	if err != nil || !closed {
		return err
	}
	r := record{State: stateClosed, Commit: j.commit}
	if r.Files, err = listFiles(j.dir, j.known); err != nil {
		return err
	}
	b, err := r.encode()
	if err != nil {
		return err
	}
	return durable.Write(filepath.Join(j.dir, recordName), b)
}

// recorded says whether a record names a file of this name.
func recorded(name string) bool {
	return name == "MANIFEST" || strings.HasSuffix(name, ".sst") || isLog(name)
}

func isLog(name string) bool {
	return strings.HasSuffix(name, ".vlog") || strings.HasSuffix(name, ".mem")
}

// listFiles describes the files of a closed database. Value logs never change once
// they are full: sums that are known for their size are taken over.
func listFiles(dir string, known map[string]fileRecord) ([]fileRecord, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []fileRecord
	for _, e := range entries {
		if !recorded(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		f := fileRecord{Name: e.Name(), Size: info.Size()}
		switch k := known[f.Name]; {
		case strings.HasSuffix(f.Name, ".sst"):
		case k.Name != "" && k.Size == f.Size:
			f.Sum = k.Sum
		default:
			if f.Sum, err = sumFile(filepath.Join(dir, f.Name)); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	return files, nil
}

func sumFile(path string) (uint32, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := crc32.New(castagnoli)
	_, err = io.Copy(h, f)
	return h.Sum32(), err
}
