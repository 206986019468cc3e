package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// operation is the name of an operation: a package and a verb.
var operation = regexp.MustCompile(`\b(encryption|home|kv|backup|token|account)\.[A-Za-z]+: `)

// What a user reads names no operation, also where one error stands within another's sentence.
func TestSentencesNameNoOperation(t *testing.T) {
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	right := encryption.Source{File: write(filepath.Join(t.TempDir(), "right"), "correct horse battery staple")}
	wrong := encryption.Source{File: write(filepath.Join(t.TempDir(), "wrong"), "battery staple correct horse")}
	folder := func() string {
		t.Helper()
		dir := t.TempDir()
		if err := home.Encrypt(dir, right, cheap); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	open := func(dir string, s encryption.Source) error {
		h, err := home.Open(dir, s)
		if err == nil {
			_ = h.Close()
		}
		return err
	}
	for name, tc := range map[string]struct {
		make func() error
		want string
	}{
		"a wrong passphrase": {func() error { return open(folder(), wrong) }, "passphrase"},
		"a damaged key file": {func() error {
			dir := folder()
			write(filepath.Join(dir, "encryption.json"), "{}")
			return open(dir, right)
		}, "put your copy of it back"},
		"a key file that is missing": {func() error { return open(folder(), encryption.Source{File: filepath.Join(t.TempDir(), "none")}) }, "cannot read the key file"},
		"a damaged key file in a backup": {func() error {
			h, err := home.Open(folder(), right)
			if err != nil {
				return err
			}
			defer h.Close() //nolint:errcheck // nothing was written
			_, err = h.KeyOf([]byte("{}"))
			return err
		}, "cannot read the key file in the backup"},
		"a damaged backup": {func() error { _, err := backup.Verify(strings.NewReader("no backup")); return err }, "backup"},
		"several, of a usage error": {func() error {
			return cmdline.Misused(errors.Join(fault.Wrap("home.first", open(folder(), wrong)), fault.New(fault.Invalid, "home.second", "no: %w", fault.New(fault.Invalid, "kv.third", "why"))))
		}, "no: why"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.make()
			if err == nil || !operation.MatchString(err.Error()) {
				t.Fatalf("%v names no operation", err)
			}
			text := cmdline.Sentence(err)
			if operation.MatchString(strings.ReplaceAll(text, "encryption.json", "the key file")) || !strings.Contains(text, tc.want) {
				t.Errorf("%q, want %q and no operation", text, tc.want)
			}
		})
	}
}
