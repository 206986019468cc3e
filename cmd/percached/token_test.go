package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
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
