package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// add --sync deletes what vanished, and adds it again when it returns.
func TestAddSync(t *testing.T) {
	dir := t.TempDir()
	data, notes := filepath.Join(dir, "data"), filepath.Join(dir, "notes")
	for name, text := range map[string]string{"gate.md": "The code of the gate is 6190.", "boat.md": "The boat is blue."} {
		if err := errors.Join(os.MkdirAll(notes, 0o755), os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if from == "" {
			return
		}
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name, from, to string
		want           [4]int // added, unchanged, deleted, failed
		args           []string
	}{
		{"new", "", "", [4]int{2, 0, 0, 0}, nil},
		{"unchanged", "", "", [4]int{0, 0, 0, 0}, nil},
		{"vanished", "notes/gate.md", "gate.md", [4]int{0, 0, 1, 0}, nil},
		{"back", "gate.md", "notes/gate.md", [4]int{1, 0, 0, 0}, nil},
		{"missing", "notes", "aside", [4]int{0, 0, 0, 1}, nil},
		{"gone for good", "aside", "away", [4]int{0, 0, 2, 0}, []string{"--empty"}},
	} {
		move(step.from, step.to)
		out, errs, status := called(patiently(t), append([]string{"add", "--sync", notes, "--space", "notes", "--kind", "notes", "--json", "--data", data}, step.args...)...)
		var got addReport
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v\n%s%s", step.name, err, out, errs)
		}
		if now := [4]int{got.Added, got.Unchanged, deref(got.Deleted), got.Failed}; now != step.want || (status == commands.ExitDone) != (got.Failed == 0) {
			t.Errorf("%s: status %d, added, unchanged, deleted and failed %v, want %v\n%s", step.name, status, now, step.want, errs)
		}
	}
	// With the space its file names are forgotten.
	if out, errs, status := called(patiently(t), "spaces", "delete", "notes", "--yes", "--data", data); status != commands.ExitDone {
		t.Fatal(out, errs)
	}
	if left, err := filepath.Glob(filepath.Join(data, "sync", "*.json")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A document that the user deleted stays out of add --sync until the user adds it again.
func TestAddSyncAgain(t *testing.T) {
	data, note := dataOf(t)
	sync := []string{"add", "--sync", note, "--json", "--data", data}
	for _, step := range []struct {
		name  string
		args  []string
		added int
		left  int // out
	}{
		{"unchanged", sync, 0, 0},
		{"deleted", []string{"documents", "delete", note, "--yes", "--json", "--data", data}, 0, 0},
		{"left out", sync, 0, 1},
		{"known", sync, 0, 0},
		{"again", append(sync, "--again"), 1, 0},
	} {
		out, errs, status := called(patiently(t), step.args...)
		var got addReport
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != commands.ExitDone {
			t.Fatalf("%s: status %d, %v\n%s%s", step.name, status, err, out, errs)
		}
		if got.Added != step.added || got.DeletedBefore != step.left {
			t.Errorf("%s: %d added, %d left out; want %d, %d", step.name, got.Added, got.DeletedBefore, step.added, step.left)
		}
	}
}

// cued is an output that calls a function once for each awaited text that appears in it.
type cued struct {
	lockedBuffer
	once  sync.Mutex
	steps []cue
}

type cue struct {
	text string
	then func()
}

func (h *cued) Write(p []byte) (int, error) {
	n, err := h.lockedBuffer.Write(p)
	h.once.Lock()
	defer h.once.Unlock()
	if len(h.steps) > 0 && strings.Contains(string(p), h.steps[0].text) {
		then := h.steps[0].then
		h.steps = h.steps[1:]
		then()
	}
	return n, err
}

// percached watch follows a folder, waits for a daemon that is restarted, and ends with
// status 0 when it is interrupted.
func TestWatch(t *testing.T) {
	data, note := dataOf(t)
	if _, errs, status := called(patiently(t), "watch", note, "--data", data); status != commands.ExitFailed || !strings.Contains(errs, "no daemon runs on "+data) {
		t.Fatalf("status %d: %s", status, errs)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(os.WriteFile(in("a.md"), []byte("The boat is blue."), 0o600))
	serve := startServe(t, data)
	serve.ready()
	ctx, interrupt := context.WithCancel(patiently(t))
	defer interrupt()
	// Both streams, so that the steps come in order.
	said := &cued{}
	said.steps = []cue{
		{"added    " + in("a.md"), func() {}},
		{"following 1 files in " + dir, func() { must(os.WriteFile(in("b.md"), []byte("The barn is red."), 0o600)) }},
		{"added    " + in("b.md"), func() { must(os.Remove(in("a.md"))) }},
		{"removed  " + in("a.md") + " (documents deleted: 1)", func() {
			serve.end()
			must(os.Rename(in("b.md"), in("c.md")))
		}},
		{"waiting for the daemon: no daemon runs on " + data, func() {
			serve = startServe(t, data)
			serve.ready()
		}},
		{"added    " + in("c.md"), func() {}},
		{"removed  " + in("b.md"), func() {}},
		{"the daemon is back", interrupt},
	}
	err := run(ctx, []string{"watch", dir, "--data", data}, strings.NewReader(""), said, said)
	if status := commands.Finish(ctx, err, said); status != commands.ExitDone || len(said.steps) > 0 {
		t.Errorf("status %d, %d steps are left:\n%s", status, len(said.steps), said.String())
	}
	serve.end()
}
