package idle_test

import (
	"strings"
	"testing"

	"github.com/percached/percached"
)

// Idle work banks no answer that stands in no document: neither a predicted
// question's, nor one of stored tensors, nor in place of a stale one. Nor does it try
// again and again.
func TestUngroundedIsNotKept(t *testing.T) {
	const asked, predicted = "What is the budget of Heron?", "Where does the Heron committee meet?"
	for _, when := range []string{"predicted", "converted", "refreshed"} {
		t.Run(when, func(t *testing.T) {
			invents := when == "predicted"
			high, low := 0.95, 0.85
			b := newBench(t, func(b *bench) { b.checked = true })
			b.says = func(question string) (string, bool) {
				if text, ok := b.model(question); ok {
					return text, true
				}
				if invents {
					return "Margit Ayre", true
				}
				return "Heron has a committee and an office.", true // its letter's words
			}
			b.add("Heron", "The committee and the office of Heron meet. Its budget is told.")
			switch when {
			case "predicted":
				b.predicts = [][]string{{predicted}}
			case "converted":
				b.want(func(s *percached.Settings) { s.Threshold = &high })
				b.predicts = [][]string{{predicted}}
				b.rest()
				if got := b.entries()[predicted]; got != "prefilled, predicted" {
					t.Fatal(got)
				}
				b.want(func(s *percached.Settings) { s.Threshold = &low })
			case "refreshed":
				if a := b.ask(asked); !a.Grounded {
					t.Fatalf("%+v", a.Grounds)
				}
				b.add("Heron", "The committee and the office of Heron meet. Its budget is told, and grows.")
			}
			invents = true
			b.rest()
			for q, state := range b.entries() {
				if strings.HasPrefix(state, "answered") || when != "predicted" {
					t.Errorf("%s: %s", q, state)
				}
			}
			before := len(b.ended)
			b.rest()
			if n := len(b.ended) - before; n > 0 {
				t.Errorf("%d steps more: %+v", n, b.ended[before:])
			}
		})
	}
}
