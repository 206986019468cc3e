package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/eval/measure"
)

// Bank sums up the answers served from the bank. A question counts once: as served, wrong
// or of other text if it was so in any repeat.
type Bank struct {
	Servings int   `json:"servings"` // with repeats
	Served   int   `json:"served"`   // questions
	Checked  int   `json:"checked"`  // served questions whose uncached answer is known
	Wrong    *Rate `json:"wrong,omitempty"`
	// OtherText counts checked questions whose answer is not exactly the uncached one. It
	// is an upper bound for Wrong.
	OtherText *Rate         `json:"other_text,omitempty"`
	Same      int           `json:"same_words"`  // served: the stored question has the same words
	Other     int           `json:"other_words"` // served: the stored question has other words, in any repeat
	Refused   int           `json:"refused"`     // served: the answer is that the documents do not say
	Origins   []Origin      `json:"origins"`
	Named     []QuestionRef `json:"named"` // the wrong answers: their origin, and the kinds of facts that differ
}

// sameWords is the similarity of a question to itself, less rounding.
const sameWords = 1 - 1e-6

// Origin sums up the served entries of one origin.
type Origin struct {
	Origin string `json:"origin"`
	Served int    `json:"served"`
	Wrong  *Rate  `json:"wrong,omitempty"`
}

// QuestionRef names a question.
type QuestionRef struct {
	User       string `json:"user"`
	Number     int    `json:"number"`
	Paraphrase int    `json:"paraphrase,omitempty"`
	Repeat     int    `json:"repeat"`
	Reason     string `json:"reason,omitempty"`
}

func (a *response) named(reason string) QuestionRef {
	return QuestionRef{a.key.user, a.key.number, a.key.paraphrase, a.repeat, reason}
}

// bank sums up what was served from the bank. It cannot know which answers are wrong if
// answers mean nothing or there is no uncached answer.
func bank(responses []response) Bank {
	checked := func(a *response) bool { return a.served() && a.uncachedScores != nil }
	wrong := func(a *response) bool { return a.wrong }
	out := Bank{
		Served: distinct(responses, (*response).served), Checked: distinct(responses, checked), Origins: []Origin{}, Named: []QuestionRef{},
	}
	out.Other = distinct(responses, func(a *response) bool { return a.served() && a.answer.Similarity < sameWords })
	out.Same = out.Served - out.Other
	out.Refused = distinct(responses, func(a *response) bool { return a.served() && a.answer.Refused })
	out.Wrong = rateOf(distinct(responses, wrong), out.Checked)
	out.OtherText = rateOf(distinct(responses, func(a *response) bool { return checked(a) && a.answer.Text != a.uncached.Text }), out.Checked)
	by := map[string][]response{}
	for i := range responses {
		a := &responses[i]
		if a.served() {
			out.Servings++
			origin := cmp.Or(a.answer.Origin, "unknown")
			by[origin] = append(by[origin], *a)
		}
		if a.wrong {
			facts := strings.Join(measure.Differs(a.answer.Text, a.uncached.Text), ", ")
			out.Named = append(out.Named, a.named(cmp.Or(a.answer.Origin, "unknown")+": "+facts))
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(by)) {
		own := by[origin]
		out.Origins = append(out.Origins, Origin{
			origin, distinct(own, (*response).served), rateOf(distinct(own, wrong), distinct(own, checked)),
		})
	}
	return out
}

// wrongs counts the questions that got a wrong answer; false: unknown, because some could
// not be checked.
func (b *Bank) wrongs() (int, bool) {
	switch {
	case b.Served == 0:
		return 0, true
	case b.Wrong == nil || b.Wrong.Count == 0 && b.Checked < b.Served:
		return 0, false
	default:
		return b.Wrong.Count, true
	}
}

// Check compares computed answers with those of the reference. Stored tensors must not
// change an answer.
type Check struct {
	Compared int           `json:"compared"` // answers, with repeats
	Differ   int           `json:"differ"`
	Share    float64       `json:"share"`
	Named    []QuestionRef `json:"named"`
}

// check is nil if no computed answer has one to compare with.
func check(responses []response) *Check {
	c := &Check{Named: []QuestionRef{}}
	for i := range responses {
		a := &responses[i]
		if !a.computed() || a.uncached == nil {
			continue
		}
		c.Compared++
		if a.answer.Text != a.uncached.Text {
			c.Differ++
			c.Named = append(c.Named, a.named(string(a.answer.Outcome)))
		}
	}
	if c.Compared == 0 {
		return nil
	}
	c.Share = per(c.Differ, c.Compared)
	return c
}
