package calibrate

import (
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
)

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

// FormResults judges the packed forms. Like placements, they are judged at a few fixed
// numbers of trials. A form about which the maximum number decides nothing is not used.
func (r *Record) FormResults() []FormResult {
	var out []FormResult
	for _, f := range percached.Forms()[1:] {
		out = append(out, r.formResult(f))
	}
	return out
}

func (r *Record) formResult(f percached.Form) FormResult {
	res := FormResult{Form: f}
	var sum, squares float64
	for i, t := range r.Forms {
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
func (r *Record) Form(maxChanged float64) percached.Form {
	best := percached.Exact
	for _, res := range r.FormResults() {
		if res.Allowed && res.Changed() <= maxChanged && res.Form == best+1 { // a form is used only with those before it
			best = res.Form
		}
	}
	return best
}

// FormsOpen is how many questions to compare before the next decision about a form; 0:
// all are decided.
func (r *Record) FormsOpen() int {
	if !slices.ContainsFunc(r.FormResults(), func(f FormResult) bool { return !f.Decided }) {
		return 0
	}
	for _, n := range decisionPoints() {
		if len(r.Forms) < n {
			return n - len(r.Forms)
		}
	}
	return 0
}

// AddForm records the comparison of forms on one question, and where the search for the
// next question continues. A trial of nil records a useless question.
func (b *Book) AddForm(s Subject, t FormTrial, cursor string, now time.Time) (Record, error) {
	return b.change("calibrate.AddForm", s, func(r *Record) {
		if r.FormCursor, r.FormsLacking = cursor, 0; t != nil {
			r.Forms = append(slices.Clone(r.Forms), t)
		}
		if r.Verdict == "" {
			r.Verdict = Pending
		}
		if r.Decided.IsZero() && r.FormsOpen() == 0 {
			r.Decided = now.UTC() // the oldest decisions are deleted first
		}
	})
}

// EndForms records that this many chunks contain no further question.
func (b *Book) EndForms(s Subject, chunks int) (Record, error) {
	return b.change("calibrate.EndForms", s, func(r *Record) {
		if r.FormCursor, r.FormsLacking = "", chunks; r.Verdict == "" {
			r.Verdict = Pending
		}
	})
}
