package calibrate

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
)

// Subject is what a placement is decided for.
type Subject struct {
	Model  string `json:"model"`  // its fingerprint
	Prompt string `json:"prompt"` // a hash of what stands around chunks and questions
	Kind   string `json:"kind"`   // of documents
}

// Trial is a question that was answered in both placements: how well each answer
// agrees with the documents, from 0 to 1.
type Trial struct {
	Sequential float64 `json:"sequential"`
	Parallel   float64 `json:"parallel"`
}

// Verdict is what trials say.
type Verdict string

// The verdicts.
const (
	Pending    Verdict = "pending"    // more questions are to be compared
	Sequential Verdict = "sequential" // side by side, answers are worse
	Parallel   Verdict = "parallel"   // side by side, answers are as good
	Undecided  Verdict = "undecided"  // as many questions as are compared say neither
)

// Record is what is known of a subject.
type Record struct {
	Subject
	Verdict Verdict   `json:"verdict"`
	Decided time.Time `json:"decided,omitzero"`
	Trials  []Trial   `json:"trials"`
	// Family says that models of this family were found to answer as well from chunks side
	// by side, on questions with known answers. It takes more to say otherwise.
	Family bool `json:"family,omitempty"`
	// Cursor is where the search for questions stands, in the words of who searches.
	Cursor string `json:"cursor,omitempty"`
	// Lacking is how many chunks there were when no further question was found.
	Lacking int `json:"lacking,omitempty"`
}

const (
	tolerated = 0.10 // of F1 may be lost
	// quantile of the normal distribution. Three looks at the same trials, each wrong
	// with 3.3 %, are together wrong with at most 10 %.
	quantile = 1.834
	// strict is the one for 99 % confidence.
	strict = 2.713
)

// looks are the numbers of trials after which it is decided, if they suffice.
func looks() []int { return []int{24, 48, 96} }

// Most is the number of trials after which no more are made.
func Most() int { return slices.Max(looks()) }

// Next is the number of trials after which the record is looked at again.
func (r *Record) Next() int {
	for _, n := range looks() {
		if len(r.Trials) < n {
			return n
		}
	}
	return Most()
}

// Means are how well the answers of both placements agree with the documents.
func (r *Record) Means() (sequential, parallel float64) {
	for _, t := range r.Trials {
		sequential += t.Sequential
		parallel += t.Parallel
	}
	n := float64(max(1, len(r.Trials)))
	return sequential / n, parallel / n
}

// judge looks at the trials. They are looked at after each of a few fixed numbers and
// when there will be no more: who looks after each finds anything in the end.
func (r *Record) judge(noMore bool) Verdict {
	n := len(r.Trials)
	if n < looks()[0] || !noMore && !slices.Contains(looks(), n) {
		return Pending
	}
	var sum, squares float64
	for _, t := range r.Trials {
		d := t.Parallel - (1-tolerated)*t.Sequential
		sum += d
		squares += d * d
	}
	mean := sum / float64(n)
	deviation := math.Sqrt(max(0, squares-sum*mean) / float64(n-1) / float64(n))
	against := quantile
	if r.Family {
		against = strict
	}
	switch {
	case mean-quantile*deviation > 0:
		return Parallel
	case mean+against*deviation < 0:
		return Sequential
	case noMore || n >= Most():
		return Undecided
	}
	return Pending
}

// Placement is the one that was decided for; false: none was.
func (r *Record) Placement() (percached.Placement, bool) {
	switch r.Verdict {
	case Parallel:
		return percached.Parallel, true
	case Sequential:
		return percached.Sequential, true
	}
	return percached.Sequential, false
}

// Why says in words what the verdict rests on.
func (r *Record) Why() string {
	n := len(r.Trials)
	s, p := r.Means()
	measured := fmt.Sprintf("%d questions over %s were answered with chunks side by side and one after the other: F1 against the documents is %.3f and %.3f", n, r.Kind, p, s)
	switch r.Verdict {
	case Parallel:
		return measured + "; with 90 % confidence it is at most 10 % lower"
	case Sequential:
		confidence := 90
		if r.Family {
			confidence = 99
		}
		return measured + fmt.Sprintf("; with %d %% confidence it is more than 10 %% lower", confidence)
	case Undecided:
		return measured + "; that does not settle whether it is more than 10 % lower"
	}
	if r.Lacking > 0 {
		return fmt.Sprintf("%d questions were found in the documents, and %d are needed", n, r.Next())
	}
	return fmt.Sprintf("%d questions of at least %d were compared so far", n, r.Next())
}
