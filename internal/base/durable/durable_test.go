package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path+Unfinished, []byte("what a crash left, longer than what is written"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "the other", ""} {
		if err := Write(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("read %q, %v; wrote %q", got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil {
		t.Error(err)
	} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, want it for its owner alone", info.Mode())
	}
	if _, err := os.Stat(path + Unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something unfinished is left: %v", err)
	}
}

// A file that cannot be put in its place leaves what is there, and nothing beside it.
func TestWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("text")); err == nil {
		t.Error("a file took the place of a folder")
	}
	if _, err := os.Stat(path + Unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something unfinished is left: %v", err)
	}
	if err := Write(filepath.Join(path, "gone", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	if err := Folder(filepath.Join(path, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the names of a folder that is not there: %v", err)
	}
}
