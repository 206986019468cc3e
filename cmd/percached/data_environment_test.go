package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// The environment names the data folder for every command, and the flag overrides it.
func TestDataOfEnvironment(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir()) // nothing is there
	data := filepath.Join(t.TempDir(), "data")
	t.Setenv("PERCACHED_DATA", data)
	if _, err := printed(t, "spaces", "create", "notes"); err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--data", data}} {
		out, err := printed(t, append([]string{"token", "show"}, args...)...)
		if err != nil || strings.TrimSpace(out) != strings.TrimSpace(string(secret)) {
			t.Errorf("%v: it shows %d bytes, %v", args, len(out), err)
		}
	}
	t.Setenv("PERCACHED_DATA", filepath.Join(data, "nothing"))
	if _, err := printed(t, "token", "show"); commands.ExitOf(err) != commands.ExitMissing {
		t.Error(err)
	}
	if _, err := printed(t, "token", "show", "--data", data); err != nil {
		t.Error(err)
	}
}
