package models_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/models"
)

func TestNanoIsAModel(t *testing.T) {
	path, err := models.Nano(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CheckModel(); err != nil {
		t.Error(err)
	}
	if got := f.Architecture(); got != "llama" {
		t.Errorf("architecture %q", got)
	}
	if got, _ := f.Uint("llama.context_length"); got < 2048 {
		t.Errorf("context of %d", got)
	}
}

func TestNanoIsWrittenOnceAndMended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path, err := models.Nano(dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.Nano(dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("a whole file was written again")
	}
	if err := os.WriteFile(path, whole[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := models.Nano(dir); err != nil || again != path {
		t.Fatalf("%s, %v", again, err)
	}
	if mended, err := os.ReadFile(path); err != nil || string(mended) != string(whole) {
		t.Errorf("a cut file was not mended: %d bytes of %d, %v", len(mended), len(whole), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files in the folder, %v", len(left), err)
	}
}

func TestNanoWithoutAPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Nano(filepath.Join(file, "folder")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("in a file's place: %v", err)
	}
}
