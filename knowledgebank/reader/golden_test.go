package reader

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

var update = flag.Bool("update", false, "write what the readers give for testdata/in to testdata/want")

// Every invented file in testdata/in yields the text in testdata/want.
func TestGolden(t *testing.T) {
	r := newReader(t, Default())
	files, err := os.ReadDir("testdata/in")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, d := range files {
		t.Run(d.Name(), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/in", d.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got := story(t, r, d.Name(), data)
			want := filepath.Join("testdata/want", d.Name()+".txt")
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(expected), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := story(t, r, d.Name(), data); again != got {
				t.Error("read again, it gives something else")
			}
		})
	}
}

func newReader(t testing.TB, o Options) *Reader {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// story describes the result of reading a file.
func story(t testing.TB, r *Reader, name string, data []byte) string {
	t.Helper()
	var b strings.Builder
	err := r.Stream(context.Background(), name, strings.NewReader(string(data)), func(s *knowledgebank.Source) error {
		tell(&b, s)
		fit(t, s)
		return nil
	}, func(name string, err error) {
		fmt.Fprintf(&b, "failed: %s (%v)\n", name, fault.KindOf(err))
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tell(b *strings.Builder, s *knowledgebank.Source) {
	fmt.Fprintf(b, "key: %s\ntitle: %s\nsource: %s\nformat: %s\n", s.Key, s.Title, s.Source, s.Format)
	if !s.Date.IsZero() {
		fmt.Fprintf(b, "date: %s\n", s.Date.Format(time.RFC3339))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	for _, block := range s.Blocks {
		b.WriteString("\n")
		if block.Part != "" {
			fmt.Fprintf(b, "{%s}\n", block.Part)
		}
		if block.At != "" || block.Speaker != "" {
			fmt.Fprintf(b, "[%s] %s: ", block.At, block.Speaker)
		}
		b.WriteString(block.Text + "\n")
	}
	b.WriteString("\n====\n")
}
