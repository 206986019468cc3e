package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/token"
)

// wrongTokens are the ways in which a token file can be unusable, with the error of a command.
var wrongTokens = []struct {
	name, file string
	spoil      func(path string) error
	says       string
}{
	{"open to all", "token", func(p string) error { return os.Chmod(p, 0o644) }, "other users can access it (mode 0644); run percached token revoke main"},
	{"damaged", "token", func(p string) error { return os.WriteFile(p, []byte("pc_short\n"), 0o600) }, "it does not contain a token; run percached token revoke main"},
	{"empty", "token", func(p string) error { return os.Truncate(p, 0) }, "it does not contain a token; run percached token revoke main"},
	{"huge", "token", func(p string) error { return os.Truncate(p, 1<<30) }, "it is larger than 4096 bytes; run percached token revoke main"},
	{"folder", "token", folderInstead, "it is not a regular file; move it away"},
	{"link to itself", "token", linkInstead("token"), "too many levels of symbolic links"},

	{"list open to all", "tokens.json", func(p string) error { return os.Chmod(p, 0o644) }, "other users can access it (mode 0644); run chmod 600 "},
	{"list damaged", "tokens.json", func(p string) error { return os.Truncate(p, 40) }, "; move it away"},
	{"list with another sum", "tokens.json", func(p string) error {
		return os.WriteFile(p, []byte(`{"version": 1, "sum": "00000000", "tokens": []}`), 0o600)
	}, "checksum"},
	{"list empty", "tokens.json", func(p string) error { return os.Truncate(p, 0) }, "; move it away"},
	{"list of a later version", "tokens.json", func(p string) error {
		return os.WriteFile(p, []byte(`{"version": 3, "grants": {}}`), 0o600)
	}, "it has version 3 and this percached reads versions 1 and 2; use the percached that wrote it"},
	{"list of version 0", "tokens.json", func(p string) error {
		return os.WriteFile(p, []byte(`{"version": 0, "sum": "", "tokens": []}`), 0o600)
	}, "it has version 0 and this percached reads versions 1 and 2"},
	{"list huge", "tokens.json", func(p string) error { return os.Truncate(p, 1<<30) }, "it is larger than 1048576 bytes; move it away"},
	{"list is a folder", "tokens.json", folderInstead, "it is not a regular file; move it away"},
	{"list is a link to itself", "tokens.json", linkInstead("tokens.json"), "too many levels of symbolic links"},
}

func folderInstead(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }

// linkInstead replaces a file by a link to itself.
func linkInstead(name string) func(string) error {
	return func(p string) error { return errors.Join(os.Remove(p), os.Symlink(name, p)) }
}

// withoutTokens are the commands that use no token file: they use no data folder, their own one,
// or only its settings and models.
var withoutTokens = []string{"completion", "config check", "config init", "demo", "help", "init", "pull", "rekey", "repair", "restore", "version"}

// examples are arguments of commands, for the names in their usage.
var examples = strings.NewReplacer("PATH...", "/dev/null", "QUESTION", "When?", "SIZE", "1GiB", "KEY=VALUE...", "k=3", "move SPACE", "move mail --to http://127.0.0.1:1 --to-token-file /dev/null", "follow SPACE", "follow mail --once --from http://127.0.0.1:1 --from-token-file /dev/null", "SPACE", "mail",
	"veto ID", "veto --asked When? "+noID, "ID...", noID, "ID", noID, "[JOB]...", noID[:16], "HOST", "127.0.0.1 --user ana --password-file /dev/null", "[NAME]...", "", " [flags]", "")

const noID = "00000000000000000000000000000000"

// leaves returns every command that uses a token file, with valid arguments.
func leaves(cmd *cobra.Command) (all [][]string) {
	for _, under := range cmd.Commands() {
		all = append(all, leaves(under)...)
	}
	line := strings.TrimPrefix(cmd.UseLine(), "percached ")
	for _, own := range withoutTokens {
		if line == own || strings.HasPrefix(line, own+" ") {
			return nil
		}
	}
	if !cmd.HasSubCommands() && cmd.HasParent() {
		all = append(all, strings.Fields(examples.Replace(line)))
	}
	return all
}

// Every command reports an unusable token file and what to do, with and without a daemon, and
// changes nothing.
func TestWrongTokenFiles(t *testing.T) {
	every := leaves(root(strings.NewReader(""), io.Discard, io.Discard))
	if len(every) < 35 {
		t.Fatalf("only %d commands: %v", len(every), every)
	}
	for n, tc := range wrongTokens {
		for _, daemon := range []bool{false, true} {
			t.Run(tc.name+map[bool]string{true: ", beside a daemon"}[daemon], func(t *testing.T) {
				dir := withTokens(t)
				path := filepath.Join(dir, tc.file)
				if err := tc.spoil(path); err != nil {
					t.Fatal(err)
				}
				if daemon {
					h, err := home.Open(dir, encryption.Source{})
					if err != nil {
						t.Fatal(err)
					}
					defer h.Close()
					if err := os.WriteFile(h.Path(link.AddressFile), []byte("http://127.0.0.1:1\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before := holdings(t, dir)
				for i, args := range every {
					if args[0] == "doctor" { // below: it looks at models, too
						continue
					}
					if testing.Short() && i%5 != n%5 { // each kind with a fifth of the commands
						continue
					}
					var out, log bytes.Buffer
					err := run(t.Context(), append(args, "--data", dir), strings.NewReader(""), &out, &log)
					status := commands.Finish(t.Context(), err, &log)
					if said := log.String(); status != commands.ExitFailed || out.Len() > 0 || strings.Count(said, "\n") != 1 ||
						!strings.HasPrefix(said, "percached: cannot ") || !strings.Contains(said, path) || !strings.Contains(said, tc.says) {
						t.Errorf("%v: status %d, prints %q, says %q", args, status, out.String(), said)
					}
				}
				if f := selftest.CheckFolder(t.Context(), dir); !strings.Contains(f.Fault, tc.says) {
					t.Errorf("doctor: %+v", f)
				}
				if d := cmp.Diff(before, holdings(t, dir)); d != "" {
					t.Error("something was changed:", d)
				}
			})
		}
	}
}

// The command in the error of an unusable main token repairs it.
func TestWrongMainTokenIsReplaced(t *testing.T) {
	for _, tc := range wrongTokens {
		if tc.file != "token" || !strings.Contains(tc.says, "token revoke main") {
			continue
		}
		dir := withTokens(t)
		if err := tc.spoil(filepath.Join(dir, "token")); err != nil {
			t.Fatal(err)
		}
		call := func(args ...string) (string, error) {
			var out bytes.Buffer
			err := run(context.Background(), append(args, "--data", dir), strings.NewReader(""), &out, io.Discard)
			return out.String(), err
		}
		secret, err := call("token", "revoke", "main", "--yes")
		shown, err2 := call("token", "show")
		if err != nil || err2 != nil || secret != shown || !strings.HasPrefix(secret, "pc_") {
			t.Errorf("%s: %q %v, %q %v", tc.name, secret, err, shown, err2)
		}
	}
}

// withTokens is a data folder with a main token and another one.
func withTokens(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	h, err := home.Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := token.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Main()
	_, _, err2 := s.Create("phone", "mail", token.RoleAsk)
	if err := errors.Join(err, err2, h.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// holdings is everything in a folder.
func holdings(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			b, err := os.ReadFile(path)
			all[path] += " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
