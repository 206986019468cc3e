package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
)

// Damaged or truncated archives, and those of a newer percached, change nothing.
func TestRestoreRefusesDamaged(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	for n := range 20 {
		a.addNote(fmt.Sprint("gate", n))
	}
	a.settled()
	whole := a.backup()
	a.addNote("later")
	a.settled()
	want := a.titles()
	trials := map[string][]byte{"nothing": nil, "text": []byte("Dear Ana"), "more": append(bytes.Clone(whole), 1)}
	for _, n := range []int{1, 9, 10, 11, len(whole) / 3, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		trials[fmt.Sprint("cut at ", n)] = whole[:n]
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range repeated(12, 3) {
		b := bytes.Clone(whole)
		at := 10 + rng.IntN(len(b)-10) // behind the header of gzip, which says nothing
		b[at] ^= 1 << rng.IntN(8)
		trials[fmt.Sprint("a flip at ", at)] = b
	}
	for name, archive := range trials {
		if status, text := a.restore(archive, "?force=true"); status != http.StatusBadRequest || !strings.Contains(text, "backup") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if d := cmp.Diff(want, a.titles()); d != "" {
		t.Error(d)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, "restore*")); left != nil {
		t.Errorf("left: %q", left)
	}
	a.end()
	before := filesIn(t, a.dir)
	for name, archive := range trials {
		if errs, status := restoreInto(t, a.dir, archive, "--force"); status != commands.ExitFailed || !strings.Contains(errs, "backup") {
			t.Errorf("%s: %d %s", name, status, errs)
		}
	}
	if d := cmp.Diff(before, filesIn(t, a.dir)); d != "" {
		t.Errorf("files changed (-before +after):\n%s", d)
	}
}

// filesIn returns the files of a folder that define its contents.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		found[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// A restore that is killed at any moment leaves either the old or the restored data, also if
// a daemon restores.
func TestRestoreKilled(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	dir := filepath.Join(t.TempDir(), "data")
	archives := map[string][]byte{}
	for _, generation := range []string{"old", "new"} {
		a := startServe(t, filepath.Join(t.TempDir(), generation))
		a.ready()
		call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
		for n := range 12 {
			a.addNote(fmt.Sprint(generation, n))
		}
		a.settled()
		if err := errors.Join(os.MkdirAll(filepath.Join(a.dir, "prompts"), 0o700), os.WriteFile(filepath.Join(a.dir, "prompts", "instructions.txt"), []byte(generation), 0o600)); err != nil {
			t.Fatal(err)
		}
		archives[generation] = a.backup()
		a.end()
	}
	if errs, status := restoreInto(t, dir, archives["old"]); status != commands.ExitDone {
		t.Fatal(errs)
	}
	kills := 24
	if testing.Short() {
		kills = 4
	}
	k := &restoreKiller{T: t, rng: rand.New(rand.NewPCG(2, 6)), dir: dir, archives: archives, now: "old", ended: map[string]int{}}
	for n := range kills {
		k.round(n%2 == 1)
	}
	t.Logf("%v", k.ended)
}

type restoreKiller struct {
	*testing.T
	rng      *rand.Rand
	dir      string
	archives map[string][]byte
	now      string // what is there
	took     [2]time.Duration
	ended    map[string]int
}

// round restores the other generation with or without a daemon, kills it, and checks the
// result.
func (k *restoreKiller) round(daemon bool) {
	k.Helper()
	next := map[string]string{"old": "new", "new": "old"}[k.now]
	file := filepath.Join(k.TempDir(), "backup.tar.gz")
	if err := os.WriteFile(file, k.archives[next], 0o600); err != nil {
		k.Fatal(err)
	}
	var log lockedBuffer
	cmd := exec.Command(underTest(k.T), "restore", file, "--force", "--data", k.dir)
	cmd.Args[0], cmd.Stderr = "percached", &log
	victim := cmd
	if daemon {
		d, err := child.Start(k.Context(), underTest(k.T), k.dir, &log, "--threads", "1")
		if err != nil {
			k.Fatal(err, log.String())
		}
		victim = d.Cmd
	}
	took := &k.took[map[bool]int{false: 0, true: 1}[daemon]]
	began := time.Now()
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	if *took > 0 {
		time.AfterFunc(time.Duration(k.rng.Int64N(int64(*took)*5/4)), func() { victim.Process.Kill() })
	}
	err := cmd.Wait()
	if *took == 0 {
		if *took = time.Since(began); err != nil {
			k.Fatal(err, log.String())
		}
	}
	if daemon {
		victim.Process.Kill()
		victim.Wait() //nolint:errcheck // it was killed
	}
	k.examine(next, err == nil, log.String())
}

// examine opens the folder, which holds one generation and nothing of the other.
func (k *restoreKiller) examine(next string, done bool, log string) {
	k.Helper()
	a := startServe(k.T, k.dir)
	a.ready()
	a.settled()
	generations := map[string]int{}
	for title := range a.titles() {
		generations[strings.TrimRight(title, "0123456789")]++
	}
	prompt := a.file("prompts/instructions.txt")
	a.end()
	if left, _ := filepath.Glob(filepath.Join(k.dir, "restore*")); left != nil {
		k.Errorf("left: %q", left)
	}
	now := prompt
	if generations[now] != 12 || len(generations) != 1 || done && now != next {
		k.Fatalf("the folder holds %v with the prompt %q, and was to hold %s (ended: %v)\n%s", generations, prompt, next, done, log)
	}
	k.now = now
	k.ended[fmt.Sprintf("ended %v, %v", done, map[bool]string{true: "restored", false: "as it was"}[now == next])]++
}

// A restore from a blocked standard input can be interrupted, and leaves nothing.
func TestRestoreInterrupted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ctx, cancel := context.WithCancel(patiently(t))
	in, w := io.Pipe()
	defer w.Close()
	go func() {
		w.Write([]byte("\x1f\x8b\x08")) // once this is read, it waits for more
		cancel()
	}()
	if err := run(ctx, []string{"restore", "-", "--data", data}, in, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(data, "restore*")); left != nil {
		t.Errorf("left: %q", left)
	}
}

