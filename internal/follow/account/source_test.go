package account

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// A source is completed, or refused with what to do.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		in            Source
		address, name string
		want          string // of the error
	}{
		{Source{Address: "mail.example.org", User: "ana@example.org", Security: TLS}, "mail.example.org:993", "ana@example.org", ""},
		{Source{Address: "mail.example.org", User: "ana", Security: StartTLS}, "mail.example.org:143", "ana@mail.example.org", ""},
		{Source{Address: "mail.example.org:1993", User: "ana", Security: TLS}, "mail.example.org:1993", "ana@mail.example.org", ""},
		{Source{Address: "[::1]", User: "ana", Name: "here", Security: Plain}, "[::1]:143", "here", ""},
		{Source{Address: "localhost:1143", User: "ana", Security: Plain}, "localhost:1143", "ana@localhost", ""},
		{Source{Address: "10.0.0.1", User: "ana", Security: Plain}, "", "", "leave out --plain"},
		{Source{Address: "localhost.example.org", User: "ana", Security: Plain}, "", "", "leave out --plain"},
		{Source{Address: "imaps://mail.example.org", User: "ana", Security: TLS}, "", "", "give HOST or HOST:PORT"},
		{Source{Address: "", User: "ana", Security: TLS}, "", "", "give HOST or HOST:PORT"},
		{Source{Address: "mail.example.org", Security: TLS}, "", "", "add --user NAME"},
		{Source{Address: "mail.example.org", User: "../ana", Security: TLS}, "", "", "add --name"},
		{Source{Address: "mail.example.org", User: "ana", Name: "a/b", Security: TLS}, "", "", "add --name"},
		{Source{Address: "mail.example.org", User: "ana", Security: TLS, Folders: []string{" "}}, "", "", "is empty"},
	} {
		s := tc.in
		err := s.Validate()
		switch {
		case tc.want != "":
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v: %v, want %q", tc.in, err, tc.want)
			}
		case err != nil || s.Address != tc.address || s.Name != tc.name:
			t.Errorf("%+v: %+v, %v", tc.in, s, err)
		}
	}
	s := Source{Address: "a", User: "ana", Security: TLS, Folders: []string{"inbox", "Sent", "Archive", "Sent"}}
	if err := s.Validate(); err != nil || !cmp.Equal(s.Folders, []string{"INBOX", "Archive", "Sent"}) {
		t.Error(err, s.Folders)
	}
}

