package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/home"
)

// Check reports why a folder cannot be used, and changes nothing.
func TestCheck(t *testing.T) {
	file := func(name, text string) func(string) error {
		return func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	folder := func(name string) func(string) error {
		return func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Mkdir(filepath.Join(dir, name), 0o700))
		}
	}
	closed := func(name string) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, name), 0) }
	}
	for _, tc := range []struct {
		name  string
		spoil func(dir string) error
		says  string
		user  bool // root may read everything
	}{
		{"well", func(string) error { return nil }, "", false},
		{"nowhere", os.RemoveAll, "", false},
		{"empty", func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, "", false},
		{"a file", func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "is not a folder", false},
		{"a link to itself", func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Symlink(filepath.Base(dir), dir))
		}, "too many levels of symbolic links; make it readable", false},
		{"somebody's", func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600))
		}, "a data folder of percached", false},
		{"schema damaged", file("schema", "{"), "schema is damaged; restore it", false},
		{"schema is newer", file("schema", `{"version": 99}`), "has version 99", false},
		{"schema is a folder", folder("schema"), "schema: it is not a regular file", false},
		{"key too short", file("key", "k"), "key is damaged", false},
		{"key is empty", file("key", ""), "key is damaged", false},
		{"key is a folder", folder("key"), "key: it is not a regular file", false},
		{"meta is a file", file("meta", ""), "meta: not a directory", false},
		{"inbox is a file", file("inbox", ""), "inbox: not a directory", false},
		{"closed", closed("."), "permission denied", true},
		{"key closed", closed("key"), "key: permission denied; make it readable", true},
		{"meta closed", closed("meta"), "meta: permission denied; make it readable", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.user && os.Geteuid() == 0 {
				t.Skip("root may read everything")
			}
			dir := filepath.Join(t.TempDir(), "data")
			if err := errors.Join(open(t, dir).Close(), os.Mkdir(filepath.Join(dir, "meta"), 0o700)); err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(dir); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o700) // so that it can be removed
			if err := home.Check(dir); (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "unclean")); err == nil {
				t.Error("the folder was opened")
			}
			if !home.Exists(dir) != (tc.name == "nowhere") {
				t.Error("a folder that cannot be looked at is not one that is not there")
			}
		})
	}
}
