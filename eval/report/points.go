package report

import "github.com/percached/percached/eval/measure"

// points are one value for each question: its repeats in one.
type points struct {
	keys []key // in the order in which they were asked first
	at   map[key]float64
	draw map[key]int // which of them are drawn together
}

// value is one of an asking; false: it has none.
type value func(*asking) (float64, bool)

// gather reduces the repeats of each question to one value.
func gather(askings []asking, of value, reduce func([]float64) float64) points {
	p, all := points{at: map[key]float64{}, draw: map[key]int{}}, map[key][]float64{}
	for i := range askings {
		x, ok := of(&askings[i])
		if !ok {
			continue
		}
		k := askings[i].key
		if all[k] == nil {
			p.keys, p.draw[k] = append(p.keys, k), askings[i].draw
		}
		all[k] = append(all[k], x)
	}
	for k, xs := range all {
		p.at[k] = reduce(xs)
	}
	return p
}

func (p points) values() []float64 {
	xs := make([]float64, len(p.keys))
	for i, k := range p.keys {
		xs[i] = p.at[k]
	}
	return xs
}

// clusters have the values together of questions that hang together.
func (p points) clusters() [][]float64 {
	draws := make([]int, len(p.keys))
	for i, k := range p.keys {
		draws[i] = p.draw[k]
	}
	return measure.Clusters(p.values(), draws)
}

// minus pairs the questions that both have.
func (p points) minus(q points) (diff points, ours, theirs float64) {
	diff.at, diff.draw = map[key]float64{}, p.draw
	var a, b []float64
	for _, k := range p.keys {
		if other, ok := q.at[k]; ok {
			diff.keys, diff.at[k] = append(diff.keys, k), p.at[k]-other
			a, b = append(a, p.at[k]), append(b, other)
		}
	}
	return diff, measure.Mean(a), measure.Mean(b)
}

// beside has both values of questions that both have.
func (p points) beside(q points, shared []key) [][][2]float64 {
	pairs, draws := make([][2]float64, len(shared)), make([]int, len(shared))
	for i, k := range shared {
		pairs[i], draws[i] = [2]float64{p.at[k], q.at[k]}, p.draw[k]
	}
	return measure.Clusters(pairs, draws)
}

// Estimate is a mean over so many questions, with its interval of 95 %.
type Estimate struct {
	Of   int     `json:"of"`
	Mean float64 `json:"mean"`
	measure.Interval
}

func (p points) estimate(seed uint64) Estimate {
	if len(p.keys) == 0 {
		return Estimate{}
	}
	return Estimate{len(p.keys), measure.Mean(p.values()), measure.BootstrapClusters(seed, p.clusters())}
}

// Times sums up milliseconds by question.
type Times struct {
	Estimate
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
}

func (p points) times(seed uint64) Times {
	xs := p.values()
	return Times{p.estimate(seed), measure.Median(xs), measure.Quantile(xs, 0.9)}
}

// Rate is how many of so many, with Wilson's interval.
type Rate struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Share float64 `json:"share"`
	measure.Interval
}

// rateOf is nil of none: nothing can be said.
func rateOf(k, n int) *Rate {
	if n == 0 {
		return nil
	}
	return &Rate{k, n, float64(k) / float64(n), measure.Wilson(k, n)}
}

// distinct counts the questions among askings for which something holds in any repeat.
func distinct(askings []asking, holds func(*asking) bool) int {
	seen := map[key]bool{}
	for i := range askings {
		if holds(&askings[i]) {
			seen[askings[i].key] = true
		}
	}
	return len(seen)
}

func total(a *asking) (float64, bool) { return a.answer.TotalMS, !a.failed() }

func first(a *asking) (float64, bool) { return a.answer.FirstMS, !a.failed() }