// A restoring daemon may drop connections. A waiting command tries again, a limited number of
// times.
func TestReadyAgain(t *testing.T) {
	for drops, want := range map[int]fault.Kind{0: 0, 1: 0, 2: 0, 99: fault.Unavailable} {
		var came atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if came.Add(1) <= int64(drops) {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintln(w, `{"ready":true,"stage":"ready","progress":1}`)
		}))
		l, err := link.New(s.URL, "secret", &http.Transport{DisableKeepAlives: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := awaitReady(t.Context(), l, io.Discard); fault.KindOf(err) != want {
			t.Errorf("%d dropped: %v", drops, err)
		}
		s.Close()
	}
}

// A duplicate file in an archive is damage of the archive.
func TestRestoreRefusesTwoOfOne(t *testing.T) {
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, backup.Seal{}, backup.Header{Schema: home.Version})
	for range 2 {
		if err == nil {
			err = w.File("prompts/instructions.txt", 2, strings.NewReader("be"))
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	errs, status := restoreInto(t, dir, b.Bytes())
	if status != commands.ExitFailed || !strings.Contains(errs, "duplicate file prompts/instructions.txt") {
		t.Errorf("%d %s", status, errs)
	}
	if home.Exists(dir) {
		t.Error("the refused restore left a data folder")
	}
}

// Documents that an interrupted rewrite of the database was moving are not replaced without
// force.
func TestRestoreSeesWhatARewriteLeft(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.addNote("gate")
	a.settled()
	archive := a.backup()
	a.end()
	meta := filepath.Join(a.dir, "meta")
	if err := os.Rename(meta, meta+".old"); err != nil {
		t.Fatal(err)
	}
	if errs, status := restoreInto(t, a.dir, archive); status != commands.ExitFailed || !strings.Contains(errs, "holds 1 space with 1 document") {
		t.Errorf("status %d: %s", status, errs)
	}
}
