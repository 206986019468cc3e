package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDrawMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.json")
	for text, want := range map[string]string{
		`{"model": "Small", "points": [{"minutes": 1, "slice_bytes": 1048576}, {"minutes": 2}]}`: "typed texts</text>",
		`{"points": []}`: "is not what bench memory prints",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		err := run(t.Context(), []string{"draw", "memory", path, "--dark"}, strings.NewReader(""), &out, &errs)
		if err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%v, want %q in:\n%.300s", err, want, out.String())
		}
	}
}

func TestDrawConversation(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("Small model.json", `{"points": [{"exchanges": 20, "first_token_ms": 400, "full_history_ms": 900}, {"exchanges": 40, "first_token_ms": 500}]}`)
	bad := write("bad.json", `{"points": []}`)
	for _, tc := range []struct {
		name, want string
		args       []string
		fails      bool
	}{
		{"light", "Small model</text>", []string{good}, false},
		{"dark", "fill:#16181D", []string{good, "--dark"}, false},
		{"no points", "is not what bench conversation prints", []string{good, bad}, true},
		{"missing", "no such file", []string{filepath.Join(dir, "missing")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			err := run(t.Context(), append([]string{"draw", "conversation"}, tc.args...), strings.NewReader(""), &out, &errs)
			got := out.String()
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != tc.fails || !strings.Contains(got, tc.want) {
				t.Errorf("%v, want %q in:\n%s", err, tc.want, got)
			}
			if tc.fails && out.Len() > 0 {
				t.Errorf("printed %d bytes", out.Len())
			}
		})
	}
}
