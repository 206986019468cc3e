package node

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
)

// busySys is a machine whose processors use 1 J between two reads.
type busySys struct {
	fstest.MapFS
	joules int
}

func (s *busySys) Open(name string) (fs.File, error) {
	if path.Base(name) == "energy_uj" {
		s.joules++
		s.MapFS[name] = &fstest.MapFile{Data: []byte(strconv.Itoa(s.joules * 1e6))}
	}
	return s.MapFS.Open(name)
}

// An answer has its energy on a machine that measures it, and none on another.
func TestAnswersHaveTheirEnergy(t *testing.T) {
	for name, tc := range map[string]struct {
		sys   fs.FS
		known bool
	}{
		"with counters": {&busySys{MapFS: fstest.MapFS{"class/powercap/intel-rapl:0/energy_uj": &fstest.MapFile{Data: []byte("0")}}}, true},
		"without":       {fstest.MapFS{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := Default()
			c.Create, c.Data, c.Volatile = true, t.TempDir(), true
			c.Engine, c.Embedder = llmtest.NewFake(llmtest.DefaultOptions()), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
			c.Now, c.deviceFS = func() time.Time { return time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC) }, tc.sys
			n, err := Open(t.Context(), c, true, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = n.Close() }()
			if err := n.Knowledge.CreateSpace(percached.Space{Name: "s", Kind: "notes"}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Library.Add(t.Context(), "s", func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
				return emit(&knowledgebank.Source{Key: "a", Title: "Heron", Format: "text", Blocks: []knowledgebank.Block{{Text: "The budget for Heron is $46,000."}}})
			}, nil); err != nil {
				t.Fatal(err)
			}
			a, err := n.Asker.Ask(t.Context(), answer.Question{Space: "s", Text: "What is the budget for Heron?"}, answer.Listener{})
			if err != nil || (a.Joules != nil) != tc.known {
				t.Errorf("%v: %+v", err, a.Joules)
			}
		})
	}
}
