package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/token"
)

// Tokens are created and revoked while another process uses the data folder, and take effect
// at once.
func TestTokensBesideADaemon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h, err := home.Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	daemon, err := token.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(context.Background(), append(append([]string{"token"}, args...), "--data", dir), strings.NewReader(""), &out, io.Discard); err != nil {
			t.Fatal(args, err)
		}
		return strings.TrimSpace(out.String())
	}
	main := call("show")
	if got, ok := daemon.Check(main); !ok || got.ID != token.MainID {
		t.Error(got, ok)
	}
	phone := call("create", "--space", "mail", "--role", "write", "--name", "phone")
	got, ok := daemon.Check(phone)
	if !ok || got.Space != "mail" || got.Role != token.RoleWrite || got.Name != "phone" {
		t.Error(got, ok)
	}
	var list tokensReport
	if err := json.Unmarshal([]byte(call("list", "--json")), &list); err != nil || len(list.Tokens) != 2 || list.Tokens[1].ID != got.ID {
		t.Errorf("%+v %v", list, err)
	}
	call("revoke", got.ID, "--yes")
	anew := call("revoke", "main", "--yes")
	for secret, want := range map[string]bool{phone: false, main: false, anew: true} {
		if _, ok := daemon.Check(secret); ok != want {
			t.Errorf("admitted: %v, and should be %v", ok, want)
		}
	}
}

// A secret is printed although the audit log failed after it was made, and the error is reported.
func TestTokenUnrecorded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h, err := home.Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	logs := t.TempDir()
	t.Setenv("PERCACHED_AUDIT_LOG", filepath.Join(logs, "audit.jsonl"))
	cmd := tokenSubcommand("create", "", cobra.NoArgs, func(dir string, _ []string) (cmdline.Report, error) {
		return &secretReport{Secret: "pc_new"}, audited(dir, "token.create", func() (audit.Record, error) {
			return audit.Record{}, os.RemoveAll(logs)
		})
	})
	var out bytes.Buffer
	cmd.SilenceUsage = true
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"--data", dir})
	if err := cmd.Execute(); fault.KindOf(err) != fault.Unavailable || strings.TrimSpace(out.String()) != "pc_new" {
		t.Error(err, out.String())
	}
}
