package kv

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// badger's marks on an entry of a log or table.
const (
	markDelete  = 1 << 0
	markPointer = 1 << 1 // the value is in a value log
	markTxn     = 1 << 6 // part of a transaction
	markFinTxn  = 1 << 7 // the end of a transaction
)

// stored is one version of a key in a table or a memtable's log. It is valid during the call
// only.
type stored struct {
	key     []byte
	version uint64
	mark    byte
	value   []byte // or a pointer to it
}

func (s *stored) pointer() (pointer, bool) {
	if s.mark&markPointer == 0 || s.mark&markDelete != 0 || len(s.value) != 12 {
		return pointer{}, false
	}
	return pointer{
		file:   binary.NativeEndian.Uint32(s.value),
		length: binary.NativeEndian.Uint32(s.value[4:]),
		offset: binary.NativeEndian.Uint32(s.value[8:]),
	}, true
}

// pointer locates a value in the value logs.
type pointer struct{ file, length, offset uint32 }

// survey reads a closed database without changing it.
type survey struct {
	dir     string
	keys    keyring
	tables  []uint64          // tables that the manifest lists, older levels first
	keyIDs  map[uint64]uint64 // numbers of the data keys of these tables
	deleted map[uint64]bool   // tables that the manifest listed earlier
	orphans []uint64          // tables that the manifest never listed
	logs    []uint32          // numbers of memtable logs, oldest first
	last    string            // the newest value log
}

// takeSurvey reads the manifest and the file names. It returns nil if there is no database. If
// the manifest is damaged, it returns the survey and a Damage.
func takeSurvey(dir string, o Options) (*survey, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &survey{dir: dir, deleted: map[uint64]bool{}, keyIDs: map[uint64]uint64{}}
	var tables []uint64
	used := false
	for _, e := range entries {
		name := e.Name()
		used = used || recorded(name)
		if strings.HasSuffix(name, ".vlog") { // by name
			s.last = name
		}
		if id, ok := table.ParseFileID(name); ok {
			tables = append(tables, id)
		}
		if id, ok := logNumber(name); ok {
			s.logs = append(s.logs, id)
		} else if strings.HasSuffix(name, ".mem") {
			return nil, damagedf(name, "its name is not a valid log name")
		}
	}
	if !used {
		return nil, nil
	}
	slices.Sort(s.logs)
	slices.Sort(tables)
	if s.keys, err = readKeyring(dir, o.Key); err != nil {
		return nil, err
	}
	err = s.readManifest(o)
	for _, id := range tables {
		if !slices.Contains(s.tables, id) && !s.deleted[id] {
			s.orphans = append(s.orphans, id)
		}
	}
	return s, err
}

// readManifest reads which tables are in use, and which were.
func (s *survey) readManifest(o Options) error {
	name := badger.ManifestFilename
	f, err := os.Open(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return damagedf(name, "it is missing")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	manifest, end, err := badger.ReplayManifestFile(f, 0, o.badger(s.dir))
	if err != nil {
		return damagedf(name, "%v", err)
	}
	s.tables = slices.SortedFunc(maps.Keys(manifest.Tables), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(manifest.Tables[b].Level, manifest.Tables[a].Level), cmp.Compare(a, b))
	})
	for id, t := range manifest.Tables {
		s.keyIDs[id] = t.KeyID
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	for rest := b[min(8, end):end]; len(rest) >= 8; { // badger has just read it
		n := int(binary.BigEndian.Uint32(rest))
		var set pb.ManifestChangeSet
		if err := proto.Unmarshal(rest[8:8+n], &set); err != nil {
			return damagedf(name, "%v", err)
		}
		for _, c := range set.Changes {
			if c.Op == pb.ManifestChange_DELETE {
				s.deleted[c.Id] = true
			}
		}
		rest = rest[8+n:]
	}
	return nil
}

// readTable returns a table's file name, content and data key.
func (s *survey) readTable(id uint64) (name string, b, key []byte, err error) {
	path := table.NewFilename(id, s.dir)
	name = filepath.Base(path)
	b, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = damagedf(name, "MANIFEST lists this table and it is missing: it was removed, or MANIFEST was cut")
	}
	if err != nil {
		return name, nil, nil, err
	}
	keyID, listed := s.keyIDs[id]
	if !listed {
		return name, b, s.keys.keyOf(b), nil
	}
	if key, err = s.keys.key(keyID); err != nil {
		err = damagedf(name, "%v", err)
	}
	return name, b, key, err
}

// eachInTable calls fn with every version in a table.
func (s *survey) eachInTable(id uint64, fn func(*stored) error) error {
	return s.eachReadable(id, fn, func(d *Damage) error { return d })
}

