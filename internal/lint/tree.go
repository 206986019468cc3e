package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Tree is a parsed source tree.
type Tree struct {
	Files []*File // by path
	fset  *token.FileSet
}

// File is one text file of a tree.
type File struct {
	Path string // with slashes, from the root of the tree
	Data []byte
	Go   *ast.File // nil unless it is Go source
}

// Finding is one violation of a rule.
type Finding struct {
	Rule, Path string
	Line       int // 0: the whole file or folder
	Text       string
}

func (f Finding) String() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d: %s (%s)", f.Path, f.Line, f.Text, f.Rule)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Path, f.Text, f.Rule)
}

// Read reads a source tree: every text file that .gitignore does not exclude. It does not parse
// files in testdata.
func Read(fsys fs.FS) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	ignored, err := ignore(fsys)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored(p, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			return err
		}
		f := &File{Path: p, Data: data}
		if path.Ext(p) == ".go" && !strings.Contains("/"+p, "/testdata/") {
			f.Go, err = parser.ParseFile(t.fset, p, data, parser.ParseComments|parser.SkipObjectResolution)
		}
		t.Files = append(t.Files, f)
		return err
	})
	return t, err
}

// ignore supports two forms of .gitignore lines: /folder/ and *.ending. It always excludes
// .git.
func ignore(fsys fs.FS) (func(p string, dir bool) bool, error) {
	data, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil {
		return nil, err
	}
	folders, endings := map[string]bool{".git": true}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "*."):
			endings[line[1:]] = true
		case line[0] == '/' && strings.HasSuffix(line, "/"):
			folders[strings.Trim(line, "/")] = true
		default:
			return nil, fmt.Errorf(".gitignore: %q is neither /folder/ nor *.ending", line)
		}
	}
	return func(p string, dir bool) bool {
		if dir {
			return folders[p]
		}
		return endings[path.Ext(p)] || p == ".git" // .git is a file in a linked work tree
	}, nil
}

// Folder returns the folder of the file, "." for the root.
func (f *File) Folder() string { return path.Dir(f.Path) }

// Test says whether the file is a Go test.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Generated says whether the file declares that it is generated.
func (f *File) Generated() bool {
	if f.Go != nil {
		return ast.IsGenerated(f.Go)
	}
	head, _, _ := bytes.Cut(f.Data, []byte("\n"))
	return bytes.Contains(head, []byte("Code generated")) && bytes.Contains(head, []byte("DO NOT EDIT"))
}

// file returns the file with this path, or nil.
func (t *Tree) file(p string) *File {
	for _, f := range t.Files {
		if f.Path == p {
			return f
		}
	}
	return nil
}

// code calls visit for each Go file that is neither generated nor a test.
func (t *Tree) code(visit func(f *File)) {
	for _, f := range t.Files {
		if f.Go != nil && !f.Test() && !f.Generated() {
			visit(f)
		}
	}
}

func (t *Tree) line(n ast.Node) int { return t.fset.Position(n.Pos()).Line }
