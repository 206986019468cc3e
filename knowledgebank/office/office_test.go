package office

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

var update = flag.Bool("update", false, "write what is read in testdata to the texts beside it")

// readAll reads a file within limits.
func readAll(t testing.TB, data []byte, o Options) (Document, error) {
	t.Helper()
	files, err := NewFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	return files.Read(context.Background(), data)
}

// story shows a document.
func story(d Document, err error) string {
	var b strings.Builder
	for _, f := range []struct{ name, text string }{{"format", d.Format}, {"title", d.Title}, {"author", d.Author}} {
		if f.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.text)
		}
	}
	if !d.Date.IsZero() {
		fmt.Fprintf(&b, "date: %s\n", d.Date.Format("2006-01-02 15:04"))
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range d.Parts {
		if p.Name != "" {
			fmt.Fprintf(&b, "\n== %s\n", p.Name)
		}
		for _, text := range p.Paragraphs {
			b.WriteString("\n" + text + "\n")
		}
		if p.Page != nil {
			fmt.Fprintf(&b, "\n%s\n", p.Page)
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "\n%v: %v\n", fault.KindOf(err), err)
	}
	return b.String()
}

// Files of programs that people use give the texts beside them.
func TestWriters(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if end := filepath.Ext(name); end == ".txt" || end == ".md" {
			continue
		}
		n++
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := story(readAll(t, data, Default()))
			want := name + ".txt"
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(expected), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if n < 8 {
		t.Errorf("%d files", n)
	}
}
