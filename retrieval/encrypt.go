package retrieval

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached/internal/base/encryption"
)

// An encrypted index: bleve passes what it writes to a file of terms, and its own values in root.bolt,
// through a hook, part by part. The hook belongs to the process, so it looks up the key by the path.
// What stays plain are the lengths and places of these parts.

const (
	encryptedID = "1:" // precedes the salt in the name that bleve stores with an encrypted file
	saltBytes   = 16
	nonceBytes  = 12
)

// folderKeys has the keys of the folders of encrypted indexes.
type folderKeys struct {
	mu sync.Mutex
	by map[string][]byte
}

// hooked has the keys that bleve's hooks use. The first call sets the hooks, before bleve opens a file.
var hooked = sync.OnceValue(func() *folderKeys {
	all := &folderKeys{by: map[string][]byte{}}
	index.WriterHook, index.ReaderHook = all.writer, all.reader
	return all
})

func (f *folderKeys) set(dir string, key []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key == nil {
		delete(f.by, filepath.Clean(dir))
	} else {
		f.by[filepath.Clean(dir)] = key
	}
}

// of returns the key for a file of an index: DIR/SPACE/FILE.
func (f *folderKeys) of(path []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by[filepath.Dir(filepath.Dir(filepath.Clean(string(path))))]
}

// writer returns how to encrypt the parts of a new file, and a name from which reader makes the key again.
func (f *folderKeys) writer(path []byte) (string, func([]byte) []byte, error) {
	key := f.of(path)
	if key == nil {
		return "", nil, nil
	}
	var salt []byte
	next := func(nonce []byte) { rand.Read(nonce) }
	// bleve writes a snapshot again into root.bolt and leaves parts of it as they were, so all parts of
	// root.bolt, which are few, have one key. Each file of terms has its own, and counts its parts.
	if filepath.Base(string(path)) != listFile {
		salt = make([]byte, saltBytes)
		rand.Read(salt)
		var parts atomic.Uint64
		next = func(nonce []byte) { binary.BigEndian.PutUint64(nonce[nonceBytes-8:], parts.Add(1)) }
	}
	aead, err := fileCipher(key, salt)
	if err != nil {
		return "", nil, err
	}
	return encryptedID + hex.EncodeToString(salt), func(b []byte) []byte {
		out := make([]byte, nonceBytes, nonceBytes+len(b)+aead.Overhead())
		next(out)
		return aead.Seal(out, out[:nonceBytes], b, nil)
	}, nil
}

var errPart = errors.New("a part cannot be decrypted")

// reader returns how to decrypt the parts of a file.
func (f *folderKeys) reader(id string, path []byte) (func([]byte) ([]byte, error), error) {
	if id == "" {
		return nil, nil
	}
	key := f.of(path)
	digits, ok := strings.CutPrefix(id, encryptedID)
	salt, err := hex.DecodeString(digits)
	if !ok || err != nil || key == nil {
		return nil, errPart
	}
	aead, err := fileCipher(key, salt)
	if err != nil {
		return nil, err
	}
	return func(b []byte) ([]byte, error) {
		if len(b) < nonceBytes {
			return nil, errPart
		}
		text, err := aead.Open(nil, b[:nonceBytes], b[nonceBytes:], nil)
		if err != nil {
			return nil, errPart
		}
		return text, nil
	}, nil
}

// fileCipher encrypts the parts of a file.
func fileCipher(key, salt []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(encryption.Subkey(key, salt, "file"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
