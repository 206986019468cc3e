package home_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
)

// Commands read and write the same files beside the process that uses the folder, after a change of
// the passphrase too, and only with the passphrase.
func TestSyncFiles(t *testing.T) {
	plainDir := t.TempDir()
	encryptedDir, source := encrypted(t)
	for dir, source := range map[string]encryption.Source{plainDir: {}, encryptedDir: source} {
		h, err := home.Open(dir, source)
		if err != nil {
			t.Fatal(err)
		}
		files := h.SyncFiles()
		state, letter := files.State("space"), filepath.Join(files.Sources(), files.FileName("letter"))
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.MkdirAll(files.Sources(), 0o700))
		must(files.Write(state, []byte("a secret")))
		w, err := files.Create(letter)
		must(err)
		_, err = io.WriteString(w, "a secret letter")
		must(errors.Join(err, w.Close()))
		b, err := os.ReadFile(state)
		must(err)
		if plain := dir == plainDir; plain != (string(b) == "a secret") || plain != (filepath.Base(letter) == "letter") || plain == strings.Contains(string(b), "pcenc") {
			t.Errorf("%s is %q", letter, b)
		}
		if files.State("space") == files.State("other") || files.FileName("a") == files.FileName("b") {
			t.Error("two names are one")
		}
		if home.Encrypted(dir) {
			next := passphrase(t, "the next passphrase")
			must(home.ChangeSecret(dir, source, next, cheap))
			before := tree(t, filepath.Join(dir, "sync", "sources"))
			if _, err := home.OpenSyncFiles(dir, source); !errors.Is(err, encryption.ErrWrongSecret) {
				t.Errorf("the old passphrase: %v", err)
			}
			if d := cmp.Diff(before, tree(t, filepath.Join(dir, "sync", "sources"))); d != "" {
				t.Errorf("it changed %s", d)
			}
			source = next
		}
		again, err := home.OpenSyncFiles(dir, source)
		must(err)
		if again.State("space") != state {
			t.Errorf("%s, %s", again.State("space"), state)
		}
		b, err = again.Read(state)
		if err != nil || string(b) != "a secret" {
			t.Errorf("%q, %v", b, err)
		}
		r, err := again.Open(letter)
		must(err)
		b, err = io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || string(b) != "a secret letter" {
			t.Errorf("%q, %v", b, err)
		}
		must(h.Close())
	}
}
