package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// OpenOn opens an inbox on a folder that holds the records, too. It calls step before
// each change.
func OpenOn(dir string, o Options, step func(what, name string) error) (*Inbox, error) {
	d := &disk{dir: dir, step: step, key: o.Key}
	return open(d, fakeStore{d}, o)
}

// RecordEnd ends the names of files with records.
const RecordEnd = ".record"

// fakeStore keeps each record in a file, so that a copy of the folder is what a crash
// leaves of both.
type fakeStore struct{ *disk }

func (f fakeStore) file(key []byte) string {
	return f.path(strings.TrimPrefix(string(key), uploadKey) + RecordEnd)
}

func (f fakeStore) load(fn func(key, value []byte) error) error {
	all, err := filepath.Glob(f.path("*" + RecordEnd))
	for _, path := range all {
		key := []byte(strings.TrimSuffix(filepath.Base(path), RecordEnd))
		if string(key) != string(withheldKey) {
			key = keyOf(string(key))
		}
		b, err := os.ReadFile(path)
		if err == nil {
			err = fn(key, b)
		}
		if err != nil {
			return err
		}
	}
	return err
}

func (f fakeStore) get(key []byte) ([]byte, error) {
	b, err := os.ReadFile(f.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.NotFound, "fakeStore", "no such key")
	}
	return b, err
}

func (f fakeStore) write(changes ...change) error {
	for _, c := range changes {
		what := "store"
		if c.value == nil {
			what = "delete"
		}
		if err := f.before(what, filepath.Base(f.file(c.key))); err != nil {
			return err
		}
	}
	for _, c := range changes {
		err := error(nil)
		if c.value != nil {
			err = os.WriteFile(f.file(c.key), c.value, 0o600)
		} else if err = os.Remove(f.file(c.key)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Spooled counts the bytes in spool files.
func Spooled(in *Inbox) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.bytes
}

// Newer is the record of an upload as a newer version may write it.
func Newer(id string) []byte { return sealed.NewWriter(recordVersion+1, keyOf(id)).Seal() }

// Former is a record as former versions wrote it.
func Former(version int, body string) []byte {
	return append(fmt.Appendf(nil, "upload %d %08x\n", version, formerSum(version, []byte(body))), body...)
}

// Peaks are the most bytes that each share of the memory gave out, beside its size.
func Peaks(in *Inbox) (all [][2]int64) {
	for _, s := range []*share{in.memory.documents, in.memory.bodies, in.memory.smallBodies} {
		s.mu.Lock()
		all = append(all, [2]int64{s.peak, s.size})
		s.mu.Unlock()
	}
	return all
}

// Held counts the bytes in flight.
func Held(in *Inbox) (n int64) {
	for _, s := range []*share{in.memory.documents, in.memory.bodies, in.memory.smallBodies} {
		s.mu.Lock()
		n += s.held
		s.mu.Unlock()
	}
	return n
}

// PutEnded writes records of uploads that ended long ago.
func PutEnded(db *kv.DB, n int) error {
	for i := range n {
		r := &record{ID: fmt.Sprintf("%032x", i), Seq: uint64(i + 1), Space: "mail", State: Done, Ended: time.Unix(1, 0).UTC(), Count: 1}
		c, err := put(keyOf(r.ID), r)
		if err == nil {
			err = database{db}.write(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
