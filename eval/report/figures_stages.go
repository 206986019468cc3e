package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/systems"
)

// stageNames are the stages that add up to the latency of an answer.
func stageNames() []string { return append(measure.Stages(), measure.Between, measure.Outside) }

// stageSeries has a series for each stage, from the stages of each bar.
func stageSeries(bars []map[string]float64) (all []eval.Series) {
	for _, name := range stageNames() {
		s := eval.Series{Name: strings.ReplaceAll(name, "_", " ")}
		for _, stages := range bars {
			s.Y = append(s.Y, stages[name])
		}
		all = append(all, s)
	}
	return all
}

// byQuestion is the latency of each question of one user by stage, for the main systems.
func (m *figureMaker) byQuestion() ([]eval.Figure, string) {
	const mostQuestions = 80
	if len(m.units) == 0 || len(m.units[0].Asked) == 0 {
		return nil, noAnswers
	}
	u := m.units[0]
	names := m.present(systems.Naive)
	if best := m.report.fastest(baselines(), func(s *System) bool { return s.Name == systems.PerCache }); best != nil {
		names = append(names, best.Name)
	}
	names = append(names, m.present(systems.PerCache, systems.Percached)...)
	f := eval.Figure{
		ID: "latency-by-question", Title: "Latency of each question by stage, user " + u.User, Columns: 1,
		Note: fmt.Sprintf("Repeat %d. Questions are in the order in which they were asked. All systems have the same scale.", u.Repeat),
	}
	if n := len(u.Asked); n > mostQuestions {
		f.Note += fmt.Sprintf(" The first %d of %d questions.", mostQuestions, n)
	}
	for _, name := range names {
		p := eval.Panel{Title: name, YLabel: "ms", Kind: eval.Stacked}
		var bars []map[string]float64
		for i, a := range m.inUnit(u, name) {
			if i == mostQuestions {
				break
			}
			p.Labels = append(p.Labels, strconv.Itoa(i+1))
			if a.failed() {
				bars = append(bars, nil)
				continue
			}
			bars = append(bars, stagesOf(a.answer))
		}
		if p.Series = stageSeries(bars); p.Highest() > 0 {
			f.Panels = append(f.Panels, p)
		}
	}
	if len(f.Panels) == 0 {
		return nil, "none of naive, the baselines, percache and percached has answered a question"
	}
	sameScale(f.Panels)
	f.Panels[len(f.Panels)-1].XLabel = "question"
	f.Note += m.failedNote(names)
	return []eval.Figure{f}, ""
}

// overhead is what a question costs besides computing.
func (m *figureMaker) overhead() ([]eval.Figure, string) {
	f := eval.Figure{ID: "overhead", Title: "What a question costs besides computing, by stage", Note: "Means over all questions, misses included, with 95 % intervals."}
	p := eval.Panel{XLabel: "ms", Kind: eval.Bars, Horizontal: true}
	for _, stage := range stageNames() {
		if stage != "prefill" && stage != "decode" {
			p.Labels = append(p.Labels, strings.ReplaceAll(stage, "_", " "))
		}
	}
	for _, name := range m.present(systems.Naive, systems.PerCache, systems.Percached) {
		s := eval.Series{Name: name}
		computing := map[string]float64{}
		for _, stage := range stageNames() {
			e := reduceRepeats(m.responses[name], func(a *response) (float64, bool) {
				if a.failed() {
					return 0, false
				}
				return stagesOf(a.answer)[stage], true
			}, measure.Mean).estimate(m.run.Plan.Seed)
			if stage == "prefill" || stage == "decode" {
				computing[stage] = e.Mean
				continue
			}
			addEstimate(&s, &e)
		}
		if _, ok := s.Value(0); ok {
			p.Series = append(p.Series, s)
			f.Note += fmt.Sprintf(" %s computes for %.2f ms (prefill) and %.2f ms (decode).", name, computing["prefill"], computing["decode"])
		}
	}
	if len(p.Series) == 0 {
		return nil, "it needs answers of naive, percache or percached"
	}
	f.Panels = []eval.Panel{p}
	return []eval.Figure{f}, ""
}

// stageTimes are the stages and the first token of one bar.
type stageTimes struct {
	stages map[string]float64
	first  float64
}

