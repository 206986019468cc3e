package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
)

func TestPulledName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	folder := filepath.Join(dir, "models")
	if err := errors.Join(
		os.Mkdir(folder, 0o700), os.Mkdir("both", 0o700),
		os.WriteFile(filepath.Join(folder, "here.gguf"), nil, 0o600),
		os.WriteFile(filepath.Join(folder, "both.gguf"), nil, 0o600),
		os.WriteFile(filepath.Join(folder, "near.gguf"), nil, 0o600),
		os.WriteFile("near", nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	for name, want := range map[string]string{
		"": "", "here": in("here.gguf"), "here.gguf": in("here.gguf"), "near": "near", "./here": "./here", "a/b": "a/b",
		"both": in("both.gguf"), // a folder is no model
	} {
		if got, err := node.ModelFile(folder, name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"absent", "qwen2.5-0.5b-instruct"} {
		if got, err := node.ModelFile(folder, name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestPullBar(t *testing.T) {
	const mb = 1_000_000
	for _, tc := range []struct {
		name string
		live bool
		want string
	}{
		{"lines", false, "continuing after 10.0 MB\nm: 30.0 of 100.0 MB, 30 %, 2.0 MB/s, 35s left\nm: checking, 50 %\n"},
		{"bar", true, "continuing after 10.0 MB\n" +
			"\r\033[K████░░░░░░░░░░░░░░░░░░░░ m: 20.0 of 100.0 MB, 20 %, 2.0 MB/s, 40s left" +
			"\r\033[K███████░░░░░░░░░░░░░░░░░ m: 30.0 of 100.0 MB, 30 %, 2.0 MB/s, 35s left" +
			"\r\033[K████████████░░░░░░░░░░░░ m: checking, 50 %\r\033[K"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Unix(0, 0)
			b := &pullProgress{w: &out, live: tc.live, every: 8 * time.Second, now: func() time.Time { return now }, name: "m"}
			if tc.live {
				b.every = time.Second
			}
			after := func(d time.Duration) { now = now.Add(d) }
			b.fetched(10*mb, 100*mb)
			after(5 * time.Second)
			b.fetched(20*mb, 100*mb)
			after(5 * time.Second)
			b.fetched(30*mb, 100*mb)
			after(8 * time.Second)
			b.checked(50*mb, 100*mb)
			b.checked(60*mb, 100*mb)
			b.clearLine()
			b.clearLine()
			if d := cmp.Diff(tc.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
