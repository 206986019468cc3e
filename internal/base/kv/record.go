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

// recordName is the file that says what the database must contain (FORMAT.md).
const recordName = "RECORD"

const (
	recordVersion = 1
	stateOpen     = "open"
	stateClosed   = "closed"
	slotSize      = 64 // length of a line that is rewritten in place
	slots         = 2
)

// record is the content of a RECORD file.
type record struct {
	State  string       `json:"state"`
	Commit uint64       `json:"commit"`          // the last acknowledged commit
	Log    uint32       `json:"-"`               // the log that contains it; in lines only
	Gap    bool         `json:"gap,omitempty"`   // a commit failed; its number may be unused
	Files  []fileRecord `json:"files,omitempty"` // the files of a closed database
}

// fileRecord describes a file of a closed database.
type fileRecord struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  uint32 `json:"crc32c"` // 0 for tables, which have badger's own checksums
}

// encode returns the bytes of a RECORD file. An open record ends with lines that are updated in
// place.
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

// slotLine returns a line of an open record.
func slotLine(commit uint64, log uint32, gap bool) []byte {
	text := fmt.Sprintf("%020d %010d %-5t", commit, log, gap)
	text = fmt.Sprintf("%s %08x", text, crc32.Checksum([]byte(text), castagnoli))
	return fmt.Appendf(nil, "%-*s\n", slotSize-1, text)
}

var errRecordNewer = errors.New("a newer percached wrote it")

// decodeRecord decodes a RECORD file. It skips damaged lines of an open record.
func decodeRecord(b []byte) (*record, error) {
	var version int
	var sum uint32
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	if n, err := fmt.Sscanf(string(head), "record %d %08x", &version, &sum); !ok || err != nil || n != 2 {
		return nil, errors.New("it does not start with a record header")
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

// readRecord reads the record of a closed database, or returns nil if there is none.
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

// journal maintains the record of an open database.
type journal struct {
	dir string

	mu     sync.Mutex
	file   *os.File // nil after end
	at     int64    // offset of the first line
	line   int64    // the next line to write
	commit uint64
	log    uint32 // newest memtable log; 0 until the first commit
	gap    bool
	known  map[string]fileRecord // value logs with known checksums, by name
}

// startJournal writes a record that says that the database is open, and its last commit.
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

// committed records a commit before it is acknowledged. It does not sync: after a power failure
// the record may be behind the database, never ahead of it.
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
	for pathExists(filepath.Join(j.dir, logFileName(j.log+1))) {
		j.log++
	}
	return j.write()
}

// newestLog returns the highest number of a memtable's log.
func newestLog(dir string) (newest uint32) {
	found, _ := fs.Glob(os.DirFS(dir), "*.mem")
	for _, name := range found {
		if id, ok := logNumber(name); ok {
			newest = max(newest, id)
		}
	}
	return newest
}

// failed records that a commit failed, because its number may be used up.
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

// end closes the journal. If badger closed without error, the record then lists the files.
// Otherwise the record still says that the database is open, and the next Open verifies more.
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

// recorded says whether a record lists a file of this name.
func recorded(name string) bool {
	return name == "MANIFEST" || strings.HasSuffix(name, ".sst") || isLog(name)
}

func isLog(name string) bool {
	return strings.HasSuffix(name, ".vlog") || strings.HasSuffix(name, ".mem")
}

// listFiles describes the files of a closed database. A full value log never changes, so its
// known checksum is reused if the size is the same.
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
