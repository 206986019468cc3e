package home_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// cheap makes a guess of the passphrase cost nothing.
var cheap = encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}

// passphrase is a source with this passphrase.
func passphrase(t *testing.T, text string) encryption.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return encryption.Source{File: file}
}

func encrypted(t *testing.T) (dir string, source encryption.Source) {
	t.Helper()
	dir, source = filepath.Join(t.TempDir(), "data"), passphrase(t, "the passphrase\n")
	if err := home.Encrypt(dir, source, cheap); err != nil {
		t.Fatal(err)
	}
	return dir, source
}

// tree is the content of all files of a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		info, failed := e.Info()
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		all[e.Name()] = info.Mode().String() + info.ModTime().String() + string(b)
	}
	return all
}

func TestEncrypt(t *testing.T) {
	dir, source := encrypted(t)
	h, err := home.Open(dir, source)
	if err != nil {
		t.Fatal(err)
	}
	meta, key := h.Subkey("meta"), h.Key
	if len(meta) != 32 || len(key) != 32 || bytes.Equal(meta, key) {
		t.Errorf("keys of %d and %d bytes", len(meta), len(key))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if h, err = home.Open(dir, source); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !bytes.Equal(h.Subkey("meta"), meta) || !bytes.Equal(h.Key, key) {
		t.Error("another key the second time")
	}
	for name, text := range tree(t, dir) {
		if strings.Contains(text, string(key)) || strings.Contains(text, string(meta)) {
			t.Errorf("%s contains a key", name)
		}
	}
	if _, err := home.Open(dir, encryption.Source{}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("in use, without a passphrase: %v", err)
	}
}

// Without the right key nothing changes, and the message says what to do.
func TestEncryptedRefuses(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	for _, tc := range []struct {
		name   string
		source encryption.Source
		harm   func(dir string) error
		kind   fault.Kind
		says   string
	}{
		{"wrong", passphrase(t, "another"), nil, fault.Invalid, "the passphrase is wrong; nothing was changed"},
		{"none", encryption.Source{}, nil, fault.Invalid, "--key-file"},
		{"no file", encryption.Source{File: "nowhere"}, nil, fault.Unavailable, "nowhere"},
		{"the key file is gone", passphrase(t, "the passphrase"), func(dir string) error { return os.Remove(filepath.Join(dir, "encryption.json")) }, fault.Unavailable, "encryption.json is missing"},
		{"the key file is cut", passphrase(t, "the passphrase"), func(dir string) error { return os.Truncate(filepath.Join(dir, "encryption.json"), 100) }, fault.Unavailable, "put your copy of it back"},
		{"a plain folder", passphrase(t, "the passphrase"), func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "schema"), []byte(`{"version": 2}`), 0o600)
		}, fault.Invalid, "is not encrypted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, source := encrypted(t)
			if h, err := home.Open(dir, source); err != nil {
				t.Fatal(err)
			} else if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if tc.harm != nil {
				if err := tc.harm(dir); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			_, err := home.Open(dir, tc.source)
			if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v", err)
			}
			if !maps.Equal(before, tree(t, dir)) {
				t.Error("the folder has changed")
			}
			if err := home.Check(dir); (err == nil) != (tc.harm == nil) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// Only a new folder can be encrypted.
func TestEncryptExisting(t *testing.T) {
	plain := t.TempDir()
	if err := open(t, plain).Close(); err != nil {
		t.Fatal(err)
	}
	dir, source := encrypted(t)
	for _, dir := range []string{plain, dir} {
		before := tree(t, dir)
		if err := home.Encrypt(dir, source, cheap); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "restore") {
			t.Errorf("%v", err)
		}
		if !maps.Equal(before, tree(t, dir)) {
			t.Error("the folder has changed")
		}
	}
	if home.Encrypted(plain) || !home.Encrypted(dir) {
		t.Error("which one is encrypted?")
	}
}

func TestChangeSecret(t *testing.T) {
	dir, old := encrypted(t)
	next := passphrase(t, "a new passphrase")
	h, err := home.Open(dir, old)
	if err != nil {
		t.Fatal(err)
	}
	meta := h.Subkey("meta")
	wrapped, err := h.WrappedKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := home.ChangeSecret(dir, next, old, cheap); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong passphrase: %v", err)
	}
	if err := home.ChangeSecret(dir, old, next, cheap); err != nil { // the folder is in use
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(dir, old); err == nil {
		t.Error("the old passphrase still opens the folder")
	}
	if h, err = home.Open(dir, next); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !bytes.Equal(h.Subkey("meta"), meta) {
		t.Error("the data has another key")
	}
	if k, err := h.KeyOf(wrapped); err != nil || !bytes.Equal(k.Derive("meta"), meta) {
		t.Errorf("a backup of the time before: %v", err)
	}
	if err := home.ChangeSecret(t.TempDir(), old, next, cheap); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a plain folder: %v", err)
	}
}

// A crash of init leaves the key file alone. The folder opens with the passphrase, also after the
// passphrase was changed.
func TestEncryptInterrupted(t *testing.T) {
	dir, old := encrypted(t)
	if err := os.Remove(filepath.Join(dir, "schema")); err != nil {
		t.Fatal(err)
	}
	next := passphrase(t, "a new passphrase")
	if err := home.ChangeSecret(dir, old, next, cheap); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(dir, old); err == nil {
		t.Error("the old passphrase still opens the folder")
	}
	h, err := home.Open(dir, next)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.Encryption == nil {
		t.Error("the folder is plain")
	}
}

// A backup gets no key file with which nobody could read it.
func TestWrappedKeyOfAnother(t *testing.T) {
	dir, source := encrypted(t)
	h, err := home.Open(dir, source)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, other, err := encryption.New([]byte("the passphrase"), cheap)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"another": other, "cut": other[:100]} {
		if err := os.WriteFile(filepath.Join(dir, "encryption.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.WrappedKey(); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "put your copy of it back") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A backup of another folder opens with the same passphrase only.
func TestKeyOf(t *testing.T) {
	dir, source := encrypted(t)
	h, err := home.Open(dir, source)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for secret, works := range map[string]bool{"the passphrase": true, "another": false} {
		_, text, err := encryption.New([]byte(secret), cheap)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.KeyOf(text); (err == nil) != works {
			t.Errorf("%s: %v", secret, err)
		}
	}
	_, text, err := encryption.New([]byte("the passphrase"), cheap)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.KeyOf(text[:100]); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "the key file in the backup: ") {
		t.Errorf("damaged: %v", err)
	}
	plain := open(t, t.TempDir())
	defer plain.Close()
	if _, err := plain.KeyOf(text); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "init --encrypt") {
		t.Errorf("into a plain folder: %v", err)
	}
}
