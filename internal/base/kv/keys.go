package kv

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

const (
	// registryText follows 16 random bytes in badger's list of data keys, encrypted if the database is.
	registryText = "Hello Badger"
	registryHead = 16 + len(registryText)
	// registryEntry precedes a data key: its length and its checksum.
	registryEntry = 8
)

// keyring has the data keys of an encrypted database by number. Nil belongs to a plain database.
type keyring map[uint64][]byte

// readKeyring reads badger's list of data keys. A crash may leave its last entry incomplete; no
// file uses that key yet.
func readKeyring(dir string, master []byte) (keyring, error) {
	name := badger.KeyRegistryFileName
	b, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if master == nil {
			return nil, nil
		}
		return keyring{}, nil
	case err != nil:
		return nil, err
	case master == nil:
		if usesKeys(b) {
			return nil, damagedf(name, "the database is encrypted, and no key was given")
		}
		return nil, nil
	}
	keys, _, err := parseRegistry(b, master)
	return keys, err
}

// parseRegistry returns the data keys, and the length of the complete entries.
func parseRegistry(b, master []byte) (keyring, int, error) {
	damage := func(what string) error { return damagedf(badger.KeyRegistryFileName, "%s", what) }
	if len(b) < registryHead {
		return nil, 0, damage("it is truncated")
	}
	text, err := ctr(b[16:registryHead], master, b[:16])
	if err != nil {
		return nil, 0, err
	}
	if string(text) != registryText {
		return nil, 0, damage("it does not match the key of the data folder")
	}
	keys, at := keyring{}, registryHead
	for at < len(b) {
		n := entryAt(b[at:])
		if n == 0 {
			if at+registryEntry+maxRegistryKey < len(b) { // a whole entry would fit behind it
				return nil, 0, damage("an entry does not match its checksum")
			}
			break
		}
		var k pb.DataKey
		if err := proto.Unmarshal(b[at+registryEntry:at+n], &k); err != nil || len(k.Iv) != aes.BlockSize {
			return nil, 0, damage("an entry is invalid")
		}
		if keys[k.KeyId], err = ctr(k.Data, master, k.Iv); err != nil {
			return nil, 0, err
		}
		at += n
	}
	return keys, at, nil
}

// maxRegistryKey is the largest data key with its number, time and IV.
const maxRegistryKey = 128

// entryAt returns the length of an entry of the registry, or 0 if it is incomplete or damaged.
func entryAt(b []byte) int {
	if len(b) < registryEntry {
		return 0
	}
	n := int64(binary.BigEndian.Uint32(b))
	if n > int64(len(b)-registryEntry) || n > maxRegistryKey {
		return 0
	}
	if crc32.Checksum(b[registryEntry:registryEntry+n], castagnoli) != binary.BigEndian.Uint32(b[4:]) {
		return 0
	}
	return registryEntry + int(n)
}

// usesKeys says whether a registry is that of an encrypted database.
func usesKeys(b []byte) bool {
	return len(b) > registryHead && string(b[16:registryHead]) != registryText && entryAt(b[registryHead:]) > 0
}

// inspectRegistry repairs badger's list of data keys. In a plain database it removes a list that is
// not empty: badger would refuse the database, or allocate memory for a key of any length. In an
// encrypted one it cuts an entry that a crash left incomplete.
func inspectRegistry(path string, master []byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if master != nil {
		_, end, err := parseRegistry(b, master)
		if err != nil || end == len(b) {
			return err
		}
		return os.Truncate(path, int64(end))
	}
	switch {
	case len(b) == registryHead && string(b[16:]) == registryText:
		return nil
	case usesKeys(b):
		return damagedf(filepath.Base(path), "the database is encrypted, and no key was given")
	}
	return os.Remove(path)
}

// key returns a data key. It is nil in a plain database.
func (k keyring) key(id uint64) ([]byte, error) {
	if k == nil {
		return nil, nil
	}
	key, ok := k[id]
	if !ok {
		return nil, fmt.Errorf("its data key %d is missing in %s", id, badger.KeyRegistryFileName)
	}
	return key, nil
}

// keyOf finds the key of a table that no list names, by trying all.
func (k keyring) keyOf(b []byte) []byte {
	for _, key := range k {
		if errors.Is(eachBlock(b, key, func(_ []byte, damage error) error {
			if damage == nil {
				return errRightKey
			}
			return nil
		}), errRightKey) {
			return key
		}
	}
	return nil
}

var errRightKey = errors.New("a block matches its checksum")

// decryptPart decrypts a part of a table, which ends with its IV. Without a key it is plain.
func decryptPart(b, key []byte) ([]byte, error) {
	if key == nil {
		return b, nil
	}
	at := len(b) - aes.BlockSize
	if at < 0 {
		return nil, errors.New("it is truncated")
	}
	return ctr(b[:at], key, b[at:])
}

func ctr(b, key, iv []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(b))
	cipher.NewCTR(block, iv).XORKeyStream(out, b)
	return out, nil
}

// logKey decrypts the entries of a log. Nil: the log is plain.
type logKey struct{ key, base []byte }

// ofLog returns the key for a log with this header, in which the key's number and the start of the
// IVs are.
func (k keyring) ofLog(header []byte) (*logKey, error) {
	if k == nil || len(bytes.Trim(header, "\x00")) == 0 { // or a crash left the header empty, and no entry
		return nil, nil
	}
	key, err := k.key(binary.BigEndian.Uint64(header))
	if err != nil {
		return nil, err
	}
	return &logKey{key, header[8:logHeader]}, nil
}

// decrypt returns key and value of an entry at an offset.
func (l *logKey) decrypt(b []byte, at int) ([]byte, error) {
	if l == nil {
		return b, nil
	}
	return ctr(b, l.key, binary.BigEndian.AppendUint32(bytes.Clone(l.base), uint32(at)))
}

// fits says whether the header of an encrypted log is that with which its first transaction was written.
// The checksums of entries do not cover it.
func (l *logKey) fits(b []byte) bool {
	for at := logHeader; at < len(b); {
		e, n := readEntry(b[at:], l, at)
		if n == 0 {
			break
		}
		if e.mark&markFinTxn != 0 {
			version, err := strconv.ParseUint(string(e.value), 10, 64)
			return err == nil && version == e.version
		}
		at += n
	}
	return true
}