// stagePanels has a bar of stages for each system, and beside it the first token.
func stagePanels(names []string, times []stageTimes) []eval.Panel {
	var bars []map[string]float64
	first := eval.Series{}
	for _, t := range times {
		bars, first.Y = append(bars, t.stages), append(first.Y, t.first)
	}
	panels := []eval.Panel{
		{Title: "whole answer", XLabel: "ms", Kind: eval.Stacked, Horizontal: true, Labels: names, Series: stageSeries(bars)},
		{Title: "first token", XLabel: "ms", Kind: eval.Bars, Horizontal: true, Labels: names, Series: []eval.Series{first}},
	}
	sameScale(panels)
	return panels
}

// oneCache is where the time of a question goes without a cache, with stored tensors
// alone, and with stored answers alone.
func (m *figureMaker) oneCache() ([]eval.Figure, string) {
	names := []string{systems.Naive, "ragcache", "meancache"}
	if len(m.present(names...)) < len(names) {
		return nil, "it needs naive, ragcache and meancache; --systems all includes them"
	}
	f := eval.Figure{ID: "one-cache", Title: "One question with one cache: where its time goes"}
	for _, u := range m.units {
		naive, tensors, answers := m.inUnit(u, names[0]), m.inUnit(u, names[1]), m.inUnit(u, names[2])
		for q := range min(len(naive), len(tensors), len(answers)) {
			if naive[q].failed() || tensors[q].failed() || tensors[q].answer.Outcome != client.OutcomeTensorHit || !answers[q].served() {
				continue
			}
			f.Note = fmt.Sprintf("Question %d of user %s, repeat %d: the first for which ragcache had tensors and meancache an answer.", naive[q].key.number, u.User, u.Repeat)
			var times []stageTimes
			for _, a := range []*response{naive[q], tensors[q], answers[q]} {
				times = append(times, stageTimes{stagesOf(a.answer), a.answer.FirstMS})
			}
			f.Panels = stagePanels(names, times)
			return []eval.Figure{f}, ""
		}
	}
	f.Note = "No question hit both caches. Bars are means over the questions that hit the system's cache, and for naive over all."
	var times []stageTimes
	hits := 0
	for i, name := range names {
		t, n := meanStages(m.responses[name], func(a *response) bool { return !a.failed() && (i == 0 || a.answer.Outcome != client.OutcomeMiss) })
		times = append(times, t)
		switch {
		case n == 0:
			f.Note += fmt.Sprintf(" %s had no hit.", name)
		case i > 0:
			hits += n
		}
	}
	if hits == 0 || times[0].stages == nil {
		return nil, "no question hit in ragcache or meancache"
	}
	f.Panels = stagePanels(names, times)
	return []eval.Figure{f}, ""
}

// meanStages are the mean stages of some responses, and of how many.
func meanStages(responses []response, of func(*response) bool) (mean stageTimes, n int) {
	for i := range responses {
		if of(&responses[i]) {
			n++
		}
	}
	for i := range responses {
		a := &responses[i]
		if !of(a) {
			continue
		}
		if mean.stages == nil {
			mean.stages = map[string]float64{}
		}
		mean.first += a.answer.FirstMS / float64(n)
		for name, ms := range stagesOf(a.answer) {
			mean.stages[name] += ms / float64(n)
		}
	}
	return mean, n
}

// walked is the question of the report's walk, stage by stage.
func (m *figureMaker) walked() ([]eval.Figure, string) {
	names := m.present(systems.Naive, systems.PerCache, systems.Percached)
	w := m.report.Walk
	switch {
	case len(names) < 2:
		return nil, "it needs two of naive, percache and percached; --systems all includes them"
	case w == nil:
		return nil, "no question was answered by all of naive, percache and percached"
	}
	f := eval.Figure{ID: "one-question", Title: "One question on its way, stage by stage", Note: "Question " + w.sentence() + "."}
	var times []stageTimes
	for _, name := range names {
		i := slices.IndexFunc(w.Steps, func(s Step) bool { return s.System == name })
		if i < 0 {
			return nil, "no question was answered by all of naive, percache and percached"
		}
		s := &w.Steps[i]
		f.Note += fmt.Sprintf(" %s: %s, %d of %d tokens reused.", name, s.Outcome, s.Tokens.Reused, s.Tokens.Prompt)
		times = append(times, stageTimes{s.Stages, s.FirstMS})
	}
	f.Panels = stagePanels(names, times)
	return []eval.Figure{f}, ""
}
