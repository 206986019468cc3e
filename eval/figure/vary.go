package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// varied are the systems that the run has variants of in a key, each with its
// variants by value.
func (r *run) varied(key string) (of []string, by map[string][]eval.System) {
	by = map[string][]eval.System{}
	for _, s := range r.Run.Systems {
		if s.Key != key || len(r.answers(s.Name, "")) == 0 {
			continue
		}
		if by[s.Of] == nil {
			of = append(of, s.Of)
		}
		by[s.Of] = append(by[s.Of], s)
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b eval.System) int { return cmp.Compare(a.Value, b.Value) })
	}
	return of, by
}

// against is a panel with a line for each system: a value of its variants over what
// they vary in.
func (r *run) against(key, x, title, y string, worth func(eval.System) spread) Panel {
	of, by := r.varied(key)
	p := Panel{Title: title, XLabel: x, YLabel: y, Kind: Lines}
	p.Ticks = values(by)
	for _, v := range p.Ticks {
		p.Labels = append(p.Labels, plain(v))
	}
	for _, name := range of {
		var means []spread
		var xs []float64
		for _, s := range by[name] {
			xs, means = append(xs, s.Value), append(means, worth(s))
		}
		s := spreads(name, means)
		s.X, s.Colour = xs, systemColour(name)
		p.Series = append(p.Series, s)
	}
	return p
}

// values are those that there are variants of, each once.
func values(by map[string][]eval.System) (all []float64) {
	for _, list := range by {
		for _, s := range list {
			all = append(all, s.Value)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// plain writes a number with the digits that it has.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// of makes of what an answer is worth what a system is worth.
func (r *run) of(v value) func(eval.System) spread {
	return func(s eval.System) spread { return r.mean(r.answers(s.Name, ""), v) }
}

func (r *run) latency(s eval.System) spread { return r.times(r.answers(s.Name, ""), latency) }

// each is a mean over a system's results, one for each unit.
func (r *run) each(worth func(*eval.Result) float64) func(eval.System) spread {
	return func(s eval.System) spread {
		var all []float64
		for i := range r.Units {
			if res := result(&r.Units[i], s.Name); res != nil {
				all = append(all, worth(res))
			}
		}
		if len(all) == 0 {
			return absent()
		}
		m := absent()
		m.mean, m.n = measure.Mean(all), len(all)
		return m
	}
}

func without(key, group string) string {
	return fmt.Sprintf("no system of the run varies in its %s; --systems %s has them", key, group)
}

const intervals = "Means over all users and questions, misses included, with 95 % intervals by bootstrap over questions. The repeats of a question count as one."

func strides(r *run) ([]Chart, string) {
	const key, x = "stride", "questions predicted in a round"
	if of, _ := r.varied(key); len(of) == 0 {
		return nil, without(key, "strides")
	}
	return []Chart{{
		ID: "stride", Title: "How many questions are predicted at a time", Note: intervals + " A hit is a stored answer or stored tensors.",
		Panels: []Panel{
			r.against(key, x, "latency", "ms", r.latency),
			share01(r.against(key, x, "questions with a hit", "share", r.of(hit))),
			r.against(key, x, "idle tokens of a user", "thousand tokens", r.each(func(res *eval.Result) float64 {
				return float64(idleTokens(res)) / 1000
			})),
		},
	}}, ""
}

func limits(r *run) ([]Chart, string) {
	const key, x = "limit", "limit, in slices"
	if of, _ := r.varied(key); len(of) == 0 {
		return nil, without(key, "limits")
	}
	return []Chart{{
		ID: "limit", Title: "How much room tensors have", Columns: 2, Note: intervals + " Evictions and bytes are means over users.",
		Panels: []Panel{
			r.against(key, "", "latency", "ms", r.latency),
			share01(r.against(key, "", "questions with a hit", "share", r.of(hit))),
			r.against(key, x, "slices evicted", "slices", r.each(func(res *eval.Result) float64 { return float64(res.Evicted) })),
			r.against(key, x, "tensors stored in the end", "MiB", r.each(func(res *eval.Result) float64 { return float64(res.TensorBytes) / (1 << 20) })),
		},
	}}, ""
}

func thresholds(r *run) ([]Chart, string) {
	const key, x = "threshold", "threshold of similarity"
	if of, _ := r.varied(key); len(of) == 0 {
		return nil, without(key, "thresholds")
	}
	c := Chart{ID: "threshold", Title: "How alike a question must be to be given a stored answer", Columns: 2, Note: intervals}
	if r.judged() {
		c.Panels = append(c.Panels,
			r.against(key, "", "ROUGE-L", "", r.of(rouge)),
			r.against(key, "", "BLEU", "", r.of(bleu)))
	} else {
		c.Note += " " + r.unjudged()
	}
	c.Panels = append(c.Panels,
		r.against(key, x, "latency", "ms", r.latency),
		share01(r.against(key, x, "questions given a stored answer", "share", r.of(answerHit))))
	return []Chart{c}, ""
}

// share01 gives a panel of shares an axis from 0 to 1.
func share01(p Panel) Panel {
	p.Top = 1.02
	return p
}

// cases shows how the scheduler copes with what changes: what a question takes, and
// what idle work was done behind it.
func cases(r *run) ([]Chart, string) {
	const key = "case"
	of, by := r.varied(key)
	if len(of) == 0 {
		return nil, without("case of scheduling", "cases")
	}
	about := map[float64]string{1: "high threshold", 2: "threshold falls", 3: "room opens"}
	var times, work []Panel
	for _, v := range values(by) {
		t := Panel{Title: "case " + plain(v), YLabel: "ms", Kind: Lines}
		if what, ok := about[v]; ok {
			t.Title += ": " + what
		}
		w := Panel{XLabel: "question", YLabel: "idle tokens so far", Kind: Lines}
		for _, name := range of {
			for _, s := range by[name] {
				if s.Value != v {
					continue
				}
				ms, done := r.along(s.Name)
				for _, line := range []*Series{&ms, &done} {
					line.Name, line.Colour = name, systemColour(name)
				}
				t.Series, w.Series = append(t.Series, ms), append(w.Series, done)
			}
		}
		times, work = append(times, t), append(work, w)
	}
	return []Chart{{
		ID: "cases", Title: "What the scheduler makes of a change", Columns: len(times), Panels: append(times, work...),
		Note: "Each point is a mean over the users who asked so many questions, and over repeats. Case 1: a threshold that few stored answers pass; 2: it falls midway; 3: room for few tensors, and midway for all. Idle tokens are computed or generated behind the questions; those before them are left out.",
	}}, ""
}

// along is, for each question in the order of asking, the mean latency, and the idle
// work that was done until then.
func (r *run) along(system string) (ms, done Series) {
	var times, work [][]float64
	for i := range r.Units {
		sum := 0.0
		for q, a := range r.answersIn(&r.Units[i], system) {
			if q == len(times) {
				times, work = append(times, nil), append(work, nil)
			}
			sum += float64(a.answer.After.Computed + a.answer.After.Generated)
			work[q] = append(work[q], sum)
			if v, ok := latency(a); ok {
				times[q] = append(times[q], v)
			}
		}
	}
	for q := range times {
		m := absent().mean
		if len(times[q]) > 0 {
			m = measure.Mean(times[q])
		}
		x := float64(q + 1)
		ms.X, ms.Y = append(ms.X, x), append(ms.Y, m)
		done.X, done.Y = append(done.X, x), append(done.Y, measure.Mean(work[q]))
	}
	return ms, done
}
