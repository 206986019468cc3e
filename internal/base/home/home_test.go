package home_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

func open(t *testing.T, dir string) *home.Home {
	t.Helper()
	h, err := home.Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	h := open(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	if info, err := os.Stat(h.Path("key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if h.Unclean || len(h.Key) != 32 || bytes.Equal(h.Key, make([]byte, 32)) {
		t.Errorf("unclean %v, key of %d bytes", h.Unclean, len(h.Key))
	}
	if _, err := home.Open(dir, encryption.Source{}); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second one: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if again.Unclean || !bytes.Equal(h.Key, again.Key) {
		t.Error("not the same folder")
	}
}

func TestUnclean(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "unclean"), nil, 0o600); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	for range 2 { // it is seen until it is made good
		if h = open(t, dir); !h.Unclean {
			t.Error("the crash is not seen")
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h = open(t, dir)
	h.Unclean = false
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if h = open(t, dir); h.Unclean {
		t.Error("clean again, and not seen")
	}
	h.Close()
}

// A folder may get its configuration and its tokens before its first use, and they stay.
func TestConfiguredBefore(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"percached.conf": "k = 4\n", "token": "pc_x\n", "tokens.json": "{}\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, dir)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != text || h.Unclean {
			t.Errorf("%s: %q, %v, unclean %v", name, b, err, h.Unclean)
		}
	}
}

// Open removes the address of a killed daemon. It leaves a folder that it refuses unchanged.
func TestAddressForgotten(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	address := filepath.Join(dir, "address")
	leave := func() {
		if err := os.WriteFile(address, []byte("http://127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	h := open(t, dir)
	if home.Exists(address) {
		t.Error("it is still there")
	}
	leave()
	if _, err := home.Open(dir, encryption.Source{}); err == nil || !home.Exists(address) {
		t.Errorf("who uses it must be found: %v", err)
	}
	h.Close()
}

// The advice of the error about a damaged key works.
func TestKeyAnew(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir)
	old := h.Key
	if err := errors.Join(h.Close(), os.Remove(h.Path("key"))); err != nil {
		t.Fatal(err)
	}
	h = open(t, dir)
	defer h.Close()
	if len(h.Key) != len(old) || bytes.Equal(h.Key, old) {
		t.Errorf("a key of %d bytes", len(h.Key))
	}
}

func TestRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, file, holds string
		after             bool // the folder was in use before
		kind              fault.Kind
		says              string
	}{
		{"somebody's folder", "letter.txt", "Dear", false, fault.Invalid, "a data folder of percached"},
		{"newer", "schema", `{"version": 4}`, true, fault.Unsupported, "newer"},
		{"no schema", "schema", `oh`, true, fault.Unavailable, "schema is damaged"},
		{"short key", "key", `oh`, true, fault.Unavailable, "key is damaged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.after {
				open(t, dir).Close()
			}
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.holds), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a refusal leaves nothing that changes the next
				_, err := home.Open(dir, encryption.Source{})
				if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v", err)
				}
			}
			if b, _ := os.ReadFile(filepath.Join(dir, tc.file)); string(b) != tc.holds {
				t.Error("the file was changed")
			}
		})
	}
}

func TestDefault(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/x")
	if dir, err := home.Default(); err != nil || dir != filepath.FromSlash("/x/percached") {
		t.Error(dir, err)
	}
	t.Setenv("XDG_DATA_HOME", "relative") // the standard says: ignored
	t.Setenv("HOME", "/h")
	if dir, err := home.Default(); err != nil || dir != filepath.FromSlash("/h/.local/share/percached") {
		t.Error(dir, err)
	}
}
