package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// What lies in the data folder holds, wherever the folder was named, unless a file
// is named in its place.
func TestConfigOfTheFolder(t *testing.T) {
	set := t.TempDir() // with a file of its own
	elsewhere := filepath.Join(t.TempDir(), "a.conf")
	writeFile(t, filepath.Join(set, configFile), "k = 4\nstride = 6\n")
	writeFile(t, elsewhere, "data = "+set+"\nk = 7\n")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	usual := defaultData()
	if err := os.Mkdir(usual, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(usual, configFile), "k = 9\n")
	flag := func(key, value string) []said { return []said{{key, value, origin{"flag", "--" + key}}} }
	for _, tc := range []struct {
		name, file string
		env        []string
		flags      []said
		data, k    string
		from       string // who said k
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
			c, err := loadConfig(tc.file, tc.env, tc.flags)
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{}
			from := ""
			for _, s := range c.Config().Settings {
				all[s.Key] = s.Value
				if s.Key == "k" {
					from = s.Source
				}
			}
			if tc.data != "" && all["data"] != tc.data || all["k"] != tc.k || from != tc.from {
				t.Errorf("data %s, k %s from the %s", all["data"], all["k"], from)
			}
			if stride := all["stride"]; (stride == "6") != (tc.data == set && tc.file == "") {
				t.Errorf("stride %s", stride)
			}
		})
	}
}

// The file in the folder cannot say where the folder is; that is told with all else.
func TestConfigOfTheFolderFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, configFile)
	data := []string{"PERCACHED_DATA=" + dir}
	writeFile(t, file, "k = 0\ndata = /elsewhere\nwhat\n")
	_, err := loadConfig("", data, nil)
	want := []string{
		file + ":3: it is no key = value",
		file + ":2: data: this file is looked for in the data folder, so it cannot name another: use --data, PERCACHED_DATA, or a file elsewhere with --config",
		file + ":1: k: 0 is not between 1 and 64",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("%v", err)
	}
	if _, err := loadConfig(file, data, nil); err == nil || strings.Contains(err.Error(), "cannot name another") {
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
		if _, err := loadConfig("", data, nil); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := loadConfig("", nil, []said{{"data", "", origin{"flag", "--data"}}}); err == nil || err.Error() != "--data: no folder is named (without a home folder, one must be)" {
		t.Errorf("%v", err)
	}
}

// The file in the folder may be a link, as the package's is. If what it names is
// gone, the defaults do not hold: limits would fall, and what is above them go.
func TestConfigOfTheFolderIsALink(t *testing.T) {
	dir, real := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "percached.conf")
	writeFile(t, real, "k = 5\nbank-limit = 1GiB\n")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, configFile)); err != nil {
		t.Skip(err)
	}
	if _, err := printed(t, "spaces", "create", "notes", "--data", dir); err != nil { // it is a new folder all the same
		t.Fatal(err)
	}
	c, err := loadConfig("", []string{"PERCACHED_DATA=" + dir}, nil)
	if err != nil || c.setup().k != 5 || c.setup().bankLimit != 1<<30 {
		t.Errorf("%+v, %v", c, err)
	}
	if out, err := printed(t, "config", "check", "--data", dir); err != nil || !strings.Contains(out, "it sets 2 of") {
		t.Error(out, err)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"spaces", "list"}, {"config", "check"}, {"config", "show"}} {
		if _, err := printed(t, append(args, "--data", dir)...); exitOf(err) != exitMissing || !strings.Contains(err.Error(), configFile) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := printed(t, "config", "init", "--data", dir); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
