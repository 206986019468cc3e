package lint

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// architecture is what docs/architecture.md says of the packages.
type architecture struct {
	storeys [][]string // packages of the figure, the highest storey first
	rows    []string   // packages of the table
}

// readArchitecture reads the figure and the table below the heading Packages.
func readArchitecture(page string) (a architecture) {
	_, page, _ = strings.Cut(page, "\n## Packages\n")
	page, _, _ = strings.Cut(page, "\n## ")
	before, figure, _ := strings.Cut(page, "\n```\n")
	figure, after, _ := strings.Cut(figure, "\n```\n")
	for line := range strings.Lines(figure) {
		a.storeys = append(a.storeys, strings.Fields(line)[1:])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(before+after, -1) {
		a.rows = append(a.rows, m[1])
	}
	return a
}

// find returns the storey and the name in the figure of a folder.
func (a architecture) find(folder string) (storey int, name string) {
	for i, names := range a.storeys {
		for _, name := range names {
			if within(folder, name) {
				return i, name
			}
		}
	}
	return -1, ""
}

// The figure in docs/architecture.md has every package, its table has every name of the
// figure, and both the imports and the plan in imports.go go downwards in it.
func TestArchitectureIsDrawn(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	page := readArchitecture(string(text))
	if len(page.storeys) < 5 {
		t.Fatalf("the figure has %d storeys", len(page.storeys))
	}
	var drawn []string
	for _, names := range page.storeys {
		for _, name := range names {
			drawn = append(drawn, strings.TrimSuffix(name, "/..."))
		}
	}
	slices.Sort(drawn)
	slices.Sort(page.rows)
	if !slices.Equal(drawn, page.rows) {
		t.Errorf("the figure has %q, the table has %q", drawn, page.rows)
	}
	goesDown := func(where, from, to string) {
		upper, name := page.find(from)
		lower, other := page.find(to)
		switch {
		case upper < 0:
			t.Errorf("%s: the figure does not have %s", where, from)
		case lower < 0:
			t.Errorf("%s: the figure does not have %s", where, to)
		case lower <= upper && name != other:
			t.Errorf("%s: %s imports %s, which is not on a lower storey of the figure", where, from, to)
		}
	}
	for _, l := range layers() {
		for _, to := range l.may {
			goesDown("imports.go", strings.TrimSuffix(l.folder, "/..."), strings.TrimSuffix(to, "/..."))
		}
	}
	tree, err := Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	tree.code(func(f *File) {
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if to, inside := strings.CutPrefix(name, module); inside && (to == "" || to[0] == '/') {
				goesDown(f.Path, f.Folder(), path.Clean("./"+to))
			}
		}
	})
}
