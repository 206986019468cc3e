package answer

import (
	"github.com/percached/percached/internal/answer/grounded"
)

// Grounds says what of an answer stands in its documents.
type Grounds struct {
	// Grounded: its numbers, dates and names and at least half of its other words do.
	// An answer that says nothing of its own, as that the documents do not say, is
	// grounded, and so is what the bank has. Only what is grounded is banked.
	Grounded bool
	// Spans are where words of the answer stand in its citations.
	Spans []grounded.Span
	// Missing are words of the answer that were looked for and stand nowhere.
	Missing []string
	// Instead is the best part of the citations, for an answer that is not grounded.
	Instead *grounded.Excerpt
}

// ground holds the answer against what it rests on.
func (r *run) ground() {
	a := &r.answer
	a.Grounds = Grounds{Grounded: true}
	if a.Refused || r.Unchecked || r.work != nil && r.work.Prefill {
		return
	}
	passages := make([]grounded.Passage, len(a.Citations))
	for i, c := range a.Citations {
		passages[i] = grounded.Passage{About: c.About, Quote: c.Quote}
	}
	v := grounded.Check(r.q.wanted(), a.Text, passages)
	a.Spans, a.Missing = v.Spans, v.Missing
	if a.Grounded = v.Grounded || a.Outcome == AnswerHit; a.Grounded {
		return
	}
	if e, ok := grounded.Best(r.q.wanted(), passages); ok {
		a.Instead = &e
	}
}
