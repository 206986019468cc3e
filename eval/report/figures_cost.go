package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// tokens is how many tokens each system computed and reused.
func (m *figureMaker) tokens() ([]eval.Figure, string) {
	p := eval.Panel{XLabel: "tokens per question", Kind: eval.Stacked, Horizontal: true, Labels: m.plainSystems()}
	p.Series = []eval.Series{{Name: "of the prompt, computed"}, {Name: "of the prompt, reused"}, {Name: "generated"}}
	answered := 0
	for _, name := range p.Labels {
		t := &m.report.find(name).All
		n := t.Asked - t.Failed
		answered += n
		for i, count := range []int{t.Tokens.Computed, t.Tokens.Reused, t.Tokens.Generated} {
			p.Series[i].Y = append(p.Series[i].Y, per(count, n))
		}
	}
	if answered == 0 {
		return nil, noAnswers
	}
	return []eval.Figure{{
		ID: "tokens", Title: "Tokens computed and reused, by system", Panels: []eval.Panel{p},
		Note: "Means over questions. A stored answer has no prompt and so no tokens." + m.failedNote(p.Labels),
	}}, ""
}

// population is the cost of idle work.
func (m *figureMaker) population() ([]eval.Figure, string) {
	var names []string
	inFLOPs, highest, power := true, 0.0, 0.0
	for _, name := range m.plainSystems() {
		if w := &m.report.find(name).All.Idle; w.Tokens > 0 {
			names = append(names, name)
			inFLOPs = inFLOPs && w.FLOPs != nil
		}
	}
	if len(names) == 0 {
		return nil, "no system did idle work"
	}
	before, after, joules := eval.Series{Name: "before the questions"}, eval.Series{Name: "after them"}, eval.Series{}
	for _, name := range names {
		s := m.report.find(name)
		cost := func(e *Effort) float64 {
			if !inFLOPs {
				return e.Computed + e.Generated
			}
			n := float64(s.All.Idle.Units)
			flops, _ := m.idleFLOPs(s.Reference, name, int(math.Round(e.Computed*n)), int(math.Round(e.Generated*n)))
			return flops / n
		}
		w := &s.All.Idle
		before.Y, after.Y = append(before.Y, cost(&w.Before)), append(after.Y, cost(&w.After))
		j := 0.0
		if w.Joules != nil {
			j = *w.Joules
		}
		joules.Y = append(joules.Y, j)
		highest, power = max(highest, cost(&w.Before)+cost(&w.After)), max(power, j)
	}
	f := eval.Figure{ID: "population", Title: "What idle work costs, for each user", Note: "Means over users and repeats. Systems without idle work are left out."}
	unit := "tokens"
	if inFLOPs {
		var size float64
		unit, size = flopsUnit(highest)
		for i := range names {
			before.Y[i] /= size
			after.Y[i] /= size
		}
		f.Note += " FLOPs are estimated from the model's shape: each token is assumed to attend to as many others as in answers without a cache."
	} else {
		f.Note += " Tokens are those computed and generated. FLOPs are unknown, because the model's shape or the attended tokens are unknown."
	}
	f.Panels = []eval.Panel{{XLabel: unit, Kind: eval.Stacked, Horizontal: true, Labels: names, Series: []eval.Series{before, after}}}
	if power > 0 {
		f.Panels = append(f.Panels, eval.Panel{XLabel: "joules", Kind: eval.Bars, Horizontal: true, Labels: names, Series: []eval.Series{joules}})
		f.Note += " Joules are those of the whole machine."
	}
	return []eval.Figure{f}, ""
}

// flopsUnit chooses a unit for so many FLOPs.
func flopsUnit(most float64) (name string, size float64) {
	for _, u := range []struct {
		name string
		size float64
	}{{"PFLOPs", 1e15}, {"TFLOPs", 1e12}, {"GFLOPs", 1e9}} {
		if most >= u.size {
			return u.name, u.size
		}
	}
	return "MFLOPs", 1e6
}

// projections is the share of the projections to Q, K and V in a prefill, from the
// model's shape, and the measured prefills of naive.
func (m *figureMaker) projections() ([]eval.Figure, string) {
	const mostPoints = 600
	f := eval.Figure{ID: "projections", Title: "Share of the projections to Q, K and V in a prefill", Note: "The model's shape is unknown, so there are no shares."}
	if shape := shapeOf(&m.run.Model); shape != nil {
		p := eval.Panel{Title: "computed from the model's shape", XLabel: "tokens of the prompt", YLabel: "share of FLOPs", Kind: eval.Lines, Top: 1}
		p.Series = []eval.Series{{Name: "projections to Q, K, V"}, {Name: "output projection"}, {Name: "attention"}, {Name: "feed-forward"}}
		for tokens := 64; tokens <= 4096; tokens *= 2 {
			x := math.Log2(float64(tokens))
			p.Labels, p.Ticks = append(p.Labels, strconv.Itoa(tokens)), append(p.Ticks, x)
			flops := shape.Cold(tokens, 0)
			for i, part := range []float64{flops.QKV, flops.Projections - flops.QKV, flops.Attention, flops.FeedForward} {
				s := &p.Series[i]
				s.X, s.Y = append(s.X, x), append(s.Y, part/flops.Total())
			}
		}
		f.Panels = append(f.Panels, p)
		f.Note = "Shares are computed from the model's shape, without the head, which runs once. Each tick doubles the tokens; x in the data is their base-2 logarithm."
	}
	s := eval.Series{Name: "a prefill of naive"}
	for _, a := range m.responses[systems.Naive] {
		if ms := a.answer.Stages["prefill_ms"]; !a.failed() && ms > 0 && a.answer.Tokens.Computed > 0 {
			s.X, s.Y = append(s.X, float64(a.answer.Tokens.Computed)), append(s.Y, ms)
		}
	}
	if all := len(s.X); all > 0 {
		if all > mostPoints {
			s.X, s.Y = s.X[:mostPoints], s.Y[:mostPoints]
			f.Note += fmt.Sprintf(" The first %d of %d prefills.", mostPoints, all)
		}
		f.Panels = append(f.Panels, eval.Panel{Title: "measured", XLabel: "tokens computed", YLabel: "prefill, ms", Kind: eval.Points, Series: []eval.Series{s}})
	}
	if len(f.Panels) == 0 {
		return nil, "the model's shape is unknown, and naive has computed nothing"
	}
	return []eval.Figure{f}, ""
}
