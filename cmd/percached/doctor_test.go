package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/selftest/selftesting"
)

// Doctor reports a data folder that no command can use, even if it is not in use.
func TestDoctorFindsAWrongFolder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(dir string) error
		says  string
	}{
		{"well", func(string) error { return nil }, ""},
		{"a file", func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "data is not a folder"},
		{"a damaged schema", func(dir string) error { return os.Truncate(filepath.Join(dir, "schema"), 3) }, "schema is damaged"},
		{"a token for all", func(dir string) error { return os.Chmod(filepath.Join(dir, "token"), 0o644) }, "other users can access it"},
		{"somebody's files", func(dir string) error {
			return os.Rename(filepath.Join(dir, "schema"), filepath.Join(dir, "letter.txt"))
		}, "a data folder of percached"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := withTokens(t)
			if err := errors.Join(os.Remove(filepath.Join(dir, "lock")), tc.spoil(dir)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			open := selftest.OpenLlama
			if testing.Short() && tc.says != "" { // the folder alone matters
				open = selftesting.Opener("", "")
			}
			cmd := doctorCommand(open)
			cmd.SetArgs([]string{"--data", dir, "--shape", "tiny"})
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err := cmd.ExecuteContext(t.Context())
			unwell := errors.Is(err, cmdline.Unwell{})
			if err != nil && !unwell || unwell != (tc.says != "") || !strings.Contains(out.String(), tc.says) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}
