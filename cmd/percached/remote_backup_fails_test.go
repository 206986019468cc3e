package main

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/remotebackup/s3test"
)

// While object storage fails, the daemon works, and says so everywhere; then it catches up.
func TestRemoteBackupFails(t *testing.T) {
	f := s3test.NewFake(t)
	from := backsUp(t, f.Server, "p")
	f.Spoil(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPut && s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
	})
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.addNote("north")
	a.settled()
	var said string
	until(t, "a failure", func() bool {
		b := call[api.Status](a, "GET", "/v1/status", "").Backup
		said = b.Error
		return said != "" && b.Last == nil
	})
	if !strings.Contains(said, "refuses the credentials") || strings.Contains(said, "not-a-secret") {
		t.Error(said)
	}
	if out := must(t, "status", "--data", a.dir); !strings.Contains(out, "backup     none since the start") || !strings.Contains(out, said) {
		t.Error(out)
	}
	if out, _, status := called(t.Context(), "doctor", "--data", a.dir, "--shape", "tiny"); status == commands.ExitDone || !strings.Contains(out, said) {
		t.Errorf("doctor: %d %s", status, out)
	}
	if m := a.metrics(); m["percached_backup_failures_total"] == "0" || m["percached_backup_lag_seconds"] == "0" {
		t.Errorf("%s failures, a lag of %s s", m["percached_backup_failures_total"], m["percached_backup_lag_seconds"])
	}
	f.Spoil(nil)
	until(t, "a backup", func() bool {
		b := call[api.Status](a, "GET", "/v1/status", "").Backup
		return b.Error == "" && b.Last != nil
	})
	want := a.titles()
	a.end()
	if log := a.log.String(); strings.Contains(log, "not-a-secret") || strings.Count(log, "cannot back up") != 1 || !strings.Contains(log, "work again") {
		t.Error(log)
	}
	dir := restoreFrom(t, func() string { return filepath.Join(t.TempDir(), "data") }, from)
	if got := titlesIn(t, dir); len(got) != 1 || got["north"] != want["north"] {
		t.Errorf("%v", got)
	}
}

// A daemon notices that another one, as a restored copy would be, backs up to the same place.
func TestTwoDaemonsBackUp(t *testing.T) {
	f := s3test.NewFake(t)
	backsUp(t, f.Server, "p")
	first := startServe(t, filepath.Join(t.TempDir(), "first"))
	first.ready()
	first.backedUp()
	second := startServe(t, filepath.Join(t.TempDir(), "second"))
	second.ready()
	second.backedUp()
	until(t, "it notices", func() bool {
		return strings.Contains(call[api.Status](first, "GET", "/v1/status", "").Backup.Error, "another daemon")
	})
	second.backedUp()
	first.end()
	second.end()
}

// After rekey, the new passphrase alone restores what is stored from then on.
func TestRemoteBackupAfterRekey(t *testing.T) {
	f := s3test.NewFake(t)
	from := backsUp(t, f.Server, "p")
	keys := map[string]string{}
	for _, name := range []string{"old", "new"} {
		keys[name] = filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(keys[name], []byte("the "+name+" passphrase\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PERCACHED_KEY_FILE", keys["old"])
	a := startServe(t, encryptedFolder(t, keys["old"]))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.addNote("north")
	a.settled()
	before := a.backedUp()
	must(t, "rekey", "--data", a.dir, "--new-key-file", keys["new"])
	a.addNote("south")
	a.settled()
	a.backedUp()
	want := a.titles()
	a.end()
	_, errs, status := called(patiently(t), "restore", from, "--data", encryptedFolder(t, keys["old"]))
	if status == commands.ExitDone || !strings.Contains(errs, "another passphrase") {
		t.Errorf("%d %s", status, errs)
	}
	if dir := restoreFrom(t, func() string { return encryptedFolder(t, keys["old"]) }, from, "--at", before.Format(time.RFC3339Nano)); len(titlesIn(t, dir)) != 1 {
		t.Error("the moment before is not as it was")
	}
	t.Setenv("PERCACHED_KEY_FILE", keys["new"])
	dir := restoreFrom(t, func() string { return encryptedFolder(t, keys["new"]) }, from)
	if got := titlesIn(t, dir); !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// A damaged backup changes nothing.
func TestRestoreRemoteDamaged(t *testing.T) {
	f := s3test.NewFake(t)
	from := backsUp(t, f.Server, "p")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.backedUp()
	a.addNote("north")
	a.settled()
	a.backedUp()
	want := a.titles()
	a.end()
	names := f.Objects("p/")
	last := names[len(names)-2] // before its manifest
	f.Change(last, func(b []byte) []byte { return append(b[:len(b)/2], b[len(b)/2+1:]...) })
	_, errs, status := called(patiently(t), "restore", from, "--data", a.dir, "--force")
	if status != commands.ExitFailed || !strings.Contains(errs, "damaged") {
		t.Errorf("%d %s", status, errs)
	}
	if got := titlesIn(t, a.dir); len(got) != 1 || got["north"] != want["north"] {
		t.Errorf("%v", got)
	}
}

// A wrong place stops the daemon before it serves.
func TestBackupToIsWrong(t *testing.T) {
	for _, tc := range []struct{ to, key, says string }{
		{"https://example.org/x", "", "BACKUP_TO"},
		{"s3://b/p?endpoint=http://example.org", "", "unencrypted"},
		{"s3://b/p", "none", "cannot read the credentials"},
	} {
		t.Setenv("PERCACHED_BACKUP_TO", tc.to)
		t.Setenv("PERCACHED_BACKUP_KEY_FILE", tc.key)
		_, errs, status := called(patiently(t), "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
		if status == commands.ExitDone || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: %d %s", tc.to, status, errs)
		}
	}
}
