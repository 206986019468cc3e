package figure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// stages are the parts of what the client waited.
func stages() []string { return append(measure.Stages(), measure.Between, measure.Outside) }

// shown is the name of a stage for people.
func shown(stage string) string { return strings.ReplaceAll(stage, "_", " ") }

// took are the milliseconds of each stage of an answer.
func took(a *eval.Answer) (ms []float64) {
	all := map[string]float64{}
	for key, v := range a.Stages {
		all[strings.TrimSuffix(key, "_ms")] = v
	}
	measure.Rest(all, a.TotalMS)
	for _, name := range stages() {
		ms = append(ms, all[name])
	}
	return ms
}

// stacked makes a series of each stage, of answers at places; nil and what failed
// has none.
func stacked(at []*eval.Answer) (list []Series) {
	for i, s := range stages() {
		one := Series{Name: shown(s), Colour: stageColour(i)}
		for _, a := range at {
			v := 0.0
			if a != nil && a.Failure == "" {
				v = took(a)[i]
			}
			one.Y = append(one.Y, v)
		}
		list = append(list, one)
	}
	return list
}

// prune drops the stages that took no time in any panel.
func prune(panels []Panel) {
	took := map[string]bool{}
	for _, p := range panels {
		for _, s := range p.Series {
			_, most := extent(s.Y)
			took[s.Name] = took[s.Name] || s.Mark || most > 0
		}
	}
	for i := range panels {
		panels[i].Series = slices.DeleteFunc(panels[i].Series, func(s Series) bool { return !took[s.Name] })
	}
}

const mostQuestions = 80 // in one chart with a bar for each

// byQuestion is the latency of each question of one user, by stage: a panel for each
// of the main systems.
func byQuestion(r *run) ([]Chart, string) {
	u := r.first("")
	if u == nil || len(u.Asked) == 0 {
		return nil, noAnswers
	}
	names := r.those("naive")
	if b := r.best(r.baselines()); b != "" {
		names = append(names, b)
	}
	names = append(names, r.those("percache", "percached")...)
	n := min(len(u.Asked), mostQuestions)
	c := Chart{
		ID: "latency-by-question", Title: fmt.Sprintf("Latency of each question by stage, user %s", u.User), Columns: 1,
		Note: fmt.Sprintf("Repeat %d, questions in the order in which they were asked. The scale is the same for all systems.", u.Repeat),
	}
	if n < len(u.Asked) {
		c.Note += fmt.Sprintf(" The first %d of %d questions.", n, len(u.Asked))
	}
	for _, name := range names {
		p := Panel{Title: name, YLabel: "ms", Kind: Stacked}
		var at []*eval.Answer
		for i, a := range r.answersIn(u, name) {
			if i < n {
				p.Labels, at = append(p.Labels, strconv.Itoa(i+1)), append(at, a.answer)
			}
		}
		if p.Series = stacked(at); p.highest() > 0 {
			c.Panels = append(c.Panels, p)
		}
	}
	prune(c.Panels)
	if len(c.Panels) == 0 {
		return nil, "none of naive, the baselines, percache and percached has answered a question"
	}
	level(c.Panels)
	c.Panels[len(c.Panels)-1].XLabel = "question"
	c.Note += r.failed(names)
	return []Chart{c}, ""
}

// overhead is what caching costs a question besides computing.
func overhead(r *run) ([]Chart, string) {
	c := Chart{ID: "overhead", Title: "What a question costs besides computing, by stage", Note: "Means over all questions, misses included, with 95 % intervals."}
	p := Panel{XLabel: "ms", Kind: Grouped, Horizontal: true, Numbers: true}
	for _, s := range stages() {
		if s != "prefill" && s != "decode" {
			p.Labels = append(p.Labels, shown(s))
		}
	}
	for _, name := range r.those("naive", "percache", "percached") {
		list := r.answers(name, "")
		var means []spread
		beside := map[string]float64{}
		for i, s := range stages() {
			m := r.mean(list, func(a asked) (float64, bool) {
				if a.failed() {
					return 0, false
				}
				return took(a.answer)[i], true
			})
			if s == "prefill" || s == "decode" {
				beside[s] = m.mean
				continue
			}
			means = append(means, m)
		}
		if means[0].n == 0 {
			continue
		}
		s := spreads(name, means)
		s.Colour = systemColour(name)
		p.Series = append(p.Series, s)
		c.Note += fmt.Sprintf(" %s besides: prefill %s ms, decode %s ms.", name, number(beside["prefill"]), number(beside["decode"]))
	}
	if len(p.Series) == 0 {
		return nil, "it takes naive, percache or percached, and answers of theirs"
	}
	c.Panels = []Panel{p}
	return []Chart{c}, ""
}

// meanStages is an answer whose stages are the means of some.
func meanStages(list []asked) *eval.Answer {
	if len(list) == 0 {
		return nil
	}
	m := &eval.Answer{Stages: map[string]float64{}}
	each := map[string][]float64{}
	var total, first []float64
	for _, a := range list {
		total, first = append(total, a.answer.TotalMS), append(first, a.answer.FirstMS)
		for _, s := range append(measure.Stages(), "total") {
			each[s+"_ms"] = append(each[s+"_ms"], a.answer.Stages[s+"_ms"])
		}
	}
	for key, ms := range each {
		m.Stages[key] = measure.Mean(ms)
	}
	m.TotalMS, m.FirstMS = measure.Mean(total), measure.Mean(first)
	return m
}
