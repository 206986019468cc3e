package calibrate

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
)

// FormTrials are questions answered from packed tensors in one placement.
type FormTrials struct {
	Trials []FormTrial `json:"trials,omitempty"`
	// Cursor is where the search for questions continues; only the searcher reads it.
	Cursor string `json:"cursor,omitempty"`
	// Lacking is how many chunks there were when no further question was found.
	Lacking int `json:"lacking,omitempty"`
}

// FormTrial is a question answered from packed tensors in each form.
type FormTrial map[percached.Form]FormLoss

// FormLoss is how an answer from packed tensors differs from the exact one.
type FormLoss struct {
	Same bool `json:"same"` // the two are equal to the letter
	// Nats is by how much the predictions of the next token are worse.
	Nats float64 `json:"nats"`
}

// toleratedNats is the maximum mean loss of a form that is used: the right token then has
// 2 % less probability.
const toleratedNats = 0.02

// FormResult is what the trials say about a form.
type FormResult struct {
	Form      percached.Form
	Questions int
	Same      int     // equal answers
	Nats      float64 // mean loss
	Decided   bool
	Allowed   bool // the loss is small; only if decided
}

// Changed is the share of answers that differ from the exact ones.
func (r FormResult) Changed() float64 {
	return float64(r.Questions-r.Same) / float64(max(1, r.Questions))
}

// Results judges the packed forms. Like placements, they are judged at a few fixed
// numbers of trials. A form about which the maximum number decides nothing is not used.
func (r FormTrials) Results() []FormResult {
	var out []FormResult
	for _, f := range percached.Forms()[1:] {
		out = append(out, r.result(f))
	}
	return out
}

func (r FormTrials) result(f percached.Form) FormResult {
	res := FormResult{Form: f}
	var sum, squares float64
	for i, t := range r.Trials {
		loss, ok := t[f]
		if !ok {
			continue
		}
		res.Questions++
		if loss.Same {
			res.Same++
		}
		sum, squares = sum+loss.Nats, squares+loss.Nats*loss.Nats
		if res.Decided || !slices.Contains(decisionPoints(), i+1) {
			continue
		}
		n := float64(res.Questions)
		deviation := math.Sqrt(max(0, squares-sum*sum/n) / (n - 1) / n)
		switch mean := sum / n; {
		case mean+quantile*deviation < toleratedNats:
			res.Decided, res.Allowed = true, true
		case mean-quantile*deviation > toleratedNats, i+1 == MaxTrials():
			res.Decided = true
		}
	}
	res.Nats = sum / float64(max(1, res.Questions))
	return res
}

// Form is the least exact form whose tensors may serve answers, if they may change this
// share of them: Exact, until one is allowed.
func (r FormTrials) Form(maxChanged float64) percached.Form {
	best := percached.Exact
	for _, res := range r.Results() {
		if res.Allowed && res.Changed() <= maxChanged && res.Form == best+1 { // a form is used only with those before it
			best = res.Form
		}
	}
	return best
}

// Open is how many questions to compare before the next decision about a form; 0:
// all are decided.
func (r FormTrials) Open() int {
	if !slices.ContainsFunc(r.Results(), func(f FormResult) bool { return !f.Decided }) {
		return 0
	}
	for _, n := range decisionPoints() {
		if len(r.Trials) < n {
			return n - len(r.Trials)
		}
	}
	return 0
}

// AddForm records the comparison of forms on one question in a placement, and where the search
// for the next question continues. A trial of nil records a useless question.
func (b *Book) AddForm(s Subject, p percached.Placement, t FormTrial, cursor string, now time.Time) (Record, error) {
	return b.changeForms("calibrate.AddForm", s, p, func(r *Record, f *FormTrials) {
		if f.Cursor, f.Lacking = cursor, 0; t != nil {
			f.Trials = append(slices.Clone(f.Trials), t)
		}
		if r.Decided.IsZero() && f.Open() == 0 {
			r.Decided = now.UTC() // the oldest decisions are deleted first
		}
	})
}

// EndForms records that this many chunks contain no further question.
func (b *Book) EndForms(s Subject, p percached.Placement, chunks int) (Record, error) {
	return b.changeForms("calibrate.EndForms", s, p, func(_ *Record, f *FormTrials) { f.Cursor, f.Lacking = "", chunks })
}

// changeForms changes what is known about the forms of a placement.
func (b *Book) changeForms(op string, s Subject, p percached.Placement, fn func(*Record, *FormTrials)) (Record, error) {
	return b.change(op, s, func(r *Record) {
		if r.Verdict == "" {
			r.Verdict = Pending
		}
		f := r.Forms[p]
		fn(r, &f)
		if r.Forms = maps.Clone(r.Forms); r.Forms == nil {
			r.Forms = map[percached.Placement]FormTrials{}
		}
		r.Forms[p] = f
	})
}
