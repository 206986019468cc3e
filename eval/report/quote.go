package report

import (
	"strings"

	"github.com/percached/percached/eval"
)

// Quote puts the texts of the question that is walked through into the report: the
// question, the right answers, and what each system answered. They are somebody's
// own words, so a report has them only where that is wanted.
func (r *Report) Quote(from *eval.Results) {
	w := r.Walk
	if w == nil {
		return
	}
	for i := range from.Units {
		u := &from.Units[i]
		if u.User != w.User || u.Repeat != w.Repeat {
			continue
		}
		for at := range u.Asked {
			q := &u.Asked[at]
			if q.Number != w.Number || q.Paraphrase != w.Paraphrase {
				continue
			}
			w.Question, w.Gold = q.Text, strings.Join(q.Gold, " / ")
			for j := range w.Steps {
				if own := resultOf(u, w.Steps[j].System); own != nil && at < len(own.Answers) {
					w.Steps[j].Answer = own.Answers[at].Text
				}
			}
			return
		}
	}
}
