package figure

import (
	"fmt"
	"math"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// oneCache is where the time of a question goes with no cache, with stored answers
// alone, and with stored tensors alone.
func oneCache(r *run) ([]Chart, string) {
	names := []string{"naive", "ragcache", "meancache"}
	if len(r.those(names...)) < len(names) {
		return nil, "it takes naive, ragcache and meancache; --systems all has them"
	}
	c := Chart{ID: "one-cache", Title: "One question with one cache: where its time goes"}
	for i := range r.Units {
		u := &r.Units[i]
		naive, tensors, answers := r.answersIn(u, names[0]), r.answersIn(u, names[1]), r.answersIn(u, names[2])
		for q := range min(len(naive), len(tensors), len(answers)) {
			if naive[q].failed() || tensors[q].failed() || tensors[q].answer.Outcome != client.OutcomeTensorHit || !answers[q].served() {
				continue
			}
			c.Note = fmt.Sprintf("Question %d of user %s, repeat %d: the first one for which ragcache had tensors and meancache an answer.",
				naive[q].question.Number, u.User, u.Repeat)
			c.Panels = through(names, []*eval.Answer{naive[q].answer, tensors[q].answer, answers[q].answer})
			return []Chart{c}, ""
		}
	}
	c.Note = "No question hit in both caches: bars are means over the questions that hit in each, and for naive over all."
	var at []*eval.Answer
	for _, name := range names {
		var list []asked
		for _, a := range r.answers(name, "") {
			if !a.failed() && (name == names[0] || a.answer.Outcome != client.OutcomeMiss) {
				list = append(list, a)
			}
		}
		at = append(at, meanStages(list))
		if len(list) == 0 {
			c.Note += fmt.Sprintf(" %s had no hit.", name)
		}
	}
	if at[0] == nil || at[1] == nil && at[2] == nil {
		return nil, "no question hit in ragcache or meancache"
	}
	c.Panels = through(names, at)
	return []Chart{c}, ""
}

// walked is one question on its way through systems, on one time line.
func walked(r *run) ([]Chart, string) {
	names := r.those("naive", "percache", "percached")
	if len(names) < 2 {
		return nil, "it takes two of naive, percache and percached; --systems all has them"
	}
	var at []*eval.Answer
	why, best := "", 0
	// Tensors show more of the way than an answer that was stored.
	for i := range r.Units {
		u := &r.Units[i]
		for q := range u.Asked {
			var some []*eval.Answer
			worth := 1
			for _, name := range names {
				list := r.answersIn(u, name)
				if q >= len(list) || list[q].failed() {
					worth = 0
					break
				}
				some = append(some, list[q].answer)
				switch list[q].answer.Outcome {
				case client.OutcomeTensorHit:
					worth += 3
				case client.OutcomeAnswerHit:
					worth += 2
				}
			}
			if worth > best {
				best, at = worth, some
				why = fmt.Sprintf("Question %d of user %s, repeat %d.", u.Asked[q].Number, u.User, u.Repeat)
			}
		}
	}
	if at == nil {
		return nil, "no question was answered by all of naive, percache and percached"
	}
	c := Chart{ID: "one-question", Title: "One question on its way, stage by stage", Note: why}
	for i, name := range names {
		c.Note += fmt.Sprintf(" %s: %s, %d of %d tokens reused.", name, words(at[i].Outcome), at[i].Tokens.Reused, at[i].Tokens.Prompt)
	}
	c.Panels = through(names, at)
	return []Chart{c}, ""
}

// through is a bar for each system, stage behind stage, with a tick at the first token.
func through(names []string, at []*eval.Answer) []Panel {
	p := Panel{XLabel: "ms", Kind: Stacked, Horizontal: true, Numbers: true, Labels: names, Series: stacked(at)}
	first := Series{Name: "first token", Colour: rgb(ink), Mark: true}
	for _, a := range at {
		v := math.NaN()
		if a != nil {
			v = a.FirstMS
		}
		first.Y = append(first.Y, v)
	}
	p.Series = append(p.Series, first)
	panels := []Panel{p}
	prune(panels)
	return panels
}

func words(o client.Outcome) string {
	switch o {
	case client.OutcomeAnswerHit:
		return "a stored answer"
	case client.OutcomeTensorHit:
		return "stored tensors"
	}
	return "a miss"
}
