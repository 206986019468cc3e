//go:build linux || darwin || freebsd

package token_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/percached/percached/internal/token"
)

// A daemon that runs as the folder's owner can read what root writes. A link placed by the
// owner gives access to nothing else.
func TestRootLeavesFilesToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const owner = 65534
	dir := folder(t)
	if err := os.Chown(dir, owner, owner); err != nil {
		t.Skip(err)
	}
	ownerOf := func(path string) uint32 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	s := open(t, dir)
	mainToken(t, s)
	create(t, s, "", "", token.RoleAsk)
	for _, name := range []string{"token", "tokens.json", "tokens.lock"} {
		if ownerOf(filepath.Join(dir, name)) != owner {
			t.Errorf("%s is root's", name)
		}
	}
	lock, other := filepath.Join(dir, "tokens.lock"), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.Remove(lock), os.WriteFile(other, nil, 0o600), os.Symlink(other, lock)); err != nil {
		t.Fatal(err)
	}
	create(t, s, "", "", token.RoleAsk)
	if ownerOf(other) != 0 {
		t.Error("a file elsewhere was given away")
	}
}
