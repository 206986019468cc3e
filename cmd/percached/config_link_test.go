package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/config"
)

// The file in the folder may be a link, as in the package. A broken link is an error,
// because the defaults could lower limits and delete data.
func TestConfigOfTheFolderIsALink(t *testing.T) {
	dir, real := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "percached.conf")
	writeFile(t, real, "k = 5\nbank-limit = 1GiB\n")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, config.FileName)); err != nil {
		t.Skip(err)
	}
	if _, err := printed(t, "spaces", "create", "notes", "--data", dir); err != nil { // it is a new folder all the same
		t.Fatal(err)
	}
	c, err := config.Load("", []string{"PERCACHED_DATA=" + dir}, nil, nil)
	if err != nil || c.Now().K != 5 || c.Now().BankLimit != 1<<30 {
		t.Errorf("%+v, %v", c, err)
	}
	if out, err := printed(t, "config", "check", "--data", dir); err != nil || !strings.Contains(out, " 2 of ") {
		t.Error(out, err)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"spaces", "list"}, {"config", "check"}, {"config", "show"}} {
		if _, err := printed(t, append(args, "--data", dir)...); commands.ExitOf(err) != commands.ExitMissing || !strings.Contains(err.Error(), config.FileName) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := printed(t, "config", "init", "--data", dir); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
