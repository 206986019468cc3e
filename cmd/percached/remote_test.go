package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// All commands that talk to a daemon work on one that is named by its address.
func TestRemote(t *testing.T) {
	dir := t.TempDir()
	a := startServe(t, filepath.Join(dir, "data"))
	a.ready()
	note, secret, backup := filepath.Join(dir, "gate.md"), filepath.Join(dir, "secret"), filepath.Join(dir, "backup.tar.gz")
	for name, text := range map[string]string{note: "The code of the gate at Wharf Road is 6190.\n", secret: a.token + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PERCACHED_DATA", filepath.Join(dir, "elsewhere"))
	call := func(args ...string) (string, string, int) {
		return called(patiently(t), append([]string{"--url", a.url, "--token-file", secret}, args...)...)
	}
	for _, tc := range []struct{ line, says string }{
		{"add " + note + " --kind notes", "1 added"},
		{"documents list", "gate (note)"},
		{"search gate code", "6190"},
		{"status", "daemon at " + a.url},
		{"config show", "tensor-limit"},
		{"config set threshold=0.9", "0.9"},
		{"history clear --yes", "deleted: 0 questions"},
		{"backup " + backup, "Wrote "},
		{"restore " + backup + " --force", "Restored the backup"},
	} {
		out, errs, status := call(strings.Fields(tc.line)...)
		if status != commands.ExitDone || !strings.Contains(out, tc.says) {
			t.Errorf("%s: status %d, %q, %q", tc.line, status, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !os.IsNotExist(err) {
		t.Errorf("there is a data folder here: %v", err)
	}
	for _, tc := range []struct{ line, says string }{
		{"reindex", "percached reindex works on this machine, not on a daemon elsewhere; leave out --url"},
		{"token list", "percached token list works on this machine"},
		{"config init", "percached config init works on this machine"},
		{"serve", "percached serve works on this machine"},
		{"status --data " + dir, "leave out one of them"},
		{"search gate --embed-model x", "--embed-model has no effect"},
		{"status --token x", "name two tokens"},
		{"history clear", "Pass --yes to confirm"},
	} {
		if out, errs, status := call(strings.Fields(tc.line)...); status != commands.ExitMisused || !strings.Contains(errs, tc.says) || out != "" {
			t.Errorf("%s: status %d, %q", tc.line, status, errs)
		}
	}
}

// The environment names a daemon too. A flag overrides it.
func TestRemoteByEnvironment(t *testing.T) {
	dir := t.TempDir()
	a := startServe(t, filepath.Join(dir, "data"))
	a.ready()
	t.Setenv("PERCACHED_URL", a.url)
	for _, tc := range []struct {
		name, token, line, says string
		status                  int
	}{
		{"well", a.token, "status", "daemon at " + a.url, commands.ExitDone},
		{"no token", "", "status", "needs a token: pass --token-file FILE, or set PERCACHED_TOKEN", commands.ExitMisused},
		{"wrong token", "pc_wrong", "status", "does not know this token", commands.ExitFailed},
		{"local only", a.token, "reindex", "PERCACHED_URL names the daemon at " + a.url + "; pass --data", commands.ExitMisused},
		{"a folder", a.token, "reindex --data " + filepath.Join(dir, "none"), "there is no data folder", commands.ExitMissing},
		{"a folder for all", a.token, "status --data " + filepath.Join(dir, "none"), "there is no data folder", commands.ExitMissing},
		{"no address", a.token, "status --url= --token x", "--token is of use only with --url", commands.ExitMisused},
		{"missing file", "", "status --token-file " + filepath.Join(dir, "none"), "cannot read the token", commands.ExitMissing},
		{"version", "", "version", "percached ", commands.ExitDone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("PERCACHED_TOKEN", tc.token)
			out, errs, status := called(patiently(t), strings.Fields(tc.line)...)
			if status != tc.status || !strings.Contains(out+errs, tc.says) {
				t.Errorf("status %d, %q, %q", status, out, errs)
			}
		})
	}
}
