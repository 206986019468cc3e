package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// repairFiles prepares the files of a closed database for badger. It repairs what would make
// badger exit or hang, if nothing is lost by it: files that a crash left empty, impossible
// garbage counts, and logs after an impossible entry. Files that must not be lost were verified
// before.
func repairFiles(dir string, o Options) error {
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
			err = inspectRegistry(path, o.Key)
		case strings.HasSuffix(name, ".mem"), strings.HasSuffix(name, ".vlog"):
			// badger itself truncates a memtable's log and the newest value log at an unreadable
			// entry, but it allocates memory for the entry first.
			mayCut := o.Disposable || name == last || strings.HasSuffix(name, ".mem")
			err = inspectLog(path, mayCut, o.Key != nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectTables reads all listed tables of a disposable database.
func inspectTables(dir string, o Options) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, os.ErrNotExist) {
		for _, pattern := range []string{"*.sst", "*.vlog", "*.mem"} {
			if found, _ := fs.Glob(os.DirFS(dir), pattern); len(found) > 0 {
				return errors.New("the manifest is missing")
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
	// A power failure can leave half an entry at the end, but so can a flipped byte. Disposable data is
	// not trusted then.
	if info, err := f.Stat(); err == nil && info.Size() != end {
		return errors.New("the last entry of the manifest is incomplete")
	}
	keys, err := readKeyring(dir, o.Key)
	if err != nil {
		return err
	}
	for id, t := range manifest.Tables {
		name := table.NewFilename(id, dir)
		key, err := keys.key(t.KeyID)
		var b []byte
		if err == nil {
			b, err = os.ReadFile(name)
		}
		if err == nil {
			err = inspectTable(b, key)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// discardSlot is the size of an entry of badger's DISCARD file: the number of a value-log file
// and its garbage in bytes. A slot of zeros ends the list.
const discardSlot = 16

// inspectDiscard removes impossible counts: badger would search forever for a file with an
// impossible number.
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

const (
	logHeader   = 20      // bytes of a log file's header
	entryHeader = 22      // largest header of an entry
	maxKey      = 1 << 16 // largest key
)

// inspectLog walks over the entries of a value log or a memtable's log. It may truncate the log
// before an entry that is longer than the file.
func inspectLog(path string, mayCut, encrypted bool) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 { // left by a crash; badger would refuse the database
		return os.Remove(path)
	}
	var head [entryHeader]byte
	// The number of the encryption key is 0 in a plain database; badger refuses other values.
	if n, _ := f.ReadAt(head[:8], 0); !encrypted && n == 8 && [8]byte(head[:8]) != [8]byte{} {
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

// entryLength computes the length of an entry from its header: two bytes of flags, the lengths
// of key and value, and the expiry time. Key, value and a 4-byte checksum follow. It returns -1
// for an invalid header.
func entryLength(b []byte) (n int64, end bool) {
	if len(b) < 2 {
		return 0, true
	}
	if isZero(b) {
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

// isZero says whether a log ends here. It looks from the start: behind each entry there can be
// megabytes of zeros, which were never written.
func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inspectTable verifies a badger table against its checksums.
func inspectTable(b, key []byte) error {
	return eachBlock(b, key, func(_ []byte, err error) error { return err })
}

// eachBlock calls fn with every block of a table and its damage, if any. A table ends with the
// index, the index's length, the index's checksum, and the checksum's length. The index lists
// the blocks. In an encrypted table the index and each block are encrypted.
func eachBlock(b, key []byte, fn func(data []byte, damage error) error) error {
	rest, sum, err := cutSum(b)
	if err != nil {
		return err
	}
	rest, index, err := cutField(rest)
	if err != nil {
		return err
	}
	if crc32.Checksum(index, castagnoli) != sum {
		return errors.New("the index does not match its checksum")
	}
	if index, err = decryptPart(index, key); err != nil {
		return err
	}
	blocks, err := blocksOf(index)
	if err != nil {
		return err
	}
	for i, at := range blocks {
		data, err := blockAt(rest, at, key)
		if err != nil {
			err = fmt.Errorf("block %d: %w", i, err)
		}
		if err := fn(data, err); err != nil {
			return err
		}
	}
	return nil
}

func blockAt(b []byte, at extent, key []byte) ([]byte, error) {
	if uint64(at.offset)+uint64(at.length) > uint64(len(b)) {
		return nil, errors.New("it is outside of the file")
	}
	data, err := decryptPart(b[at.offset:][:at.length], key)
	if err != nil {
		return nil, err
	}
	data, sum, err := cutSum(data)
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != sum {
		return data, errors.New("it does not match its checksum")
	}
	return data, nil
}

var errBlock = errors.New("the block contains an invalid entry")

// eachInBlock calls fn with every version in a block that matched its checksum. A block
// consists of entries, the offset of each, and their count. An entry consists of the length
// that its key shares with the first key, the length of the rest, the rest, the marks, the
// expiry time and the value.
func eachInBlock(data []byte, fn func(*stored) error) error {
	if len(data) < 4 {
		return errBlock
	}
	n := int64(binary.BigEndian.Uint32(data[len(data)-4:]))
	if n > int64(len(data)-4)/4 {
		return errBlock
	}
	offsets := data[int64(len(data)-4)-4*n : len(data)-4]
	entries := data[:len(data)-4-len(offsets)]
	var first []byte
	for i := range int(n) {
		at := binary.NativeEndian.Uint32(offsets[4*i:])
		end := uint32(len(entries))
		if i+1 < int(n) {
			end = binary.NativeEndian.Uint32(offsets[4*i+4:])
		}
		if at > end || int64(end) > int64(len(entries)) || end-at < 4 {
			return errBlock
		}
		e := entries[at:end]
		shared, own := int(binary.NativeEndian.Uint16(e)), int(binary.NativeEndian.Uint16(e[2:]))
		e = e[4:]
		if shared > len(first) || own+3 > len(e) || shared+own < 8 {
			return errBlock
		}
		key := append(first[:shared:shared], e[:own]...)
		if i == 0 {
			first = key
		}
		value := e[own+2:]
		_, size := binary.Uvarint(value)
		if size <= 0 {
			return errBlock
		}
		if err := fn(&stored{key: y.ParseKey(key), version: y.ParseTs(key), mark: e[own], value: value[size:]}); err != nil {
			return err
		}
	}
	return nil
}

type extent struct{ offset, length uint32 }

// blocksOf reads an index that matched its checksum. It turns a panic into an error.
func blocksOf(index []byte) (blocks []extent, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the index is invalid: %v", p)
		}
	}()
	t := fb.GetRootAsTableIndex(index, 0)
	var bo fb.BlockOffset
	for i := range t.OffsetsLength() {
		if !t.Offsets(&bo, i) {
			return nil, fmt.Errorf("the index has no block %d", i)
		}
		blocks = append(blocks, extent{bo.Offset(), bo.Len()})
	}
	if len(blocks) == 0 {
		return nil, errors.New("the index lists no blocks")
	}
	return blocks, nil
}

// cutSum removes a CRC-32C from the end: a protocol-buffer message with the checksum (field 2;
// field 1, the kind, is 0 and absent), followed by its length.
func cutSum(b []byte) (rest []byte, sum uint32, err error) {
	rest, m, err := cutField(b)
	if err != nil {
		return nil, 0, err
	}
	if len(m) == 0 { // a checksum of 0 is absent, too
		return rest, 0, nil
	}
	v, n := binary.Uvarint(m[1:])
	if m[0] != 2<<3 || n <= 0 || 1+n != len(m) || v>>32 != 0 {
		return nil, 0, errors.New("the checksum is missing")
	}
	return rest, uint32(v), nil
}

// cutField removes a field and its length from the end.
func cutField(b []byte) (rest, field []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("it is truncated")
	}
	at := len(b) - 4
	n := int64(binary.BigEndian.Uint32(b[at:]))
	if n > int64(at) {
		return nil, nil, errors.New("a length exceeds the data")
	}
	return b[:at-int(n)], b[at-int(n) : at], nil
}
