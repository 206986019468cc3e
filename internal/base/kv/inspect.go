package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// mend prepares the files of a closed database for badger. It repairs what badger
// would end the process over or hang on, where nothing is lost by it: files that a
// crash left empty, counts of garbage that cannot be right, and logs behind an
// entry that cannot be one. What may not be lost was verified before.
func mend(dir string, o Options) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	last := ""
	for _, e := range entries { // by name
		if strings.HasSuffix(e.Name(), ".vlog") {
			last = e.Name()
		}
	}
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(dir, name)
		switch {
		case name == "DISCARD":
			err = inspectDiscard(path)
		case name == badger.KeyRegistryFileName:
			err = inspectRegistry(path)
		case strings.HasSuffix(name, ".mem"), strings.HasSuffix(name, ".vlog"):
			// badger itself cuts a memtable's log and the newest value log
			// where they cannot be read on; but it makes room for the entry first.
			mayCut := o.Disposable || name == last || strings.HasSuffix(name, ".mem")
			err = inspectLog(path, mayCut)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectTables reads every table that is in use, of a database that may be lost.
func inspectTables(dir string, o Options) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, os.ErrNotExist) {
		for _, pattern := range []string{"*.sst", "*.vlog", "*.mem"} {
			if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
				return errors.New("there is no manifest")
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	manifest, end, err := badger.ReplayManifestFile(f, 0, o.badger(dir))
	if err != nil {
		return err
	}
	// A power failure can leave half an entry at the end, and so can a flipped
	// byte: what may be lost is not trusted then.
	if info, err := f.Stat(); err == nil && info.Size() != end {
		return errors.New("the manifest ends in half an entry")
	}
	for id := range manifest.Tables {
		name := table.NewFilename(id, dir)
		b, err := os.ReadFile(name)
		if err == nil {
			err = inspectTable(b)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// discardSlot is the size of an entry in badger's DISCARD: the number of a
// value-log file and its garbage in bytes, up to a slot of zeros.
const discardSlot = 16

// inspectDiscard removes counts that cannot be right: badger looks for ever for
// a file that its numbers cannot name.
func inspectDiscard(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sound := len(b)%discardSlot == 0
	for sound && len(b) > 0 {
		file, garbage := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		if file == 0 {
			break
		}
		sound = file>>32 == 0 && garbage>>40 == 0
		b = b[discardSlot:]
	}
	if sound {
		return nil
	}
	return os.Remove(path)
}

// registryText stands in badger's list of encryption keys behind 16 random
// bytes, and keys behind that.
const registryText = "Hello Badger"

// inspectRegistry removes a list of keys that is not the empty one: nothing here
// is encrypted, and badger refuses the database or makes room for a key of any
// length.
func inspectRegistry(path string) error {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 16+len(registryText) && string(b[16:]) == registryText {
		return err
	}
	return os.Remove(path)
}

const (
	logHeader   = 20      // of a log file
	entryHeader = 22      // of an entry, at most
	maxKey      = 1 << 16 // of an entry
)

// inspectLog walks over the entries of a value log or a memtable's log, and may
// cut it before one that is longer than the file.
func inspectLog(path string, mayCut bool) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 { // a crash left it so; badger refuses the database
		return os.Remove(path)
	}
	var head [entryHeader]byte
	// The number of the key that it is encrypted with is always 0; badger
	// refuses the database when it is not.
	if n, _ := f.ReadAt(head[:8], 0); n == 8 && [8]byte(head[:8]) != [8]byte{} {
		if _, err := f.WriteAt(make([]byte, 8), 0); err != nil {
			return err
		}
	}
	for at := int64(logHeader); at < info.Size(); {
		n, err := f.ReadAt(head[:], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		length, end := entryLength(head[:n])
		switch {
		case end:
			return nil
		case length < 0 || at+length > info.Size():
			if mayCut {
				return f.Truncate(at)
			}
			return nil
		}
		at += length
	}
	return nil
}

// entryLength reads the length of an entry off its header: two bytes of flags,
// the lengths of key and value, the time of expiry; then follow key, value and
// a checksum of 4 bytes. It is -1 for what is no entry.
func entryLength(b []byte) (n int64, end bool) {
	if len(b) < 2 {
		return 0, true
	}
	if len(bytes.Trim(b, "\x00")) == 0 {
		return 0, true
	}
	at := 2
	var fields [3]uint64
	for i := range fields {
		v, size := binary.Uvarint(b[at:])
		if size <= 0 {
			return -1, false
		}
		fields[i] = v
		at += size
	}
	if fields[0] > maxKey || fields[1]>>32 != 0 {
		return -1, false
	}
	return int64(at) + int64(fields[0]) + int64(fields[1]) + 4, false
}
