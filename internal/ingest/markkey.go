package ingest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// On disk, the key of the marks of an imported space is a key and a value:
//
//	key: 'F' 'k', first 16 bytes of SHA-256 of the space's name
//	value: format version (1), nonce (12 bytes), the key encrypted with AES-256-GCM under a key
//	made of the folder's; the record's key is authenticated with it
//
// So a backup does not contain the key in the clear. An export does: version 2, then the key.
const (
	markKeySealed = 1
	markKeyPlain  = 2
	markKeySize   = 32
)

// spaceKey is a key of a space's record.
func spaceKey(kind string, id kv.SpaceID) []byte { return append([]byte(kind), id[:]...) }

// derive makes a key of the folder's key.
func (l *Library) derive(use string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, l.Key)
	h.Write([]byte(use))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// markKey is the key of a space's marks: the one that an import brought along, or its own. One
// that another folder encrypted counts as missing.
func (l *Library) markKey(id kv.SpaceID) []byte {
	at := spaceKey("Fk", id)
	var sealed []byte
	_ = l.Meta.View(func(tx *kv.Tx) (err error) { // without it the marks match nothing
		sealed, err = tx.Get(at)
		return err
	})
	box, err := l.markBox()
	if err == nil && len(sealed) > 1+box.NonceSize() && sealed[0] == markKeySealed {
		nonce := sealed[1 : 1+box.NonceSize()]
		if key, err := box.Open(nil, nonce, sealed[1+len(nonce):], at); err == nil {
			return key
		}
	}
	return l.derive("marks of a space", id[:])
}

func (l *Library) markBox() (cipher.AEAD, error) {
	block, err := aes.NewCipher(l.derive("key of marks"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// exportedMarkKey is the record of a space's key in an export.
func (l *Library) exportedMarkKey(id kv.SpaceID) []byte {
	return append([]byte{markKeyPlain}, l.markKey(id)...)
}

// importedMarkKey makes the record of a key that an export brought along.
func (l *Library) importedMarkKey(id kv.SpaceID, exported []byte) ([]byte, error) {
	const op = "ingest: key of marks"
	if len(exported) != 1+markKeySize || exported[0] != markKeyPlain {
		return nil, fault.New(fault.Invalid, op, "the key of deleted documents is unreadable")
	}
	box, err := l.markBox()
	if err != nil {
		return nil, fault.New(fault.Internal, op, "%w", err)
	}
	nonce := make([]byte, box.NonceSize())
	rand.Read(nonce) // never fails
	return box.Seal(append([]byte{markKeySealed}, nonce...), nonce, exported[1:], spaceKey("Fk", id)), nil
}
