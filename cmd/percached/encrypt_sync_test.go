package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/follow/account"
	"github.com/percached/percached/internal/follow/account/dovecot"
)

// An encrypted folder follows folders and mail accounts as a plain one does, with a daemon and
// without. No name, password or mail can be read in it, the second run sends nothing, and
// without the passphrase nothing changes.
func TestEncryptedSources(t *testing.T) {
	server, password := newAccount(t)
	server.Put("INBOX", "mark", mailOf("qzxmail", "The heron of qzxheron wades."))
	data, folder := encryptedData(t), t.TempDir()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	note := func(name string) {
		t.Helper()
		ok(os.WriteFile(filepath.Join(folder, name+".md"), []byte("# Note\n\nThe keys of "+name+" are in the drawer.\n"), 0o600))
	}
	note("qzxnote")
	in := func(args ...string) []string { return append(args, "--data", data) }
	follow := in("add", "--sync", folder, "--space", "qzxspace")
	// step runs both kinds of sync, and looks for what must be nowhere in the folder.
	step := func(name string, mails, files int) {
		t.Helper()
		type counts struct{ Added, Unchanged, Replaced, Failed int }
		var got struct{ Sources []counts }
		ok(json.Unmarshal([]byte(must(t, in("sources", "sync", "--json")...)), &got))
		if d := cmp.Diff([]counts{{Added: mails}}, got.Sources); d != "" {
			t.Errorf("%s, mails: %s", name, d)
		}
		var added counts
		ok(json.Unmarshal([]byte(must(t, append(follow, "--json")...)), &added))
		if d := cmp.Diff(counts{Added: files}, added); d != "" {
			t.Errorf("%s, files: %s", name, d)
		}
		for path, b := range allBytes(t, data) {
			for _, word := range []string{dovecot.Password, dovecot.User, server.TLS, "qzxmail", "qzxheron", "qzxnote", "qzxspace", folder} {
				if strings.Contains(strings.TrimPrefix(path, data)+b, word) {
					t.Errorf("%s: %s has %q", name, path, word)
				}
			}
		}
	}
	source := func() encryption.Source { return encryption.Source{File: os.Getenv("PERCACHED_KEY_FILE")} }
	must(t, in("sources", "add", "imap", server.TLS, "--user", dovecot.User, "--space", "qzxspace", "--password-file", password)...)
	files, err := home.OpenSyncFiles(data, source())
	ok(err)
	store := account.OpenStore(files)
	s, err := store.Get(dovecot.User)
	ok(err)
	s.PasswordFile = "" // as if it had been typed
	ok(errors.Join(store.Put(s, dovecot.Password), os.Remove(password)))

	step("first", 2, 1)
	step("second", 0, 0)
	serve := startServe(t, data)
	serve.ready()
	step("beside a daemon", 0, 0)
	server.Put("INBOX", "tern", mailOf("tern", "The tern flies."))
	note("qzxnote-new")
	step("with something new", 1, 1)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{in("watch", folder, "--space", "qzxspace"), "following 2 files"},
		{in("sources", "watch"), "following " + dovecot.User},
	} {
		ctx, interrupt := context.WithCancel(patiently(t))
		said := &cued{steps: []cue{{tc.says, interrupt}}}
		err := run(ctx, tc.args, strings.NewReader(""), said, said)
		if status := commands.Finish(ctx, err, said); status != commands.ExitDone || strings.Contains(said.String(), "added") {
			t.Errorf("%v: status %d: %s", tc.args, status, said.String())
		}
		interrupt()
	}

	wrong := filepath.Join(t.TempDir(), "wrong")
	ok(os.WriteFile(wrong, []byte("another passphrase"), 0o600))
	right := source().File
	t.Setenv("PERCACHED_KEY_FILE", wrong)
	before, spaces := allBytes(t, filepath.Join(data, "sync")), must(t, in("spaces", "list")...)
	for _, args := range [][]string{
		{"add", "--sync", folder, "--space", "other"},
		{"watch", folder, "--space", "other"},
		{"sources", "add", "imap", server.TLS, "--user", "bea"},
		{"sources", "list"},
		{"sources", "sync"},
		{"sources", "watch"},
		{"sources", "remove", dovecot.User, "--yes"},
	} {
		if _, errs, status := called(patiently(t), in(args...)...); status != commands.ExitFailed && status != commands.ExitMisused || !strings.Contains(errs, "the passphrase is wrong; nothing was changed") {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
	}
	if d := cmp.Diff(before, allBytes(t, filepath.Join(data, "sync"))) + cmp.Diff(spaces, must(t, in("spaces", "list")...)); d != "" {
		t.Errorf("the wrong passphrase changed %s", d)
	}
	t.Setenv("PERCACHED_KEY_FILE", right)
	serve.end()

	next, backup := filepath.Join(t.TempDir(), "next"), filepath.Join(t.TempDir(), "backup")
	ok(os.WriteFile(next, []byte("the next passphrase"), 0o600))
	must(t, in("rekey", "--new-key-file", next)...)
	ok(home.ChangeSecret(data, encryption.Source{File: next}, encryption.Source{File: next}, cheap))
	t.Setenv("PERCACHED_KEY_FILE", next)
	step("with another passphrase", 0, 0)
	must(t, in("backup", backup)...)
	must(t, in("restore", backup, "--force")...)
	step("after a restore", 0, 0)
	must(t, in("spaces", "delete", "qzxspace", "--yes")...)
	left, err := filepath.Glob(filepath.Join(data, "sync", "*", "*.json"))
	if err != nil || len(left) != 1 || filepath.Base(filepath.Dir(left[0])) != "sources" {
		t.Errorf("%v, %v", left, err)
	}
	must(t, in("sources", "remove", dovecot.User, "--yes")...)
	if out := must(t, in("sources", "list")...); !strings.Contains(out, "no sources") {
		t.Error(out)
	}

	// A backup brings no mail account into another folder.
	t.Setenv("PERCACHED_KEY_FILE", right)
	other := encryptedData(t)
	ok(home.ChangeSecret(other, source(), encryption.Source{File: next}, cheap))
	t.Setenv("PERCACHED_KEY_FILE", next)
	must(t, "restore", backup, "--data", other)
	if out := must(t, "sources", "list", "--data", other); !strings.Contains(out, "no sources") {
		t.Error(out)
	}
}
