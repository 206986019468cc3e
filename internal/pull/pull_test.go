package pull_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/pull"
	"github.com/percached/percached/models"
)

func TestWhole(t *testing.T) {
	file := model(t, 1)
	for _, tc := range []struct {
		name string
		set  func(*server)
	}{
		{"with ranges", func(*server) {}},
		{"without ranges", func(s *server) { s.deaf = true }},
		{"without a length", func(s *server) { s.bare = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, dir := serve(t, file), filepath.Join(t.TempDir(), "models")
			tc.set(s)
			p := puller(t, dir)
			got, err := fetch(p, s.URL+"/a/Small Model.gguf?x=secret", pull.Want{})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "Small-Model.gguf")
			want := pull.Result{Name: "Small-Model", File: path, Bytes: int64(len(file)), SHA256: hashOf(file), By: pull.ByNobody, Fetched: int64(len(file))}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			isFile(t, path, file)
			holds(t, dir, "Small-Model.gguf", "known.json")
			if b, err := os.ReadFile(filepath.Join(dir, "known.json")); err != nil || bytes.Contains(b, []byte("secret")) {
				t.Errorf("%v: %s", err, b)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Error(info.Mode(), err)
			}
		})
	}
}

// A file that exists is not fetched again, and its hash can be confirmed later.
func TestThereAlready(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	if _, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		hash      string
		by        pull.By
		confirmed bool
	}{
		{"", pull.ByNote, false},
		{strings.ToUpper(hashOf(file)), pull.ByCaller, true},
		{"", pull.ByNote, true},
	} {
		got, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{SHA256: tc.hash})
		if err != nil || got.Fetched != 0 || got.By != tc.by || got.Confirmed != tc.confirmed || got.Bytes != int64(len(file)) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	// A damaged file is fetched again.
	if err := os.WriteFile(filepath.Join(dir, "m.gguf"), file[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{}); err != nil || got.Fetched == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
}

// A file from another source is left alone.
func TestNamesAreTaken(t *testing.T) {
	file, other, dir := model(t, 1), model(t, 2), t.TempDir()
	s, o := serve(t, file), serve(t, other)
	if _, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{}); err != nil {
		t.Fatal(err)
	}
	_, err := fetch(puller(t, dir), o.URL+"/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "--as") {
		t.Error(err)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
	got, err := fetch(puller(t, dir), o.URL+"/m.gguf", pull.Want{Name: "other"})
	if err != nil || got.Name != "other" {
		t.Error(got, err)
	}
	to := filepath.Join(t.TempDir(), "x.gguf")
	if got, err := fetch(puller(t, dir), o.URL+"/m.gguf", pull.Want{To: to}); err != nil || got.Name != "" || got.File != to || got.By != pull.ByNote {
		t.Error(got, err)
	}
	isFile(t, to, other)
	holds(t, filepath.Dir(to), "x.gguf")
	holds(t, dir, "known.json", "m.gguf", "other.gguf")
	notes, err := puller(t, dir).Known()
	if err != nil || len(notes) != 2 || notes[0].Name == notes[1].Name || notes[0].Name == "" || notes[1].Name == "" {
		t.Errorf("%+v, %v", notes, err)
	}
}

func TestRefuses(t *testing.T) {
	whole := model(t, 1)
	odd := bytes.Replace(whole, []byte("llama"), []byte("llamo"), 1)
	for _, tc := range []struct {
		name string
		file []byte
		says string
	}{
		{"a page", []byte("<html>log in</html>"), `no GGUF file: it begins with "<htm"`},
		{"too short to tell", []byte("GG"), `no GGUF file`},
		{"nothing", nil, `no GGUF file`},
		{"cut short", whole[:len(whole)-32], "cut short"},
		{"of an unknown kind", odd, "llamo"},
		{"no language model", models.NanoEmbed(), "static"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := fetch(puller(t, dir), serve(t, tc.file).URL+"/m.gguf", pull.Want{})
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v", err)
			}
			holds(t, dir)
		})
	}
}

func TestDiskIsFull(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	p := puller(t, dir)
	p.Free(int64(len(file)))
	_, err := fetch(p, serve(t, file).URL+"/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "the disk has") {
		t.Error(err)
	}
	holds(t, dir)
}

func TestTwoAtOnce(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var second error
	first := puller(t, dir, func(o *pull.Options) {
		o.Observer.Fetched = func(done, _ int64) {
			if done > 0 && second == nil {
				_, second = fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{})
			}
		}
	})
	if _, err := fetch(first, s.URL+"/m.gguf", pull.Want{}); err != nil {
		t.Fatal(err)
	}
	if fault.KindOf(second) != fault.Conflict || !strings.Contains(second.Error(), "another process is fetching") {
		t.Error(second)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
	if got, err := first.Pull(ctx, pull.Source{Key: "x"}, pull.Want{Name: "../m"}); fault.KindOf(err) != fault.Invalid {
		t.Error(got, err)
	}
}

// An interrupted pull keeps its part.
func TestInterrupted(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := puller(t, dir, func(o *pull.Options) {
		o.Observer.Fetched = func(done, _ int64) {
			if done > 0 {
				cancel()
			}
		}
	})
	source, err := p.Find(ctx, s.URL+"/m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Pull(ctx, source, pull.Want{})
	if !errors.Is(err, context.Canceled) || r.Kept == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	holds(t, dir, "m.gguf.part", "m.gguf.part.json")
	got, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{})
	if err != nil || got.Fetched != int64(len(file))-r.Kept {
		t.Errorf("%d of %d bytes were kept; %+v, %v", r.Kept, len(file), got, err)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
}

func TestKnownIsDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "known.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := fetch(puller(t, dir), serve(t, model(t, 1)).URL+"/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}

// Suggested names a free model that fits the memory, and always one.
func TestSuggested(t *testing.T) {
	for memory, want := range map[int64]string{0: "smollm2-135m-instruct", 1 << 30: "smollm2-135m-instruct", 2 << 30: "qwen2.5-0.5b-instruct", 64 << 30: "qwen2.5-1.5b-instruct"} {
		if got := pull.Suggested(memory); got.Name != want || got.Embeds {
			t.Errorf("%d bytes: %s, want %s", memory, got.Name, want)
		}
	}
}
