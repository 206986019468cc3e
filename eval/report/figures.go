package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/percached/percached/eval"
)

// figureMaker makes figures of a run and its report.
type figureMaker struct {
	*runData
	report *Report
}

// subject is something that figures show. Its make says why if the run lacks the data.
type subject struct {
	paper, what string
	make        func(*figureMaker) (figures []eval.Figure, why string)
}

// subjects are in the order of the paper's figures; the last three are not in the paper.
func subjects() []subject {
	return []subject{
		{"Figures 2, 3, 5 and 6", "similarity of questions", (*figureMaker).similarity},
		{"Figures 2, 3, 5 and 6", "how often a chunk is used", (*figureMaker).chunkUse},
		{"Figures 2, 3, 5 and 6", "overlap of prompts", (*figureMaker).overlap},
		{"Figure 4", "one question with one cache", (*figureMaker).oneCache},
		{"Figure 11", "latency by question and stage", (*figureMaker).byQuestion},
		{"Figure 12", "one question walked through", (*figureMaker).walked},
		{"Figure 13", "share of projections", (*figureMaker).projections},
		{"Figure 14", "latency by system and user", (*figureMaker).byUser},
		{"Figure 15", "cases of scheduling", (*figureMaker).cases},
		{"Figure 16", "ablation", (*figureMaker).ablation},
		{"Figure 17", "stride of prediction", (*figureMaker).strides},
		{"Figure 18", "limit of storage", (*figureMaker).limits},
		{"Figure 19", "threshold of similarity", (*figureMaker).thresholds},
		{"Figure 20", "cost of population", (*figureMaker).population},
		{"Figure 23", "quality of answers", (*figureMaker).quality},
		{"Table 1", "overhead", (*figureMaker).overhead},
		{"", "time to the first token", (*figureMaker).byFirstToken},
		{"", "stored answers that were wrong", (*figureMaker).wrongServed},
		{"", "tokens computed and reused", (*figureMaker).tokens},
	}
}

// figures are those that the run has the data for. Missing says which it has not, and why.
func (data *runData) figures(r *Report) (figures []eval.Figure, missing []string) {
	for _, s := range subjects() {
		made, why := s.make(&figureMaker{data, r})
		for i := range made {
			made[i].Paper = s.paper
			tidy(&made[i])
			figures = append(figures, made[i])
		}
		if len(made) == 0 && s.paper != "" {
			missing = append(missing, fmt.Sprintf("%s (%s): %s", s.paper, s.what, why))
		} else if len(made) == 0 {
			missing = append(missing, s.what+": "+why)
		}
	}
	return figures, append(missing, "Figures 21 and 22 (machines, models): they compare several runs; this report is of one")
}

// tidy makes each text of a figure one line of printable characters, and shortens names.
func tidy(f *eval.Figure) {
	f.Columns = cmp.Or(f.Columns, len(f.Panels))
	f.Title, f.Note = printable(f.Title, 90), printable(f.Note, math.MaxInt)
	for i := range f.Panels {
		p := &f.Panels[i]
		p.Title = printable(p.Title, 40)
		p.Labels = slices.Clone(p.Labels)
		for j := range p.Labels {
			p.Labels[j] = printable(p.Labels[j], 36)
		}
		for j := range p.Series {
			p.Series[j].Name = printable(p.Series[j].Name, 28)
		}
	}
}

// printable drops what is not printable and cuts the middle of a long text.
func printable(s string, most int) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
	r := []rune(strings.Join(words, " "))
	if len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
	}
	return string(r)
}
