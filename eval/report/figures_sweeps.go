package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

const meansOfSweeps = "Means over all users and questions, misses included, with 95 % intervals by a bootstrap over users and their questions. The repeats of a question count as one."

// sweeps are the systems with one setting at several values, of which the run has answers.
func (m *figureMaker) sweeps(key string) (all []Sweep) {
	for _, w := range m.report.Sweeps {
		w.Rows = slices.DeleteFunc(slices.Clone(w.Rows), func(v Variant) bool { return len(m.responses[v.System]) == 0 })
		if w.Key == key && len(w.Rows) > 0 {
			all = append(all, w)
		}
	}
	return all
}

// against is a panel with a line for each system: a value of its variants over the setting
// that varies.
func against(sweeps []Sweep, x, title, y string, of func(*Variant) *Estimate) eval.Panel {
	p := eval.Panel{Title: title, XLabel: x, YLabel: y, Kind: eval.Lines, Ticks: sweepValues(sweeps)}
	for _, v := range p.Ticks {
		p.Labels = append(p.Labels, strconv.FormatFloat(v, 'f', -1, 64))
	}
	for _, w := range sweeps {
		s := eval.Series{Name: w.Of}
		for i := range w.Rows {
			s.X = append(s.X, w.Rows[i].Value)
			addEstimate(&s, of(&w.Rows[i]))
		}
		p.Series = append(p.Series, s)
	}
	if y == "share" {
		p.Top = 1.02
	}
	return p
}

// sweepValues are the values of the setting, each once.
func sweepValues(sweeps []Sweep) (all []float64) {
	for _, w := range sweeps {
		for _, v := range w.Rows {
			all = append(all, v.Value)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// share is the share of a variant's questions for which something holds.
func (m *figureMaker) share(of metric) func(*Variant) *Estimate {
	return func(v *Variant) *Estimate {
		e := reduceRepeats(m.responses[v.System], of, measure.Mean).estimate(m.run.Plan.Seed)
		return &e
	}
}

// overUnits is a mean over units, without an interval.
func overUnits(v float64) *Estimate {
	return &Estimate{1, v, measure.Interval{Low: math.NaN(), High: math.NaN()}}
}

func variantLatency(v *Variant) *Estimate { return &v.Latency }

func noSweep(what, group string) string {
	return fmt.Sprintf("no system of the run varies its %s; --systems %s includes them", what, group)
}

func (m *figureMaker) strides() ([]eval.Figure, string) {
	const x = "questions predicted in a round"
	sweeps := m.sweeps("stride")
	if len(sweeps) == 0 {
		return nil, noSweep("stride", "strides")
	}
	return []eval.Figure{{
		ID: "stride", Title: "How many questions are predicted at a time", Note: meansOfSweeps + " A hit is a stored answer or stored tensors.",
		Panels: []eval.Panel{
			against(sweeps, x, "latency", "ms", variantLatency),
			against(sweeps, x, "questions with a hit", "share", m.share(hits)),
			against(sweeps, x, "idle tokens per user", "thousand tokens", func(v *Variant) *Estimate { return overUnits(v.IdleTokens / 1000) }),
		},
	}}, ""
}

func (m *figureMaker) limits() ([]eval.Figure, string) {
	const x = "limit, in slices"
	sweeps := m.sweeps("limit")
	if len(sweeps) == 0 {
		return nil, noSweep("limit", "limits")
	}
	return []eval.Figure{{
		ID: "limit", Title: "How much room tensors have", Columns: 2, Note: meansOfSweeps + " Evictions and bytes are means over users.",
		Panels: []eval.Panel{
			against(sweeps, "", "latency", "ms", variantLatency),
			against(sweeps, "", "questions with a hit", "share", m.share(hits)),
			against(sweeps, x, "slices evicted", "slices", func(v *Variant) *Estimate { return overUnits(v.Evicted) }),
			against(sweeps, x, "tensors stored at the end", "MiB", func(v *Variant) *Estimate {
				return overUnits(m.report.find(v.System).All.Storage.TensorBytes / mebi)
			}),
		},
	}}, ""
}

func (m *figureMaker) thresholds() ([]eval.Figure, string) {
	const x = "similarity threshold"
	sweeps := m.sweeps("threshold")
	if len(sweeps) == 0 {
		return nil, noSweep("threshold", "thresholds")
	}
	f := eval.Figure{ID: "threshold", Title: "How alike a question must be to be given a stored answer", Columns: 2, Note: meansOfSweeps}
	if why := m.noQuality(); why == "" {
		f.Panels = append(f.Panels,
			against(sweeps, "", "ROUGE-L", "", func(v *Variant) *Estimate { return v.RougeL }),
			against(sweeps, "", "BLEU", "", func(v *Variant) *Estimate { return v.BLEU }))
	} else {
		f.Note += " " + why
	}
	served := func(a *response) (float64, bool) {
		if a.served() {
			return 1, true
		}
		return 0, true
	}
	f.Panels = append(f.Panels,
		against(sweeps, x, "latency", "ms", variantLatency),
		against(sweeps, x, "questions with a stored answer", "share", m.share(served)))
	return []eval.Figure{f}, ""
}

// cases shows how the scheduler reacts to changes: the latency of each question, and the
// idle work up to it.
func (m *figureMaker) cases() ([]eval.Figure, string) {
	sweeps := m.sweeps("case")
	if len(sweeps) == 0 {
		return nil, noSweep("scheduling case", "cases")
	}
	about := map[float64]string{1: ": high threshold", 2: ": lower threshold", 3: ": more storage"}
	var times, work []eval.Panel
	for _, value := range sweepValues(sweeps) {
		t := eval.Panel{Title: "case " + strconv.FormatFloat(value, 'f', -1, 64) + about[value], YLabel: "ms", Kind: eval.Lines}
		w := eval.Panel{XLabel: "question", YLabel: "idle tokens so far", Kind: eval.Lines}
		for _, sweep := range sweeps {
			for _, v := range sweep.Rows {
				if v.Value == value {
					latency, idle := m.along(v.System)
					latency.Name, idle.Name = sweep.Of, sweep.Of
					t.Series, w.Series = append(t.Series, latency), append(w.Series, idle)
				}
			}
		}
		times, work = append(times, t), append(work, w)
	}
	return []eval.Figure{{
		ID: "cases", Title: "How the scheduler reacts to a change", Columns: len(times), Panels: append(times, work...),
		Note: "Each point is a mean over repeats and over the users who asked that many questions. Case 1: a threshold that few stored answers pass. Case 2: the threshold falls midway. Case 3: storage for few tensors, and from midway for all. Idle tokens are those computed and generated after the questions, without those before them.",
	}}, ""
}

// along is, for each question in the order of asking, the mean latency, and the mean of
// the idle tokens up to it.
func (m *figureMaker) along(system string) (latencies, idle eval.Series) {
	var times, work [][]float64
	for _, u := range m.units {
		sum := 0.0
		for q, a := range m.inUnit(u, system) {
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
		mean := math.NaN()
		if len(times[q]) > 0 {
			mean = measure.Mean(times[q])
		}
		latencies.X, latencies.Y = append(latencies.X, float64(q+1)), append(latencies.Y, mean)
		idle.X, idle.Y = append(idle.X, float64(q+1)), append(idle.Y, measure.Mean(work[q]))
	}
	return latencies, idle
}
