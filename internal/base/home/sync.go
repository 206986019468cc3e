package home

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
)

// SyncFiles are the files in the folder "sync" of a data folder, which commands read and write
// beside a daemon. In an encrypted folder they are encrypted, and their names say nothing.
type SyncFiles struct {
	dir string          // the data folder
	key *encryption.Key // nil: the folder is plain
}

// OpenSyncFiles finds the key of a data folder, which another process may use. If the folder is
// encrypted, it takes the secret from source. It changes nothing.
func OpenSyncFiles(dir string, source encryption.Source) (*SyncFiles, error) {
	h := &Home{dir: dir}
	if err := h.unlock(source); err != nil {
		return nil, err
	}
	return h.SyncFiles(), nil
}

// SyncFiles are the files of an open folder.
func (h *Home) SyncFiles() *SyncFiles { return &SyncFiles{h.dir, h.Encryption} }

// State is the path of the file with what percached add --sync and percached watch know of the
// files of a space.
func (s *SyncFiles) State(space string) string { return s.Space(space) + ".json" }

// Space is the path of the folder with what percached sources knows of the mail accounts of a
// space.
func (s *SyncFiles) Space(space string) string {
	sum := sha256.Sum256([]byte(space))
	return filepath.Join(s.dir, "sync", s.FileName(hex.EncodeToString(sum[:16])))
}

// Sources is the path of the folder with the mail accounts that spaces follow, and their
// passwords.
func (s *SyncFiles) Sources() string { return filepath.Join(s.dir, "sync", "sources") }

// FileName is a name to store a file under: the name itself, or in an encrypted folder one that
// only the key makes of it.
func (s *SyncFiles) FileName(name string) string {
	if s.key == nil {
		return name
	}
	return hex.EncodeToString(encryption.Subkey(s.key.Derive("names"), nil, name)[:16])
}

// Read reads a file. One that was not encrypted with this key is encryption.ErrDamaged.
func (s *SyncFiles) Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil || s.key == nil {
		return b, err
	}
	return io.ReadAll(encryption.NewReader(bytes.NewReader(b), s.key))
}

// Write replaces a file, as durable.Write does.
func (s *SyncFiles) Write(path string, text []byte) error {
	var b bytes.Buffer
	if err := s.key.Copy(&b, bytes.NewReader(text)); err != nil {
		return err
	}
	return durable.Write(path, b.Bytes())
}

// Open opens a file that Create made.
func (s *SyncFiles) Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil || s.key == nil {
		return f, err
	}
	return struct {
		io.Reader
		io.Closer
	}{encryption.NewReader(f, s.key), f}, nil
}

// Create makes a file that need not survive a crash.
func (s *SyncFiles) Create(path string) (io.WriteCloser, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil || s.key == nil {
		return f, err
	}
	w, err := encryption.NewWriter(f, s.key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &encryptedFile{w, f}, nil
}

// encryptedFile closes both the writer and the file below.
type encryptedFile struct {
	*encryption.Writer
	file *os.File
}

func (f *encryptedFile) Close() error { return errors.Join(f.Writer.Close(), f.file.Close()) }