// eachReadable calls fn with every readable version of a table, and lost with each damage. It
// stops at the first error of either. Values are sealed with their keys, so entries of a
// damaged block can be checked by their readers.
func (s *survey) eachReadable(id uint64, fn func(*stored) error, lost func(*Damage) error) error {
	name, b, key, err := s.readTable(id)
	if d, ok := errors.AsType[*Damage](err); ok {
		return lost(d)
	}
	if err != nil {
		return err
	}
	stopped := false
	err = eachBlock(b, key, func(data []byte, damage error) error {
		if damage != nil {
			if err := lost(damagedf(name, "the table is damaged: %v", damage)); err != nil {
				stopped = true
				return err
			}
		}
		err := eachInBlock(data, fn)
		if errors.Is(err, errBlock) {
			err = lost(damagedf(name, "the table is damaged: %v", err))
		}
		stopped = err != nil
		return err
	})
	if err != nil && !stopped {
		return lost(damagedf(name, "the table is damaged: %v", err))
	}
	return err
}

// eachInLog calls fn with every version in the complete transactions at the start of a
// memtable's log, as badger does when it opens the database. It returns whether more bytes
// follow.
func (s *survey) eachInLog(id uint32, fn func(*stored) error) (tail bool, err error) {
	b, key, err := s.readLogFile(logFileName(id))
	if err != nil {
		return false, err
	}
	if len(b) < logHeader {
		return len(b) > 0, nil
	}
	return readLog(b, key, fn)
}

// readLogFile returns the content of a log and the key of its entries.
func (s *survey) readLogFile(name string) (b []byte, key *logKey, err error) {
	if key, err = s.logKey(name); err == nil {
		b, err = os.ReadFile(filepath.Join(s.dir, name))
	}
	return b, key, err
}

// logKey returns the key of the entries of a log.
func (s *survey) logKey(name string) (*logKey, error) {
	f, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	header := make([]byte, logHeader)
	if n, err := f.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if n < logHeader { // it has no entries
		return nil, nil
	}
	key, err := s.keys.ofLog(header)
	if err != nil {
		return nil, damagedf(name, "%v", err)
	}
	return key, nil
}

func logFileName(id uint32) string { return fmt.Sprintf("%05d.mem", id) }

func logNumber(name string) (uint32, bool) {
	base, ok := strings.CutSuffix(name, ".mem")
	id, err := strconv.ParseUint(base, 10, 32)
	return uint32(id), ok && err == nil
}

// readLog reads the content of a log behind its header.
func readLog(b []byte, key *logKey, fn func(*stored) error) (tail bool, err error) {
	var open []stored  // versions of an unfinished transaction
	whole := logHeader // the end of the last complete transaction
	for at := logHeader; ; {
		e, n := readEntry(b[at:], key, at)
		if n == 0 {
			break
		}
		at += n
		if e.mark&markTxn != 0 {
			if len(open) > 0 && open[0].version != e.version {
				break
			}
			open = append(open, e)
			continue
		}
		if e.mark&markFinTxn != 0 {
			at, err := strconv.ParseUint(string(e.value), 10, 64)
			if err != nil || len(open) == 0 || open[0].version != at {
				break
			}
			for i := range open {
				if err := fn(&open[i]); err != nil {
					return false, err
				}
			}
			open = open[:0]
		} else {
			if len(open) > 0 {
				break
			}
			if err := fn(&e); err != nil {
				return false, err
			}
		}
		whole = at
	}
	return !isZero(b[whole:]), nil
}

// readEntry reads an entry that lies at an offset of a log, and returns its length; 0 if it is invalid.
func readEntry(b []byte, lock *logKey, offset int) (e stored, n int) {
	length, end := entryLength(b)
	if end || length < 0 || length > int64(len(b)) {
		return stored{}, 0
	}
	sum := length - crc32.Size
	if binary.BigEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli) {
		return stored{}, 0
	}
	at := 2
	var size [3]uint64
	for i := range size {
		v, n := binary.Uvarint(b[at:])
		size[i] = v
		at += n
	}
	both, err := lock.decrypt(b[at:sum], offset)
	if err != nil || size[0] < 8 {
		return stored{}, 0
	}
	key := both[:size[0]]
	return stored{key: y.ParseKey(key), version: y.ParseTs(key), mark: b[0], value: both[len(key):]}, int(length)
}

func valueLogName(id uint32) string { return fmt.Sprintf("%06d.vlog", id) }

// value reads the value of a key from a value log.
func (s *survey) value(key []byte, p pointer) ([]byte, error) {
	name := valueLogName(p.file)
	f, err := os.Open(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damagedf(name, "the value log is missing")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lock, err := s.logKey(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, p.length)
	if _, err := f.ReadAt(b, int64(p.offset)); errors.Is(err, io.EOF) {
		return nil, damagedf(name, "it is truncated: a value is missing")
	} else if err != nil {
		return nil, err
	}
	e, n := readEntry(b, lock, int(p.offset))
	if n != len(b) || !bytes.Equal(e.key, key) {
		return nil, damagedf(name, "a value does not match its checksum or its key")
	}
	return e.value, nil
}

// readable returns the readable length of the newest value log. badger truncates the log there
// when it opens the database.
func (s *survey) readable() (int64, error) {
	if s.last == "" {
		return 0, nil
	}
	b, err := os.ReadFile(filepath.Join(s.dir, s.last))
	if err != nil {
		return 0, err
	}
	at := min(logHeader, len(b))
	for {
		_, n := readEntry(b[at:], nil, at) // its length and checksum; the key does not matter
		if n == 0 {
			return int64(at), nil
		}
		at += n
	}
}
