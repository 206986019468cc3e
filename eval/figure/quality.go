package figure

import (
	"fmt"
	"strings"

	"github.com/percached/percached/eval/measure"
)

// judged says whether the run's answers can be held against right ones.
func (r *run) judged() bool { return r.unjudged() == "" }

// unjudged says why not.
func (r *run) unjudged() string {
	if r.Run.Plan.NoQuality {
		return "The model's answers mean nothing, so there is no quality."
	}
	for i := range r.Units {
		for _, q := range r.Units[i].Asked {
			if len(q.Gold) > 0 {
				return ""
			}
		}
	}
	return "No question's right answer is known, so there is no quality."
}

// byGold makes of a measure what mean takes: what failed is worth nothing.
func byGold(of func(answer string, gold []string) float64) value {
	return func(a asked) (float64, bool) {
		if len(a.question.Gold) == 0 {
			return 0, false
		}
		if a.failed() {
			return 0, true
		}
		return of(a.answer.Text, a.question.Gold), true
	}
}

func rouge(a asked) (float64, bool) { return byGold(measure.RougeL)(a) }
func bleu(a asked) (float64, bool)  { return byGold(measure.BLEU)(a) }
func f1(a asked) (float64, bool)    { return byGold(measure.F1)(a) }

// quality is how near each system's answers are to the right ones.
func quality(r *run) ([]Chart, string) {
	if !r.judged() {
		return nil, r.unjudged()
	}
	names := r.own()
	c := Chart{
		ID: "quality", Title: "Quality of answers by system",
		Note: "Means over questions whose right answer is known, with 95 % intervals by bootstrap over questions; what failed counts as 0.",
	}
	n := 0
	for _, m := range []struct {
		name string
		of   value
	}{{"ROUGE-L", rouge}, {"BLEU", bleu}, {"F1", f1}} {
		p := Panel{Title: m.name, Kind: Grouped, Horizontal: true, Numbers: true, Labels: names, Colours: coloursOf(names)}
		var means []spread
		for _, name := range names {
			s := r.mean(r.answers(name, ""), m.of)
			n += s.n
			means = append(means, s)
		}
		p.Series = []Series{spreads("", means)}
		c.Panels = append(c.Panels, p)
	}
	if n == 0 {
		return nil, noAnswers
	}
	return []Chart{c}, ""
}

// wrongServed is how many of the stored answers that were served contradict what the
// same system computes.
func wrongServed(r *run) ([]Chart, string) {
	if r.Run.Plan.NoQuality {
		return nil, r.unjudged()
	}
	var names, labels, none []string
	var shares []spread
	unchecked := 0
	for _, name := range r.own() {
		checked, wrongs := map[key]bool{}, map[key]bool{}
		for _, a := range r.answers(name, "") {
			switch {
			case !a.served():
			case a.reference == nil:
				unchecked++
			default:
				checked[a.key()] = true
				if measure.Contradicts(a.answer.Text, a.reference.Text) {
					wrongs[a.key()] = true
				}
			}
		}
		wrong, served := len(wrongs), len(checked)
		if served == 0 {
			none = append(none, name)
			continue
		}
		i := measure.Wilson(wrong, served)
		names, labels = append(names, name), append(labels, fmt.Sprintf("%s (%d of %d)", name, wrong, served))
		shares = append(shares, spread{float64(wrong) / float64(served), i.Low, i.High, served})
	}
	if len(names) == 0 {
		return nil, "no stored answer was served that could be checked"
	}
	c := Chart{
		ID: "wrong-served", Title: "Stored answers that contradict the computed one",
		Note: "Of the stored answers that were served: numbers, names, dates or a negation differ from what the system answers to the same question without any cache. A question counts once, as wrong if it was in any repeat. Intervals of 95 % by Wilson.",
		Panels: []Panel{{
			XLabel: "share", Kind: Grouped, Horizontal: true, Numbers: true,
			Labels: labels, Colours: coloursOf(names), Series: []Series{spreads("", shares)},
		}},
	}
	if unchecked > 0 {
		c.Note += fmt.Sprintf(" %d served answers have no computed one beside them, and are left out.", unchecked)
	}
	if len(none) > 0 {
		c.Note += " Served none: " + strings.Join(none, ", ") + "."
	}
	return []Chart{c}, ""
}
