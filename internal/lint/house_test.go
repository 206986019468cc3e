package lint

import (
	"os"
	"testing"
	"testing/fstest"
)

// The whole repository keeps every rule.
func TestHouse(t *testing.T) {
	tree, err := Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if tree.file("go.mod") == nil || tree.file("internal/lint/house_test.go") == nil {
		t.Fatal("this is not the repository")
	}
	for _, f := range Check(tree, Rules()) {
		t.Error(f)
	}
}

// A tree that cannot be read rightly is an error, not a tree without findings.
func TestReadRefuses(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"no .gitignore":               {"a.go": {Data: []byte("package a\n")}},
		"a .gitignore it cannot read": {".gitignore": {Data: []byte("a/**/b\n")}},
		"Go that is none":             {".gitignore": {}, "a.go": {Data: []byte("package\n")}},
	} {
		if _, err := Read(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
