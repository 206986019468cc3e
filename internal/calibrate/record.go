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
	Prompt string `json:"prompt"` // a hash of the text around chunks and questions
	Kind   string `json:"kind"`   // of documents
}

// Trial is a question answered in both placements: how well each answer agrees with the
// documents, from 0 to 1.
type Trial struct {
	Sequential float64 `json:"sequential"`
	Parallel   float64 `json:"parallel"`
}

// Verdict is the result of the trials.
type Verdict string

// The verdicts.
const (
	Pending    Verdict = "pending"    // more trials are needed
	Sequential Verdict = "sequential" // parallel answers are worse
	Parallel   Verdict = "parallel"   // parallel answers are as good
	Undecided  Verdict = "undecided"  // the maximum number of trials decides neither
)

// Record holds the measurements of a subject.
type Record struct {
	Subject
	Verdict Verdict   `json:"verdict"`
	Decided time.Time `json:"decided,omitzero"`
	Trials  []Trial   `json:"trials"`
	// Family means that models of this family answered as well in parallel, on questions
	// with known answers. A contrary decision then needs more evidence.
	Family bool `json:"family,omitempty"`
	// Cursor is where the search for questions continues; only the searcher reads it.
	Cursor string `json:"cursor,omitempty"`
	// Forms are judged for each placement, because what packing changes differs. Earlier
	// releases stored "forms" without a placement; those are measured again.
	Forms map[percached.Placement]FormTrials `json:"placed_forms,omitempty"`
	// Lacking is how many chunks there were when no further question was found.
	Lacking int `json:"lacking,omitempty"`
}

const (
	tolerated = 0.10 // maximum loss of F1
	// quantile of the normal distribution. Each of the three decision points is wrong
	// with 3.3 %, so all together with at most 10 %.
	quantile = 1.834
	// strict is the quantile for 99 % confidence.
	strict = 2.713
)

// decisionPoints are the numbers of trials after which a decision is attempted.
func decisionPoints() []int { return []int{24, 48, 96} }

// MaxTrials is the maximum number of trials.
func MaxTrials() int { return slices.Max(decisionPoints()) }

// NextDecision is the number of trials at the next decision point.
func (r *Record) NextDecision() int {
	for _, n := range decisionPoints() {
		if len(r.Trials) < n {
			return n
		}
	}
	return MaxTrials()
}

// Means is how well the answers of each placement agree with the documents, on average.
func (r *Record) Means() (sequential, parallel float64) {
	for _, t := range r.Trials {
		sequential += t.Sequential
		parallel += t.Parallel
	}
	n := float64(max(1, len(r.Trials)))
	return sequential / n, parallel / n
}

// judge decides at a few fixed numbers of trials and at their end. Deciding after every
// trial would eventually find any result by chance.
func (r *Record) judge(noMore bool) Verdict {
	n := len(r.Trials)
	if n < decisionPoints()[0] || !noMore && !slices.Contains(decisionPoints(), n) {
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
	case noMore || n >= MaxTrials():
		return Undecided
	}
	return Pending
}

// Placement is the decided placement; false: none.
func (r *Record) Placement() (percached.Placement, bool) {
	switch r.Verdict {
	case Parallel:
		return percached.Parallel, true
	case Sequential:
		return percached.Sequential, true
	}
	return percached.Sequential, false
}

// Why explains the verdict.
func (r *Record) Why() string {
	n := len(r.Trials)
	s, p := r.Means()
	measured := fmt.Sprintf("%d questions over %s were answered in parallel and in sequential placement: F1 against the documents is %.3f and %.3f", n, r.Kind, p, s)
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
		return fmt.Sprintf("the documents gave %d questions, but %d are needed", n, r.NextDecision())
	}
	return fmt.Sprintf("%d of at least %d questions compared so far", n, r.NextDecision())
}
