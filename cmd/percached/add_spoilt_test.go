package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// printed runs a command and returns its output.
func printed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(patiently(t), args, strings.NewReader(""), &out, newLogged())
	return out.String(), err
}

// A file that cannot be sent, or is refused, does not keep out other files.
func TestAddGoesOn(t *testing.T) {
	const unreadable = "/proc/self/mem" // it can be opened
	dir, deep := t.TempDir(), strings.Repeat("a", 200)
	files := map[string]string{
		"a.txt": "The pond is deep.\n", "bad\xff.txt": "Not UTF-8.\n", "line\nbreak.txt": "Two lines.\n", "z.txt": "The pond is wide.\n",
		strings.Repeat(deep+"/", 5) + "far.txt": "Far away.\n", "large.txt": strings.Repeat("The swans are back. ", 100_000),
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Skip(err) // a system with other rules for names
		}
	}
	paths := []string{dir}
	if _, err := os.Stat(unreadable); err == nil {
		if _, err := os.ReadFile(unreadable); err != nil {
			paths = append(paths, unreadable)
		}
	}
	for _, daemon := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "daemon"}[daemon], func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			want := map[string]string{
				dir + "/bad\uFFFD.txt":                              "the file name is not UTF-8",
				dir + "/line\nbreak.txt":                            "the file name contains control characters",
				dir + "/" + strings.Repeat(deep+"/", 5) + "far.txt": "the file name is longer than 1000 bytes",
			}
			added := 3
			if len(paths) > 1 {
				want[unreadable] = "input/output error"
			}
			if daemon {
				t.Setenv("PERCACHED_MAX_UPLOAD", "1MiB")
				want[dir+"/large.txt"] = "the body is longer than the limit of 1048576 bytes"
				added = 2
				a := startServe(t, data)
				defer a.end()
				a.ready()
			}
			out, err := printed(t, append([]string{"add", "--data", data, "--json"}, paths...)...)
			if !errors.As(err, new(cmdline.Unwell)) {
				t.Fatal(err)
			}
			var report struct {
				Added, Failed int
				Failures      []client.Failure
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatal(err, out)
			}
			got := map[string]string{}
			for _, f := range report.Failures {
				got[f.Name] = f.Reason
			}
			if d := cmp.Diff(want, got); d != "" || report.Added != added || report.Failed != len(want) {
				t.Errorf("%+v (-want +got):\n%s", report, d)
			}
		})
	}
}
