package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/encryption"
)

// used is a data folder after use, with content in each part.
func used(t *testing.T, dir string) *Home {
	t.Helper()
	h, err := Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"meta", "inbox", "prompts", "tensors", "tensors.aside", "index"} {
		if err := errors.Join(os.Mkdir(h.Path(part), 0o700), os.WriteFile(h.Path(part, "file"), []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// stage stages other content for each part.
func stage(t *testing.T, h *Home) {
	t.Helper()
	for _, part := range []string{"meta", "inbox", "prompts"} {
		if err := errors.Join(os.Mkdir(h.Staged(part), 0o700), os.WriteFile(filepath.Join(h.Staged(part), "file"), []byte("new"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// parts returns the content of each part.
func parts(t *testing.T, h *Home) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if b, err := os.ReadFile(h.Path(e.Name(), "file")); err == nil {
			found[e.Name()] = string(b)
		} else if strings.HasPrefix(e.Name(), "restore") {
			found[e.Name()] = "left"
		}
	}
	return found
}

var (
	before = map[string]string{"meta": "old", "inbox": "old", "prompts": "old", "tensors": "old", "tensors.aside": "old", "index": "old"}
	after  = map[string]string{"meta": "new", "inbox": "new", "prompts": "new"}
)

// The next Open removes a restore that was not committed, and nothing else changes.
func TestRestoreNotCommitted(t *testing.T) {
	dir := t.TempDir()
	h := used(t, dir)
	stage(t, h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if d := cmp.Diff(before, parts(t, h)); d != "" || h.Unclean {
		t.Errorf("unclean %v\n%s", h.Unclean, d)
	}
}

// The next Open completes a committed restore, wherever it was interrupted.
func TestRestoreCutShort(t *testing.T) {
	for n := 0; ; n++ {
		dir := t.TempDir()
		h := used(t, dir)
		stage(t, h)
		if err := h.CommitRestore(); err != nil {
			t.Fatal(err)
		}
		steps := h.restoreSteps()
		if n > len(steps) {
			return
		}
		for _, step := range steps[:n] {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h, err := Open(dir, encryption.Source{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(after, parts(t, h)); d != "" || h.Unclean != (n < len(steps)) {
			t.Errorf("cut short before step %d: unclean %v\n%s", n, h.Unclean, d)
		}
		h.Close()
	}
}

// A database behind a link is replaced at the link's target. A link to prompts belongs to the
// owner, so the link itself is replaced.
func TestRestoreBehindLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	h := used(t, dir)
	defer h.Close()
	for _, part := range []string{"meta", "tensors", "prompts"} {
		if err := errors.Join(os.Rename(h.Path(part), filepath.Join(elsewhere, part)), os.Symlink(filepath.Join(elsewhere, part), h.Path(part))); err != nil {
			t.Fatal(err)
		}
	}
	stage(t, h)
	if err := errors.Join(h.CommitRestore(), h.EndRestore()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(after, parts(t, h)); d != "" {
		t.Error(d)
	}
	if info, err := os.Lstat(h.Path("meta")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("meta is no link any more: %v", err)
	}
	if info, err := os.Lstat(h.Path("prompts")); err != nil || !info.IsDir() {
		t.Errorf("prompts are no folder: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(elsewhere, "prompts", "file")); string(b) != "old" {
		t.Errorf("what the owner has elsewhere changed: %q, %v", b, err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 2 {
		t.Errorf("left elsewhere: %v, %v", entries, err)
	}
}

// A commit that did not become durable is undone: nothing is replaced later.
func TestRestoreTakenBack(t *testing.T) {
	dir := t.TempDir()
	h := used(t, dir)
	stage(t, h)
	if err := errors.Join(h.CommitRestore(), h.DropRestore(), h.Close()); err != nil {
		t.Fatal(err)
	}
	h, err := Open(dir, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if d := cmp.Diff(before, parts(t, h)); d != "" {
		t.Error(d)
	}
}
