package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

const (
	// encryptionFile contains the data key of an encrypted folder, wrapped by the secret.
	encryptionFile = "encryption.json"
	secretLock     = "encryption.lock" // held while it is replaced
)

// Encrypted says whether a folder is encrypted.
func Encrypted(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, encryptionFile))
	return err == nil
}

// Encrypt makes an encrypted folder. It refuses a folder that is in use or not new: nothing in it would be
// encrypted.
func Encrypt(dir string, source encryption.Source, cost encryption.Cost) error {
	const op = "home.Encrypt"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	h := &Home{dir: dir}
	fresh, err := h.isNew()
	switch {
	case err != nil:
		return err
	case !fresh || Encrypted(dir):
		return fault.New(fault.Conflict, op, "%s exists already; to encrypt its data, write a backup, make an encrypted folder elsewhere, and restore the backup there", dir)
	}
	secret, err := source.NewSecret()
	if err != nil {
		return err
	}
	_, text, err := encryption.New(secret, cost)
	if err != nil {
		return fault.New(fault.Internal, op, "%w", err)
	}
	lock, err := Lock(h.Path("lock"))
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // the process number is no data
	if fresh, err = h.isNew(); err == nil && (!fresh || Encrypted(dir)) {
		err = fault.New(fault.Conflict, op, "another process has just made %s", dir)
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	h.Encryption, err = encryption.Open(text, secret)
	if err == nil {
		err = durable.Write(h.Path(encryptionFile), text)
	}
	if err == nil {
		err = durable.Write(h.Path("schema"), h.schemaText())
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// ChangeSecret has another secret open the folder. The data stays as it is. A daemon may use the folder.
func ChangeSecret(dir string, old, next encryption.Source, cost encryption.Cost) error {
	const op = "home.ChangeSecret"
	if !Encrypted(dir) {
		return fault.New(fault.Invalid, op, "%s is not encrypted; percached init --encrypt makes an encrypted folder", dir)
	}
	h := &Home{dir: dir}
	text, err := os.ReadFile(h.Path(encryptionFile))
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	secret, err := old.Secret()
	if err != nil {
		return err
	}
	key, err := encryption.Open(text, secret)
	if err != nil {
		return refused(op, dir, err)
	}
	if secret, err = next.NewSecret(); err != nil {
		return err
	}
	lock, err := Lock(h.Path(secretLock)) // two must not write at a time
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // the process number is no data
	if text, err = key.Wrap(secret, cost); err == nil {
		_, err = encryption.Open(text, secret)
	}
	if err == nil {
		err = durable.Write(h.Path(encryptionFile), text)
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// unlock finds the key of an encrypted folder, and changes nothing. It does nothing in a plain folder.
func (h *Home) unlock(source encryption.Source) error {
	if h.Encryption != nil {
		return nil
	}
	if err := h.checkKeyFile(); err != nil || !Encrypted(h.dir) {
		return err
	}
	text, err := os.ReadFile(h.Path(encryptionFile))
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if h.secret, err = source.Secret(); err != nil {
		return refused(op, h.dir, err)
	}
	if h.Encryption, err = encryption.Open(text, h.secret); err != nil {
		return refused(op, h.dir, err)
	}
	return nil
}

// checkKeyFile refuses an encrypted folder whose key file is missing or damaged, and a plain one that has
// such a file.
func (h *Home) checkKeyFile() error {
	text, err := readHead(h.Path(encryptionFile))
	there := !errors.Is(err, fs.ErrNotExist)
	if err != nil && there {
		return unreadable(op, h.Path(encryptionFile), err)
	}
	schema, err := readHead(h.Path("schema"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(op, h.Path("schema"), err)
	}
	switch found := versionIn(schema); {
	case found > encryptedVersion:
		return newer(op, h.dir, found)
	case found == encryptedVersion && !there:
		return fault.New(fault.Unavailable, op, "%s is missing: put your copy of it back, or restore a backup into another folder; without it nobody can read %s", h.Path(encryptionFile), h.dir)
	case found > 0 && found < encryptedVersion && there:
		return fault.New(fault.Invalid, op, "%s is not encrypted, but contains %s; move that file away", h.dir, encryptionFile)
	case !there:
		return nil
	}
	if err := encryption.Check(text); err != nil {
		return fault.New(fault.KindOf(err), op, "cannot read %s: %w; put your copy of it back", h.Path(encryptionFile), err)
	}
	return nil
}

// refused is the error of a folder that was not opened.
func refused(op, dir string, err error) error {
	if errors.Is(err, encryption.ErrWrongSecret) {
		return fault.New(fault.Invalid, op, "cannot open the encrypted folder %s: %w; nothing was changed", dir, err)
	}
	return fault.New(fault.KindOf(err), op, "cannot open the encrypted folder %s: %w", dir, err)
}

func newer(op, dir string, found int) error {
	return fault.New(fault.Unsupported, op, "%s has version %d and this percached reads version %d; use a newer percached", dir, found, encryptedVersion)
}

// Subkey is the key for one use, or nil in a plain folder.
func (h *Home) Subkey(use string) []byte {
	if h.Encryption == nil {
		return nil
	}
	return h.Encryption.Derive(use)
}

// WrappedKey is the text of the key file. It refuses one that does not wrap the key in use: nobody
// could read a backup with it.
func (h *Home) WrappedKey() ([]byte, error) {
	const op = "home.WrappedKey"
	b, err := os.ReadFile(h.Path(encryptionFile))
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if !h.Encryption.Wraps(b) {
		return nil, fault.New(fault.Unavailable, op, "%s is damaged or belongs to another data folder; put your copy of it back", h.Path(encryptionFile))
	}
	return b, nil
}

// KeyOf opens the key file of a backup: with the key of this folder, or with its secret.
func (h *Home) KeyOf(text []byte) (*encryption.Key, error) {
	const op = "home.KeyOf"
	if h.Encryption == nil {
		return nil, fault.New(fault.Invalid, op, "the backup is encrypted, and %s is not; make an encrypted folder with percached init --encrypt and the passphrase of the backup, and restore it there", h.dir)
	}
	if h.Encryption.Wraps(text) {
		return h.Encryption, nil
	}
	key, err := encryption.Open(text, h.secret)
	if errors.Is(err, encryption.ErrWrongSecret) {
		return nil, fault.New(fault.Invalid, op, "the backup has another passphrase than %s; make a folder with percached init --encrypt and the passphrase of the backup, and restore it there", h.dir)
	}
	if err != nil {
		return nil, fault.New(fault.KindOf(err), op, "cannot read the key file in the backup: %w", err)
	}
	return key, nil
}
