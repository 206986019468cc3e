package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

var commentedKey = regexp.MustCompile(`(?m)^# ([a-z0-9-]+) =( |$)`)

// A new configuration file sets the defaults, both as written and with every key uncommented.
func TestConfigTextIsTheDefaults(t *testing.T) {
	for _, tc := range []struct {
		name     string
		inFolder bool
	}{{"in the data folder", true}, {"elsewhere", false}} {
		t.Run(tc.name, func(t *testing.T) {
			text := FileText(tc.inFolder)
			var want, got []string
			for _, k := range Keys() {
				if !tc.inFolder || k.Name != "data" {
					want = append(want, k.Name)
				}
			}
			for _, m := range commentedKey.FindAllStringSubmatch(text, -1) {
				got = append(got, m[1])
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("each key stands there once (-want +got):\n%s", d)
			}
			if all, wrong := parse("f", []byte(text)); len(all)+len(wrong) > 0 {
				t.Errorf("all is a comment at first: %v, %v", all, wrong)
			}
			usual := Of(DaemonDefault(), nil).All()
			data := usual[slices.Index(keyNames(), "data")].Value
			file := filepath.Join(t.TempDir(), "a.conf")
			writeFile(t, file, commentedKey.ReplaceAllString(text, "$1 =$2"))
			c, err := Load(file, []string{"PERCACHED_DATA=" + data}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range c.All() {
				if s.Value != usual[i].Value {
					t.Errorf("%s is %q, by default %q", s.Key, s.Value, usual[i].Value)
				}
				if s.Source != "file" && s.Key != "data" {
					t.Errorf("%s is in force, and is said by %s", s.Key, s.Source)
				}
			}
		})
	}
}

func keyNames() (names []string) {
	for _, k := range Keys() {
		names = append(names, k.Name)
	}
	return names
}

// The headings are those of docs/configuration.md that have keys, in the same order.
func TestConfigHeadings(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, g := range Groups() {
		want = append(want, g.Heading)
	}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if strings.Contains(text, "| key |") {
			got = append(got, heading)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// An existing file stays, and a failed write leaves no file.
func TestInitConfig(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a", "data")
	file := filepath.Join(data, FileName)
	if err := WriteFile(file, data); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if b, err := os.ReadFile(file); string(b) != FileText(true) {
		t.Errorf("%q, %v", b, err)
	}
	writeFile(t, file, "k = 4\n")
	if err := WriteFile(file, data); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "k = 4\n" {
		t.Errorf("%q, %v", b, err)
	}
	nowhere := filepath.Join(data, "no", "a.conf")
	if err := WriteFile(nowhere, data); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The comments of a new file fit into an editor's width.
func TestFolded(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"incredible it is", 5, []string{"incredible", "it is"}},
	} {
		if d := cmp.Diff(tc.want, folded(tc.text, tc.width)); d != "" {
			t.Errorf("%q in %d:\n%s", tc.text, tc.width, d)
		}
	}
}
