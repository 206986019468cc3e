package reader

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/knowledgebank"
)

const demo = "../../models/demo"

// The demo inbox is read completely: each answer to its questions is in one line of the
// document that the question names.
func TestDemo(t *testing.T) {
	found := map[string]*knowledgebank.Source{}
	mails := 0
	for _, path := range []string{"inbox.mbox", "meetings"} {
		err := newReader(t, Default()).Path(context.Background(), filepath.Join(demo, path), func(s *knowledgebank.Source) error {
			fit(t, s)
			if s.Date.Year() != 2025 {
				t.Errorf("%s is of %v", s.Key, s.Date)
			}
			if len(s.Notes) > 0 {
				t.Errorf("%s: %v", s.Key, s.Notes)
			}
			id, mail := strings.CutPrefix(s.Key, "mail:")
			if mail {
				mails++
				if name, ok := strings.CutPrefix(s.Source, "mail from "); !ok || strings.Contains(name, "@") {
					t.Errorf("%s is %q", s.Key, s.Source)
				}
			} else if id = filepath.Base(s.Path); s.Source != "meeting" || s.Blocks[0].Speaker == "" || s.Blocks[0].At == "" {
				t.Errorf("%s: %q, first block %+v", s.Key, s.Source, s.Blocks[0])
			}
			found[id] = s
			return nil
		}, func(name string, err error) { t.Errorf("%s: %v", name, err) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if mails != 62 || len(found) != 65 {
		t.Fatalf("%d mails of %d documents", mails, len(found))
	}
	questions, err := os.ReadFile(filepath.Join(demo, "questions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(questions)) {
		var q struct{ Document, Answer string }
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		s := found[q.Document]
		if s == nil {
			t.Errorf("no document %s", q.Document)
			continue
		}
		said := false
		for _, b := range s.Blocks {
			for l := range strings.Lines(b.Text) {
				said = said || strings.Contains(l, q.Answer)
			}
		}
		if !said {
			t.Errorf("%s does not say %q", q.Document, q.Answer)
		}
	}
}
