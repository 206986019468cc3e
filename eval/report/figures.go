package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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

// figureValue is one value of a figure, as its CSV and JSON files have it.
type figureValue struct {
	Panel  int      `json:"panel"` // from 1
	Series string   `json:"series,omitempty"`
	Label  string   `json:"label,omitempty"` // of a bar
	X      *float64 `json:"x,omitempty"`     // of a point; of a heat map the column, from 1
	Y      *float64 `json:"y,omitempty"`     // of a heat map the row, from 1
	Value  *float64 `json:"value"`           // null: none
	Low    *float64 `json:"low,omitempty"`   // its interval of 95 %
	High   *float64 `json:"high,omitempty"`
}

func figureValues(f *eval.Figure) (all []figureValue) {
	for i := range f.Panels {
		p := &f.Panels[i]
		for j := range p.Series {
			s := &p.Series[j]
			for k := range s.Y {
				v := figureValue{Panel: i + 1, Series: s.Name}
				if y, ok := s.Value(k); ok {
					v.Value = &y
				}
				if low, high, ok := s.Interval(k); ok {
					v.Low, v.High = &low, &high
				}
				if k < len(s.X) {
					v.X = &s.X[k]
				} else {
					v.Label = p.Labels[k]
				}
				all = append(all, v)
			}
		}
		for row := range p.Cells {
			for column, v := range p.Cells[row] {
				if !math.IsNaN(v) {
					all = append(all, figureValue{Panel: i + 1, X: new(float64(column + 1)), Y: new(float64(row + 1)), Value: &v})
				}
			}
		}
	}
	return all
}

// figureCSV writes a row for each value of a figure.
func figureCSV(w io.Writer, f *eval.Figure) error {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	rows := [][]string{{"panel", "title", "series", "label", "x", "y", "value", "low", "high"}}
	for _, v := range figureValues(f) {
		rows = append(rows, []string{
			strconv.Itoa(v.Panel), f.Panels[v.Panel-1].Title, v.Series, v.Label, number(v.X), number(v.Y), number(v.Value), number(v.Low), number(v.High),
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// figureJSON writes all of a figure.
func figureJSON(w io.Writer, f *eval.Figure) error {
	type panel struct {
		Title  string    `json:"title,omitempty"`
		Kind   eval.Kind `json:"kind"`
		XLabel string    `json:"x_label,omitempty"`
		YLabel string    `json:"y_label,omitempty"`
	}
	out := struct {
		Figure
		Panels []panel       `json:"panels"`
		Values []figureValue `json:"values"`
	}{Figure{f.ID, f.Title, f.Paper, f.Note}, nil, figureValues(f)}
	for i := range f.Panels {
		p := &f.Panels[i]
		out.Panels = append(out.Panels, panel{p.Title, p.Kind, p.XLabel, p.YLabel})
	}
	return toJSON(w, out)
}
