package kvtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Files is a folder as it lies on the disk: content by path.
type Files map[string][]byte

// ReadFiles reads all files of a folder and of those in it.
func ReadFiles(t testing.TB, dir string) Files {
	t.Helper()
	all := Files{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			all[name], err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// Write writes the files into a fresh folder. Zeros at the end of a file take no
// disk.
func (f Files) Write(t testing.TB, dir string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, b := range f {
		path := filepath.Join(dir, name)
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, bytes.TrimRight(b, "\x00"), 0o600), os.Truncate(path, int64(len(b))),
		); err != nil {
			t.Fatal(err)
		}
	}
}

// Harm is one way to damage a file.
type Harm struct {
	Name string
	Do   func(path string) error
}

// Harms are the ways to damage a file with this content: cut at four places, one bit
// flipped at ten, removed. Zeros at the end, which were never written, are not worth
// a flip.
func Harms(b []byte) (all []Harm) {
	size, filled := len(b), len(bytes.TrimRight(b, "\x00"))
	for _, at := range slices.Compact([]int{0, 1, size / 2, size - 1}) {
		if at >= 0 && at < size {
			all = append(all, Harm{fmt.Sprintf("cut at %d of %d", at, size), func(path string) error { return os.Truncate(path, int64(at)) }})
		}
	}
	var flips []int
	for i := range 10 {
		flips = append(flips, i*(filled-1)/9)
	}
	for _, at := range slices.Compact(flips) {
		if at >= 0 && filled > 0 {
			all = append(all, Harm{fmt.Sprintf("bit flipped at %d of %d", at, size), func(path string) error { return flip(path, at) }})
		}
	}
	return append(all, Harm{"removed", os.Remove})
}

func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[at] ^= 1 << (at % 8)
	return os.WriteFile(path, b, 0o600)
}