func filesOf(t *testing.T, data string) *home.SyncFiles {
	t.Helper()
	files, err := home.OpenSyncFiles(data, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The store keeps sources and passwords for their owner only, and refuses another account under
// the same name.
func TestStore(t *testing.T) {
	data := t.TempDir()
	store := OpenStore(filesOf(t, data))
	s := Source{Address: "mail.example.org", User: "ana@example.org", Security: TLS, Space: "mail", Folders: []string{"INBOX"}}
	other := s
	other.Space = "work"
	file := filepath.Join(data, "file")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Validate())
	must(other.Validate())
	must(os.WriteFile(file, []byte("from a file\r\nnot this\n"), 0o600))
	must(store.Put(s, "secret"))
	if err := store.Put(other, "secret"); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	if p, err := store.Password(s); p != "secret" || err != nil {
		t.Error(p, err)
	}
	for _, ending := range []string{recordEnding, passwordEnding} {
		info, err := os.Stat(filepath.Join(data, "sync", "sources", s.Name+ending))
		must(err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", info.Name(), info.Mode())
		}
	}
	s.PasswordFile = file
	must(store.Put(s, "from a file"))
	if p, err := store.Password(s); p != "from a file" || err != nil {
		t.Error(p, err)
	}
	if _, err := os.Stat(filepath.Join(data, "sync", "sources", s.Name+passwordEnding)); !os.IsNotExist(err) {
		t.Error("the stored password is left:", err)
	}
	if all, err := store.List(); err != nil || !cmp.Equal(all, []Source{s}) {
		t.Error(all, err)
	}
	must(os.WriteFile(store.path(s.Name, recordEnding), []byte("{"), 0o600))
	if _, err := store.Get(s.Name); fault.KindOf(err) != fault.Internal {
		t.Error(err)
	}
	must(store.Remove(s))
	for _, name := range []string{s.Name, "../sources/" + s.Name} {
		if _, err := store.Get(name); fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
	}
}

// A damaged state is an empty one, and one process holds it.
func TestState(t *testing.T) {
	files := filesOf(t, t.TempDir())
	s := Source{Name: "ana", Space: "mail", Folders: []string{"INBOX"}}
	for _, text := range []string{
		"{", `{"source":"other","folders":{"INBOX":{"uidvalidity":1,"mails":{"1":{"size":1}}}}}`,
		`{"source":"ana","folders":{"INBOX":null}}`, `{"source":"ana","folders":{"INBOX":{"mails":{"1":null}}}}`,
		`{"source":"ana","folders":{"Left":{"uidvalidity":1,"mails":{"1":{"size":1}}}}}`,
	} {
		state, err := OpenState(files, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenState(files, s); fault.KindOf(err) != fault.Conflict {
			t.Error(err)
		}
		if n := state.stored(); n != 0 {
			t.Errorf("%d mails", n)
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(state.path+stateEnding, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// While the state of another source of the space is damaged, nobody knows what it holds.
func TestHeldByDamagedState(t *testing.T) {
	files := filesOf(t, t.TempDir())
	own, other := Source{Name: "ana", Space: "mail"}, Source{Name: "bea", Space: "mail"}
	state, err := OpenState(files, own)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()                                                                  //nolint:errcheck // nothing was written
	if held, err := state.held([]Source{own, other}, own); err != nil || len(held) > 0 { // it was never read
		t.Error(held, err)
	}
	path := statePath(files, other) + stateEnding
	for text, damaged := range map[string]bool{`{"source":"bea"}`: false, "{": true, `{"source":"ana"}`: true} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := state.held([]Source{own, other}, own); (err != nil) != damaged || damaged && !strings.Contains(err.Error(), "sync bea") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// In an encrypted folder the password of one source is never that of another. Remove leaves nothing.
func TestExchangedPasswords(t *testing.T) {
	data, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("the passphrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(data, "data")
	if err := home.Encrypt(data, encryption.Source{File: key}, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	files, err := home.OpenSyncFiles(data, encryption.Source{File: key})
	if err != nil {
		t.Fatal(err)
	}
	store := OpenStore(files)
	ana := Source{Name: "ana", Address: "mail.example.org", User: "ana", Security: TLS, Space: "mail"}
	bea := Source{Name: "bea", Address: "mail.example.net", User: "bea", Security: TLS, Space: "mail"}
	for _, s := range []*Source{&ana, &bea} {
		if err := errors.Join(s.Validate(), store.Put(*s, "secret of "+s.Name)); err != nil {
			t.Fatal(err)
		}
		if p, err := store.Password(*s); p != "secret of "+s.Name || err != nil {
			t.Error(p, err)
		}
	}
	if err := os.Rename(store.path("bea", passwordEnding), store.path("ana", passwordEnding)); err != nil {
		t.Fatal(err)
	}
	if p, err := store.Password(ana); err == nil {
		t.Errorf("%q", p)
	}
	if err := os.WriteFile(store.path("ana", passwordEnding)+durable.Unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Remove(ana), store.Remove(bea)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(files.Sources()); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// The name of a folder becomes a part of a path that percached accepts.
func TestPlainName(t *testing.T) {
	for in, want := range map[string]string{
		"INBOX": "INBOX", "Archive/2024": "Archive/2024", "../x": "_/x", "a\\b\nc": "a_b_c", ".": "_", "Gelöscht": "Gelöscht", "": "_",
	} {
		if got := plainName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
