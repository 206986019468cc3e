package figure

import (
	"fmt"
	"math"
	"strconv"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// shape is that of the run's model.
func (r *run) shape() (measure.Shape, bool) {
	s := r.Run.Model.Shape
	return measure.Shape{
		Layers: s.Layers, Width: s.Width, Heads: s.Heads, HeadsKV: s.HeadsKV, HeadSize: s.HeadSize,
		FeedForward: s.FeedForward, Vocabulary: s.Vocabulary,
	}, s.Layers > 0 && s.Width > 0
}

// idle sums up the idle work behind a system's answers.
func idle(res *eval.Result) (after eval.Work) {
	for i := range res.Answers {
		w := &res.Answers[i].After
		after.Computed += w.Computed
		after.Generated += w.Generated
	}
	return after
}

func idleTokens(res *eval.Result) int {
	after := idle(res)
	return res.Before.Computed + res.Before.Generated + after.Computed + after.Generated
}

// sees is how many tokens a token sees on average in what a system answers; 0: unknown.
func (r *run) sees(system string) float64 {
	attended, tokens := 0.0, 0.0
	for _, a := range r.answers(system, "") {
		t := a.answer.Tokens
		attended, tokens = attended+float64(t.Attended), tokens+float64(t.Computed+t.Generated)
	}
	if tokens == 0 {
		return 0
	}
	return attended / tokens
}

// seesUncached is the same for the answers of a system's reference, or else its own.
func (r *run) seesUncached(system string) float64 {
	s, _ := r.system(system)
	if sees := r.sees(s.Reference); sees > 0 {
		return sees
	}
	return r.sees(system)
}

// population is what idle work cost each system.
func population(r *run) ([]Chart, string) {
	shape, known := r.shape()
	var names []string
	for _, name := range r.own() {
		tokens := 0
		for i := range r.Units {
			if res := result(&r.Units[i], name); res != nil {
				tokens += idleTokens(res)
			}
		}
		if tokens > 0 {
			names = append(names, name)
			known = known && r.seesUncached(name) > 0
		}
	}
	var before, after, joules []float64
	highest, power := 0.0, 0.0
	for _, name := range names {
		sees := r.seesUncached(name)
		cost := func(w eval.Work) float64 {
			tokens := float64(w.Computed + w.Generated)
			if !known {
				return tokens
			}
			return shape.Run(w.Computed, w.Generated, int64(sees*tokens)).Total()
		}
		b, a, j, n := 0.0, 0.0, 0.0, 0.0
		for i := range r.Units {
			if res := result(&r.Units[i], name); res != nil {
				b, a, j, n = b+cost(res.Before), a+cost(idle(res)), j+res.Joules, n+1
			}
		}
		before, after, joules = append(before, b/n), append(after, a/n), append(joules, j/n)
		highest, power = max(highest, (a+b)/n), max(power, j)
	}
	if len(names) == 0 {
		return nil, "no system did idle work"
	}
	unit, per := "tokens", 1.0
	if known {
		unit, per = scaled(highest)
	}
	for i := range names {
		before[i] /= per
		after[i] /= per
	}
	c := Chart{ID: "population", Title: "What idle work costs, for each user", Note: "Means over users and repeats. Systems that did none are left out."}
	c.Panels = []Panel{{
		XLabel: unit, Kind: Stacked, Horizontal: true, Numbers: true, Labels: names,
		Series: []Series{{Name: "before the questions", Colour: other(0), Y: before}, {Name: "behind them", Colour: other(1), Y: after}},
	}}
	if known {
		c.Note += " FLOPs are estimated by the model's shape: a token is taken to see as many others as in answers without a cache."
	} else {
		c.Note += " Tokens computed and generated: FLOPs cannot be reckoned, as the model's shape is not known, or how much a token sees."
	}
	if power > 0 {
		c.Panels = append(c.Panels, Panel{
			XLabel: "joules", Kind: Grouped, Horizontal: true, Numbers: true, Labels: names, Colours: coloursOf(names), Series: []Series{{Y: joules}},
		})
		c.Note += " Joules are of the whole machine."
	} else {
		c.Note += " The machine does not tell how much energy it takes."
	}
	return []Chart{c}, ""
}

// scaled chooses a unit for so many FLOPs.
func scaled(most float64) (unit string, per float64) {
	for _, u := range []struct {
		name string
		per  float64
	}{{"PFLOPs", 1e15}, {"TFLOPs", 1e12}, {"GFLOPs", 1e9}} {
		if most >= u.per {
			return u.name, u.per
		}
	}
	return "MFLOPs", 1e6
}

const mostPoints = 600

// projections is what part of a prompt's cost the projections to Q, K and V are, by the
// model's shape; and how long prefills took.
func projections(r *run) ([]Chart, string) {
	c := Chart{ID: "projections", Title: "What the projections to Q, K and V are of a prefill"}
	if shape, ok := r.shape(); ok {
		p := Panel{Title: "by the model's shape", XLabel: "tokens of the prompt", YLabel: "share of FLOPs", Kind: Lines, Top: 1}
		parts := []Series{
			{Name: "projections to Q, K and V"}, {Name: "projection of the output"}, {Name: "attention"}, {Name: "feed-forward"},
		}
		for tokens := 64; tokens <= 4096; tokens *= 2 {
			p.Labels = append(p.Labels, thousands(strconv.Itoa(tokens)))
			p.Ticks = append(p.Ticks, math.Log2(float64(tokens)))
			f := shape.Cold(tokens, 0)
			for i, part := range []float64{f.QKV, f.Projections - f.QKV, f.Attention, f.FeedForward} {
				parts[i].X = append(parts[i].X, math.Log2(float64(tokens)))
				parts[i].Y = append(parts[i].Y, part/f.Total())
			}
		}
		for i := range parts {
			parts[i].Colour = other(i)
		}
		p.Series = parts
		c.Panels = append(c.Panels, p)
		c.Note = "Shares are reckoned from the model's shape, without the head, which is asked once; each step doubles the tokens."
	} else {
		c.Note = "The model's shape is not known, so there are no shares."
	}
	s := Series{Name: "a prefill of naive", Colour: systemColour("naive")}
	for _, a := range r.answers("naive", "") {
		if ms := a.answer.Stages["prefill_ms"]; !a.failed() && ms > 0 && a.answer.Tokens.Computed > 0 {
			s.X, s.Y = append(s.X, float64(a.answer.Tokens.Computed)), append(s.Y, ms)
		}
	}
	if all := len(s.X); all > 0 {
		if all > mostPoints {
			s.X, s.Y = s.X[:mostPoints], s.Y[:mostPoints]
			c.Note += fmt.Sprintf(" The first %d of %d prefills.", mostPoints, all)
		}
		c.Panels = append(c.Panels, Panel{Title: "as measured", XLabel: "tokens computed", YLabel: "prefill, ms", Kind: Points, Series: []Series{s}})
	}
	if len(c.Panels) == 0 {
		return nil, "the model's shape is not known, and naive has computed nothing"
	}
	return []Chart{c}, ""
}

// tokens is what of its prompts each system computed, and what it reused.
func tokens(r *run) ([]Chart, string) {
	p := Panel{XLabel: "tokens a question", Kind: Stacked, Horizontal: true, Numbers: true, Labels: r.own()}
	p.Series = []Series{
		{Name: "of the prompt, computed", Colour: other(3)},
		{Name: "of the prompt, reused", Colour: other(2)},
		{Name: "generated", Colour: other(1)},
	}
	n := 0
	for _, name := range p.Labels {
		list := r.answers(name, "")
		for i, count := range []func(asked) int{
			func(a asked) int { return a.answer.Tokens.Computed },
			func(a asked) int { return a.answer.Tokens.Reused },
			func(a asked) int { return a.answer.Tokens.Generated },
		} {
			var all []float64
			for _, a := range list {
				if !a.failed() {
					all = append(all, float64(count(a)))
				}
			}
			n += len(all)
			p.Series[i].Y = append(p.Series[i].Y, measure.Mean(all))
		}
	}
	if n == 0 {
		return nil, noAnswers
	}
	return []Chart{{
		ID: "tokens", Title: "Tokens computed and reused, by system", Panels: []Panel{p},
		Note: "Means over questions. A stored answer takes no prompt, so it has no tokens." + r.failed(p.Labels),
	}}, ""
}
