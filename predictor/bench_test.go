package predictor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/percached/percached"
)

// large is a space of 3,000 documents and 10,000 chunks, with a full abstract.
func large(b *testing.B, limit int64) *world {
	w := start(b)
	w.o.AbstractLimit = limit
	w.reopen(false)
	for d := range 3000 {
		var bodies []string
		for i := range 3 + d%3/2 { // 10,000 in all
			bodies = append(bodies, fmt.Sprintf("Piece %d of %d says a thing or two about the rent, the dinner and the plan for next week.", i, d))
		}
		w.add(fmt.Sprint("Mail ", d), d, bodies...)
	}
	// Pages like the knowledge bank's, without sorting each time.
	w.paged()
	ids, _, err := w.Unsummarised(b.Context(), "mail", 1<<20)
	w.must(err)
	for _, id := range ids {
		if _, err := w.Summarise(b.Context(), "mail", id); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

// paged makes the library return documents from a sorted list.
func (w *world) paged() {
	s := w.lib.spaces["mail"]
	for _, d := range s.documents {
		s.sorted = append(s.sorted, d)
	}
	slices.SortFunc(s.sorted, func(a, b percached.Document) int { return slices.Compare(a.ID[:], b.ID[:]) })
}

func BenchmarkUnsummarised(b *testing.B) {
	for name, limit := range map[string]int64{"whole abstract": 16 << 20, "full abstract of 256 KiB": 256 << 10} {
		b.Run(name, func(b *testing.B) {
			w := large(b, limit)
			b.ReportMetric(float64(w.parts(b)), "parts")
			for b.Loop() {
				if _, _, err := w.Unsummarised(b.Context(), "mail", 64); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func (w *world) parts(b *testing.B) int {
	s, err := w.Stats("mail")
	if err != nil {
		b.Fatal(err)
	}
	return s.Parts
}

func BenchmarkOpen(b *testing.B) {
	w := large(b, 16<<20)
	for b.Loop() {
		w.reopen(false)
	}
}
