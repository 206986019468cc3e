//go:build linux || darwin || freebsd

package audit_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/fault"
)

// A link may lead root to a file of somebody else.
func TestFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "other")
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(path, clock); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("a file elsewhere was created")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l := open(t, path)
	write(t, l, "a")
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(audit.Record{Operation: "b"}); err == nil {
		t.Error("a link that took the file's place was followed")
	}
}

// A daemon that runs as the folder's owner can write the log that root created.
func TestRootLeavesLogToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const owner = 65534
	dir := t.TempDir()
	if err := os.Chown(dir, owner, owner); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	write(t, open(t, path), "a")
	info, err := os.Stat(path)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != owner {
		t.Error("the log is root's", err)
	}
}

// Records that wait for the disk together, while the file is renamed, are all written.
func TestSyncTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	const writers, records = 8, 20
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range records {
				if err := l.Write(audit.Record{Operation: "ask", Sync: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	write(t, l, "before")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, l, "after")
	all.Wait()
	if n := len(operations(t, path)) + len(operations(t, path+".1")); n != writers*records+2 {
		t.Error(n)
	}
}
