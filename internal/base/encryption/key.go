package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"golang.org/x/crypto/argon2"

	"github.com/percached/percached/internal/base/fault"
)

const (
	keyVersion = 1
	keyBytes   = 32
	saltBytes  = 16
	argon2id   = "argon2id"
	aesGCM     = "aes-256-gcm"
)

// ErrWrongSecret says that a secret does not open a key file.
var ErrWrongSecret = errors.New("the passphrase is wrong")

// Key is the data key of an encrypted folder.
type Key struct{ data [keyBytes]byte }

// Cost is what it costs to try one secret.
type Cost struct {
	Time      uint32 // passes over the memory
	MemoryKiB uint32
	Threads   uint8
}

// DefaultCost is the second recommendation of RFC 9106: 64 MiB, some tenths of a second.
func DefaultCost() Cost { return Cost{Time: 3, MemoryKiB: 64 << 10, Threads: 4} }

// within says whether a key file may ask for this cost: a manipulated one must not take all memory.
func (c Cost) within() bool {
	return c.Time >= 1 && c.Time <= 64 && c.MemoryKiB >= 8*uint32(c.Threads) && c.MemoryKiB <= 4<<20 && c.Threads >= 1
}

// hexBytes is written as hexadecimal digits.
type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}

// keyFile is the content of a key file (FORMAT.md).
type keyFile struct {
	Version   int      `json:"version"`
	KDF       string   `json:"kdf"`
	Time      uint32   `json:"time"`
	MemoryKiB uint32   `json:"memory_kib"`
	Threads   uint8    `json:"threads"`
	Salt      hexBytes `json:"salt"`
	Cipher    string   `json:"cipher"`
	Nonce     hexBytes `json:"nonce"`
	Wrapped   hexBytes `json:"wrapped"`
	Key       hexBytes `json:"key"`
	Sum       string   `json:"crc32c,omitempty"`
}

// New makes a random data key, and the text of a key file that a secret opens.
func New(secret []byte, cost Cost) (*Key, []byte, error) {
	k := &Key{}
	rand.Read(k.data[:])
	text, err := k.Wrap(secret, cost)
	return k, text, err
}

// Wrap returns the text of a key file that another secret opens.
func (k *Key) Wrap(secret []byte, cost Cost) ([]byte, error) {
	f := keyFile{
		Version: keyVersion, KDF: argon2id, Time: cost.Time, MemoryKiB: cost.MemoryKiB, Threads: cost.Threads,
		Salt: make([]byte, saltBytes), Cipher: aesGCM, Nonce: make([]byte, 12), Key: k.id(),
	}
	rand.Read(f.Salt)
	rand.Read(f.Nonce)
	box, bound, err := f.box(secret)
	if err != nil {
		return nil, err
	}
	f.Wrapped = box.Seal(nil, f.Nonce, k.data[:], bound)
	if f.Sum, err = f.sum(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}

// Open reads the text of a key file with its secret. A secret that does not fit is
// ErrWrongSecret.
func Open(text, secret []byte) (*Key, error) {
	const op = "encryption.Open"
	f, err := parse(text)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	box, bound, err := f.box(secret)
	if err != nil {
		return nil, err
	}
	b, err := box.Open(nil, f.Nonce, f.Wrapped, bound)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", ErrWrongSecret)
	}
	return &Key{data: [keyBytes]byte(b)}, nil
}

// Check says what is wrong with the text of a key file, without its secret.
func Check(text []byte) error {
	_, err := parse(text)
	return err
}

// Wraps says whether the text of a key file wraps this key.
func (k *Key) Wraps(text []byte) bool {
	f, err := parse(text)
	return err == nil && bytes.Equal(f.Key, k.id())
}

func parse(text []byte) (*keyFile, error) {
	const op = "encryption.parse"
	f := &keyFile{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fault.New(fault.Unavailable, op, "it is damaged: it is not JSON")
	}
	if f.Version > keyVersion {
		return nil, fault.New(fault.Unsupported, op, "it has version %d and this percached reads version %d; use a newer percached", f.Version, keyVersion)
	}
	cost := Cost{f.Time, f.MemoryKiB, f.Threads}
	sum, err := f.sum()
	if err != nil || sum != f.Sum || f.Version < 1 || f.KDF != argon2id || f.Cipher != aesGCM || !cost.within() ||
		len(f.Salt) != saltBytes || len(f.Nonce) != 12 || len(f.Wrapped) != keyBytes+16 {
		return nil, fault.New(fault.Unavailable, op, "it is damaged")
	}
	return f, nil
}

// sum is the checksum of the file.
func (f *keyFile) sum() (string, error) {
	bare := *f
	bare.Sum = ""
	b, err := json.Marshal(bare)
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))), err
}

// box is the cipher that wraps the data key, and what it is bound to.
func (f *keyFile) box(secret []byte) (cipher.AEAD, []byte, error) {
	bare := *f
	bare.Wrapped, bare.Sum = nil, ""
	bound, err := json.Marshal(bare)
	if err != nil {
		return nil, nil, err
	}
	box, err := newAEAD(argon2.IDKey(secret, f.Salt, f.Time, f.MemoryKiB, f.Threads, keyBytes))
	return box, bound, err
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Derive returns the key for one use, 32 bytes.
func (k *Key) Derive(use string) []byte { return Subkey(k.data[:], nil, use) }

// Subkey derives a key of 32 bytes from another.
func Subkey(key, salt []byte, use string) []byte {
	b, err := hkdf.Key(sha256.New, key, salt, use, keyBytes)
	if err != nil { // too long a key is asked for
		panic(err)
	}
	return b
}

func (k *Key) id() []byte { return k.Derive("id")[:8] }
