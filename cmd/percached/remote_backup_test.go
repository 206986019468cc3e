package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/remotebackup/s3test"
)

// backsUp makes the daemons of this test back up to a place, and returns its address.
func backsUp(t *testing.T, s *s3test.Server, prefix string) string {
	t.Helper()
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	t.Setenv("PERCACHED_BACKUP_TO", s.Address(prefix))
	t.Setenv("PERCACHED_BACKUP_KEY_FILE", s.KeyFile)
	t.Setenv("PERCACHED_BACKUP_EVERY", "1s")
	return s.Address(prefix)
}

// backedUp waits for a backup of all that was acknowledged until now.
func (a *atWork) backedUp() time.Time {
	a.Helper()
	since := time.Now()
	var last time.Time
	until(a.T, "a backup", func() bool {
		b := call[api.Status](a, "GET", "/v1/status", "").Backup
		if b == nil || b.Error != "" {
			a.Fatalf("%+v\n%s", b, a.log)
		}
		if b.Last == nil || b.Last.Before(since) {
			return false
		}
		last = *b.Last
		return true
	})
	return last
}

// restoreFrom restores from object storage into a new folder.
func restoreFrom(t *testing.T, newFolder func() string, from string, flags ...string) string {
	t.Helper()
	dir := newFolder()
	_, errs, status := called(patiently(t), append([]string{"restore", from, "--data", dir}, flags...)...)
	if status != commands.ExitDone {
		t.Fatalf("%v: %s", flags, errs)
	}
	return dir
}

// titlesIn returns the titles of the documents in a folder, once its uploads have ended.
func titlesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	const key = "PERCACHED_BACKUP_TO"
	defer t.Setenv(key, os.Getenv(key))
	t.Setenv(key, "") // it must not change the backups
	a := startServe(t, dir)
	a.ready()
	a.settled()
	defer a.end()
	return a.titles()
}

// Moments before and after a deletion are restored as they were, plain and encrypted.
func TestRemoteBackup(t *testing.T) {
	server := s3test.Start(t)
	if !testing.Short() {
		t.Run("plain", func(t *testing.T) {
			remoteBackup(t, server, "plain", func() string { return filepath.Join(t.TempDir(), "data") })
		})
	}
	t.Run("encrypted", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("the passphrase\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PERCACHED_KEY_FILE", key)
		remoteBackup(t, server, "encrypted", func() string { return encryptedFolder(t, key) })
		for _, name := range server.Objects("encrypted/") {
			if strings.HasSuffix(name, ".archive") && !bytes.HasPrefix(server.Content(name), []byte("percached-encrypted-backup 1\n")) {
				t.Errorf("%s is not encrypted", name)
			}
		}
		_, errs, status := called(patiently(t), "restore", server.Address("encrypted"), "--data", filepath.Join(t.TempDir(), "plain"))
		if status == commands.ExitDone || !strings.Contains(errs, "the backup is encrypted") {
			t.Errorf("an encrypted backup in a plain folder: %d %s", status, errs)
		}
	})
}

func encryptedFolder(t *testing.T, key string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := home.Encrypt(dir, encryption.Source{File: key}, cheap); err != nil {
		t.Fatal(err)
	}
	return dir
}

