package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// The file in the data folder applies, wherever the folder was named, unless --config names
// another file.
func TestConfigOfTheFolder(t *testing.T) {
	set := t.TempDir() // with a configuration file
	elsewhere := filepath.Join(t.TempDir(), "a.conf")
	writeFile(t, filepath.Join(set, FileName), "k = 4\nmax-tokens = 6\n")
	writeFile(t, elsewhere, "data = "+set+"\nk = 7\n")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	usual := defaultData()
	if err := os.Mkdir(usual, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(usual, FileName), "k = 9\n")
	flag := func(key, value string) []Setting {
		return []Setting{FromFlag(key, value)}
	}
	for _, tc := range []struct {
		name, file string
		env        []string
		flags      []Setting
		data, k    string
		from       string // source of k
	}{
		{"by a flag", "", []string{"PERCACHED_DATA=/nowhere"}, flag("data", set), set, "4", "file"},
		{"by a variable", "", []string{"PERCACHED_DATA=" + set}, nil, set, "4", "file"},
		{"by nobody", "", nil, nil, usual, "9", "file"},
		{"a folder without", "", nil, flag("data", t.TempDir()), "", "3", "default"},
		{"no folder yet", "", nil, flag("data", filepath.Join(t.TempDir(), "none")), "", "3", "default"},
		{"the environment beats it", "", []string{"PERCACHED_K=5"}, flag("data", set), set, "5", "environment"},
		{"a flag beats it", "", []string{"PERCACHED_K=5"}, append(flag("data", set), flag("k", "6")...), set, "6", "flag"},
		{"another in its place", elsewhere, nil, nil, set, "7", "file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Load(tc.file, tc.env, tc.flags, nil)
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{}
			from := ""
			for _, s := range c.All() {
				all[s.Key] = s.Value
				if s.Key == "k" {
					from = s.Source
				}
			}
			if tc.data != "" && all["data"] != tc.data || all["k"] != tc.k || from != tc.from {
				t.Errorf("data %s, k %s from the %s", all["data"], all["k"], from)
			}
			if tokens := all["max-tokens"]; (tokens == "6") != (tc.data == set && tc.file == "") {
				t.Errorf("tokens %s", tokens)
			}
		})
	}
}

// The file in the folder cannot name another folder. Load reports that with all other errors.
func TestConfigOfTheFolderFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FileName)
	data := []string{"PERCACHED_DATA=" + dir}
	writeFile(t, file, "k = 0\ndata = /elsewhere\nwhat\n")
	_, err := Load("", data, nil, nil)
	want := []string{
		file + ":3: the line is not of the form key = value",
		file + ":2: data: the file in the data folder cannot name another data folder: use --data, PERCACHED_DATA, or --config with a file elsewhere",
		file + ":1: k: 0 is not between 1 and 64",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("%v", err)
	}
	if _, err := Load(file, data, nil, nil); err == nil || strings.Contains(err.Error(), "cannot name another") {
		t.Errorf("one that is named may name a folder: %v", err)
	}
	for _, tc := range []struct {
		name string
		make func() error
	}{
		{"too long", func() error { return os.WriteFile(file, make([]byte, maxConfig+1), 0o600) }},
		{"a folder", func() error { return os.Mkdir(file, 0o700) }},
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := tc.make(); err != nil {
			t.Fatal(err)
		}
		if _, err := Load("", data, nil, nil); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := Load("", nil, []Setting{FromFlag("data", "")}, nil); err == nil || !strings.HasPrefix(err.Error(), "--data: ") {
		t.Errorf("%v", err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
