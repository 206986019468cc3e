package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/follow/account/dovecot"
)

// newAccount starts a mail server with a mail in INBOX and one in Archive. It returns the file
// with the password, too.
func newAccount(t *testing.T) (server *dovecot.Server, password string) {
	server = dovecot.Start(t)
	t.Setenv("SSL_CERT_FILE", server.Certificate)
	server.Make("Archive")
	server.Put("INBOX", "boat", mailOf("boat", "The boat is blue."))
	server.Put("Archive", "barn", mailOf("barn", "The barn is red."))
	password = filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(dovecot.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, password
}

func mailOf(id, text string) string {
	return "From: Ana <ana@example.com>\nSubject: " + id + "\nMessage-ID: <" + id + "@example.com>\n\n" + text + "\n"
}

// A mail account is added, followed and removed, and its password appears nowhere.
func TestSources(t *testing.T) {
	server, password := newAccount(t)
	data := filepath.Join(t.TempDir(), "data")
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add := func(args ...string) []string {
		return append([]string{"sources", "add", "imap", server.TLS, "--user", dovecot.User, "--space", "mail"}, args...)
	}
	for _, step := range []struct {
		args   []string
		status int
		want   string // in what the command prints
	}{
		{[]string{"sources", "list"}, commands.ExitMissing, "there is no data folder"},
		{add(), commands.ExitMisused, "pass --password-file FILE"},
		{add("--password-file", wrong), commands.ExitFailed, "refused the user name or the password"},
		{add("--password-file", password, "--folder", "Nowhere"), commands.ExitMissing, "the account has Archive, INBOX"},
		{[]string{"sources", "add", "imap", "mail.example.org", "--user", "ana", "--plain"}, commands.ExitMisused, "leave out --plain, or use --starttls"},
		{[]string{"sources", "add", "pop", "mail.example.org"}, commands.ExitMisused, "the only one is imap"},
		{[]string{"sources", "sync"}, commands.ExitMissing, "there is no source"},
		{add("--password-file", password, "--folder", "INBOX", "--folder", "Archive"), commands.ExitDone, "INBOX has 1 mail, Archive has 1 mail"},
		{[]string{"sources", "list"}, commands.ExitDone, "ana@example.org: ana@example.org at " + server.TLS + ", INBOX, Archive → space mail"},
		{[]string{"sources", "sync"}, commands.ExitDone, "2 added, 0 unchanged, 0 replaced, 0 deleted, 0 failed"},
		{[]string{"search", "blue boat", "--space", "mail"}, commands.ExitDone, "boat"},
		{[]string{"sources", "sync", "nobody"}, commands.ExitMissing, `there is no source "nobody"`},
		{add("--password-file", password, "--name", "again"), commands.ExitDone, "INBOX has 1 mail"},
		{[]string{"sources", "sync"}, commands.ExitDone, "again:"},
		{[]string{"sources", "remove", "again"}, commands.ExitMisused, "Its documents stay; --documents deletes them. Pass --yes"},
		{[]string{"sources", "remove", "again", "--yes"}, commands.ExitDone, "documents deleted: 0"},
		{[]string{"sources", "remove", "ana@example.org", "--documents"}, commands.ExitMisused, "This also deletes 2 documents"},
		{[]string{"sources", "remove", "ana@example.org", "--documents", "--yes"}, commands.ExitDone, "documents deleted: 2"},
		{[]string{"sources", "list"}, commands.ExitDone, "no sources"},
	} {
		out, errs, status := called(patiently(t), append(step.args, "--data", data)...)
		if status != step.status || !strings.Contains(out+errs, step.want) {
			t.Errorf("%v: status %d, want %d and %q:\n%s%s", step.args, status, step.status, step.want, out, errs)
		}
		if strings.Contains(out+errs, dovecot.Password) {
			t.Errorf("%v prints the password", step.args)
		}
		contains(t, data, dovecot.Password)
	}
}

// contains finds a text in the files of a folder.
func contains(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "sync"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), text) {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// sources sync deletes what left the account, says so as JSON, and deletes nothing if a folder
// is empty. Deleting the space forgets what was known, but keeps the source.
func TestSourcesSync(t *testing.T) {
	server, password := newAccount(t)
	data := filepath.Join(t.TempDir(), "data")
	must := func(args ...string) string {
		t.Helper()
		out, errs, status := called(patiently(t), append(args, "--data", data)...)
		if status != commands.ExitDone {
			t.Fatalf("%v: status %d\n%s%s", args, status, out, errs)
		}
		return out
	}
	must("sources", "add", "imap", server.TLS, "--user", dovecot.User, "--password-file", password, "--folder", "INBOX", "--folder", "Archive")
	for _, step := range []struct {
		name   string
		change func()
		want   [3]int // added, deleted, failed
		args   []string
	}{
		{"first", func() {}, [3]int{2, 0, 0}, nil},
		{"new and moved", func() {
			server.Put("INBOX", "swan", mailOf("swan", "The swan swims."))
			server.Move("INBOX", "Archive", "boat")
		}, [3]int{1, 0, 0}, nil},
		{"removed", func() { server.Remove("Archive", "boat") }, [3]int{0, 1, 0}, nil},
		{"empty", func() { server.Remove("INBOX", "swan") }, [3]int{0, 0, 1}, nil},
		{"empty for good", func() {}, [3]int{0, 1, 0}, []string{"--empty"}},
	} {
		step.change()
		out, errs, status := called(patiently(t), append([]string{"sources", "sync", "--json", "--data", data}, step.args...)...)
		var got struct {
			Sources []struct{ Added, Deleted, Failed int }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Sources) != 1 {
			t.Fatalf("%s: %v\n%s%s", step.name, err, out, errs)
		}
		r := got.Sources[0]
		if diff := cmp.Diff(step.want, [3]int{r.Added, r.Deleted, r.Failed}); diff != "" || (status == commands.ExitDone) != (r.Failed == 0) {
			t.Errorf("%s: status %d %s\n%s%s", step.name, status, diff, out, errs)
		}
	}
	must("spaces", "delete", "default", "--yes")
	if left, err := filepath.Glob(filepath.Join(data, "sync", "*", "*.json")); err != nil || len(left) != 1 || filepath.Base(filepath.Dir(left[0])) != "sources" {
		t.Errorf("%v, %v", left, err)
	}
	if out, errs, status := called(patiently(t), "sources", "sync", "--data", data); status != commands.ExitMissing || !strings.Contains(errs, "percached sources remove "+dovecot.User) {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// sources watch follows an account, and waits for a daemon that is restarted.
func TestSourcesWatch(t *testing.T) {
	server, password := newAccount(t)
	data := filepath.Join(t.TempDir(), "data")
	if out, errs, status := called(patiently(t), "sources", "add", "imap", server.StartTLS, "--starttls", "--user", dovecot.User, "--password-file", password, "--data", data); status != commands.ExitDone {
		t.Fatal(out, errs)
	}
	serve := startServe(t, data)
	serve.ready()
	ctx, interrupt := context.WithCancel(patiently(t))
	defer interrupt()
	said := &cued{}
	said.steps = []cue{
		{"added    imap:ana@example.org/INBOX/1.eml", func() {}},
		{"following ana@example.org (INBOX) with 1 mails", func() { server.Put("INBOX", "swan", mailOf("swan", "The swan swims.")) }},
		{"added    imap:ana@example.org/INBOX/2.eml", func() { server.Remove("INBOX", "boat") }},
		{"removed  imap:ana@example.org/INBOX/1.eml", func() {
			serve.end()
			server.Put("INBOX", "tern", mailOf("tern", "The tern flies."))
		}},
		{"waiting: no daemon runs on " + data, func() {
			serve = startServe(t, data)
			serve.ready()
		}},
		{"added    imap:ana@example.org/INBOX/3.eml", func() {}},
		{"following again", interrupt},
	}
	err := run(ctx, []string{"sources", "watch", "--data", data}, strings.NewReader(""), said, said)
	if status := commands.Finish(ctx, err, said); status != commands.ExitDone || len(said.steps) > 0 {
		t.Errorf("status %d, %d steps are left:\n%s", status, len(said.steps), said.String())
	}
	serve.end()
}
