package persona_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
)

// The real bank takes every document, and its chunks leave facts whole: the
// model finds in one of them what a question expects, and sums it up.
func TestChunks(t *testing.T) {
	for _, name := range []string{"typical", "meetings"} {
		t.Run(name, func(t *testing.T) {
			p := find(t, name)
			month := persona.New(p, 11, start)
			m := newModel(t, month)
			bank := newBank(t, p.Space)
			summed, asked := 0, 0
			chunks := map[string][]string{}
			for _, e := range month.Events() {
				switch {
				case e.Kind == persona.Arrives:
					change, err := bank.Add(context.Background(), "s", e.Source)
					if err != nil || change.State == knowledgebank.Unchanged {
						t.Fatalf("%s: %v, %v", e.Key, change.State, err)
					}
					d, err := bank.Document("s", change.Document)
					if err != nil {
						t.Fatal(err)
					}
					found, err := bank.Chunks("s", d.Chunks)
					if err != nil {
						t.Fatal(err)
					}
					chunks[e.Key] = nil
					for _, c := range found {
						chunks[e.Key] = append(chunks[e.Key], c.Rendered())
					}
				case e.Kind == persona.Asked && e.Expect.Document != "":
					asked++
					i := slices.IndexFunc(chunks[e.Expect.Document], func(c string) bool {
						return strings.Contains(strings.ToLower(m.ask(e.Question, c)), strings.ToLower(e.Expect.Answer))
					})
					if i < 0 {
						t.Errorf("%q: no chunk says %s", e.Question, e.Expect.Answer)
						continue
					}
					sum := m.ask(strings.ReplaceAll(m.prompts["ABSTRACT"], "{text}", strings.TrimSuffix(strings.TrimSpace(chunks[e.Expect.Document][i]), ".")))
					if strings.Contains(sum, e.Expect.Answer) {
						summed++
					}
				}
			}
			if asked == 0 || float64(summed) < 0.85*float64(asked) {
				t.Errorf("%d of %d answers stand in the summary of their chunk", summed, asked)
			}
		})
	}
}

func newBank(t *testing.T, kind string) *knowledgebank.Bank {
	t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := bank.CreateSpace(percached.Space{Name: "s", Kind: kind}); err != nil {
		t.Fatal(err)
	}
	return bank
}