func remoteBackup(t *testing.T, server *s3test.Server, prefix string, newFolder func() string) {
	from := backsUp(t, server, prefix)
	a := startServe(t, newFolder())
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.backedUp() // the whole archive
	moments := map[string]time.Time{}
	want := map[string]map[string]string{}
	moment := func(name string) {
		a.settled()
		moments[name], want[name] = a.backedUp(), a.titles()
	}
	a.addNote("north")
	a.addNote("south")
	moment("both")
	a.send("DELETE", "/"+a.titles()["north"], "")
	moment("without north")
	must(t, "documents", "delete", a.titles()["south"], "--wait", "--space", "notes", "--data", a.dir) // rewrites the database
	a.addNote("east")
	moment("east alone")
	if _, errs, status := called(patiently(t), "restore", from, "--data", a.dir, "--force"); status != commands.ExitNotNow || !strings.Contains(errs, " uses ") {
		t.Errorf("%d %s", status, errs)
	}
	a.end()
	for name, at := range moments {
		dir := restoreFrom(t, newFolder, from, "--at", at.Format(time.RFC3339Nano))
		if got := titlesIn(t, dir); !maps.Equal(got, want[name]) {
			t.Errorf("%s: %v, not %v", name, got, want[name])
		}
	}
	newest := restoreFrom(t, newFolder, from)
	if got := titlesIn(t, newest); !maps.Equal(got, want["east alone"]) {
		t.Errorf("the newest: %v", got)
	}
	var listed []listedPoint
	if err := json.Unmarshal([]byte(must(t, "restore", from, "--list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed) < 4 || !listed[0].Whole || slices.ContainsFunc(listed[1:], func(p listedPoint) bool { return p.Whole }) {
		t.Errorf("not one whole archive and increments: %+v", listed)
	}
	_, errs, status := called(patiently(t), "restore", from, "--data", newest)
	if status != commands.ExitFailed || !strings.Contains(errs, "--force") {
		t.Errorf("data was replaced without --force: %d %s", status, errs)
	}
	_, errs, status = called(patiently(t), "restore", from, "--data", newFolder(), "--at", "2001-01-01 00:00")
	if status != commands.ExitMissing {
		t.Errorf("before the first backup: %d %s", status, errs)
	}
}

// startChild is startServe in a process of its own, which can be killed.
func startChild(t *testing.T, dir string) (a *atWork, kill func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--threads", "1")
	cmd.Args[0] = "percached" // as testscript.Main knows the command
	a = startServing(t, dir, func(_ context.Context, stdout, stderr io.Writer) error {
		cmd.Stdout, cmd.Stderr = stdout, stderr
		return cmd.Run()
	})
	return a, sync.OnceFunc(func() {
		cmd.Process.Kill() //nolint:errcheck // it was started
		<-a.ended
	})
}

// A node is killed under load and lost, again and again, at any moment of its backups. Every chain in
// the storage can be restored, and has everything that was acknowledged before the last backup.
func TestLostNode(t *testing.T) {
	server := s3test.Start(t)
	if !testing.Short() {
		t.Run("plain", func(t *testing.T) {
			lostNode(t, server, "plain", func() string { return filepath.Join(t.TempDir(), "data") })
		})
	}
	t.Run("encrypted", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("the passphrase\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PERCACHED_KEY_FILE", key)
		lostNode(t, server, "encrypted", func() string { return encryptedFolder(t, key) })
	})
}

func lostNode(t *testing.T, server *s3test.Server, prefix string, newFolder func() string) {
	rng := rand.New(rand.NewPCG(7, 7))
	from := backsUp(t, server, prefix)
	data, there := newFolder(), map[string]string{}
	n, verified := 0, 0
	for round := range repeated(12, 3) {
		a, kill := startChild(t, data)
		t.Cleanup(kill)
		a.ready()
		if round == 0 {
			call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
			a.backedUp()
		}
		added, gone, going := map[string]time.Time{}, map[string]time.Time{}, map[string]bool{}
		for name := range there {
			added[name] = time.Time{}
		}
		var last time.Time
		backups := rng.IntN(4) // to wait for; with none it is killed in its first or before
		for left := 1 + rng.IntN(20); left > 0; {
			name := fmt.Sprint("gate", n)
			n++
			if a.addNote(name) {
				added[name] = time.Now()
			}
			if titles := a.titles(); rng.IntN(4) == 0 {
				for name, id := range titles {
					going[name] = true
					if a.send("DELETE", "/"+id, "") {
						gone[name] = time.Now()
					}
					break
				}
			}
			if b := call[api.Status](a, "GET", "/v1/status", "").Backup; b.Last != nil && b.Last.After(last) {
				last = *b.Last
				backups--
			}
			if backups <= 0 {
				left--
			}
		}
		kill()
		data = restoreFrom(t, newFolder, from)
		there = titlesIn(t, data)
		for name, at := range added {
			if there[name] == "" && !going[name] && at.Before(last) {
				t.Errorf("round %d: the restored node lacks %s", round, name)
			} else if !going[name] && at.Before(last) {
				verified++
			}
		}
		for name, at := range gone {
			if there[name] != "" && at.Before(last) {
				t.Errorf("round %d: the restored node has %s, which was deleted", round, name)
			}
		}
	}
	var listed []listedPoint
	if err := json.Unmarshal([]byte(must(t, "restore", from, "--list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	restored := 0
	for i, p := range listed {
		if testing.Short() && i%5 > 0 {
			continue
		}
		restoreFrom(t, newFolder, from, "--at", p.Made.Format(time.RFC3339Nano))
		restored++
	}
	t.Logf("%d documents were there as they must; %d of %d moments restored", verified, restored, len(listed))
}
