package report

import (
	"fmt"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// Pair names what is compared: a system of the one run and one of the other.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
}

// Comparison is two runs side by side, or two systems of one.
type Comparison struct {
	// Apart names in what the runs differ. If it is not empty, nothing is tested: what
	// differs between the systems may come from any of it.
	Apart   []string   `json:"apart"`
	Tested  bool       `json:"tested"`
	Systems []Compared `json:"systems"`
	OnlyA   []string   `json:"only_a"` // systems, if all were to be compared
	OnlyB   []string   `json:"only_b"`
}

// Compared is one pair of systems.
type Compared struct {
	Pair
	FailedA  int       `json:"failed_a"`
	FailedB  int       `json:"failed_b"`
	OnlyA    int       `json:"only_a"` // questions that the other was not asked
	OnlyB    int       `json:"only_b"`
	Measures []Between `json:"measures"`
}

// Between is one measure of both, over the questions that both have.
type Between struct {
	Name  string  `json:"name"`
	Pairs int     `json:"pairs"`
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Diff  float64 `json:"diff"` // B less A
	Test  *Test   `json:"test,omitempty"`
}

// Test is a paired bootstrap over questions.
type Test struct {
	measure.Interval         // of Diff
	P                float64 `json:"p"`
	Differ           bool    `json:"differ"` // P is below 0.05, which takes more than a few questions
}

// Compare holds the results of a against those of b, question by question. Without
// pairs it takes every system that both have; with them a and b may be the same.
func Compare(a, b *eval.Results, pairs ...Pair) (*Comparison, error) {
	c := &Comparison{Apart: apart(a, b), Systems: []Compared{}, OnlyA: []string{}, OnlyB: []string{}}
	c.Tested = len(c.Apart) == 0
	if len(pairs) == 0 {
		for i := range a.Run.Systems {
			if name := a.Run.Systems[i].Name; has(&b.Run, name) {
				pairs = append(pairs, Pair{name, name})
			} else {
				c.OnlyA = append(c.OnlyA, name)
			}
		}
		for i := range b.Run.Systems {
			if name := b.Run.Systems[i].Name; !has(&a.Run, name) {
				c.OnlyB = append(c.OnlyB, name)
			}
		}
		if len(pairs) == 0 {
			return nil, fmt.Errorf("the runs have no system in common")
		}
	}
	x, y := open(a), open(b)
	for _, p := range pairs {
		if !has(&a.Run, p.A) {
			return nil, fmt.Errorf("the first run has no system %q", p.A)
		}
		if !has(&b.Run, p.B) {
			return nil, fmt.Errorf("the second run has no system %q", p.B)
		}
		c.Systems = append(c.Systems, compared(x, y, p, c.Tested))
	}
	return c, nil
}

func has(r *eval.Run, system string) bool {
	for i := range r.Systems {
		if r.Systems[i].Name == system {
			return true
		}
	}
	return false
}

// compared pairs the questions of two systems. Times are the medians of a
// question's repeats, all else their means.
func compared(x, y *book, p Pair, test bool) Compared {
	a, b := x.askings[p.A], y.askings[p.B]
	out := Compared{Pair: p, Measures: []Between{}}
	each := func(*asking) (float64, bool) { return 0, true }
	all, rest := gather(a, each, measure.Mean), gather(b, each, measure.Mean)
	shared, _, _ := all.minus(rest)
	out.OnlyA, out.OnlyB = len(all.keys)-len(shared.keys), len(rest.keys)-len(shared.keys)
	for i := range a {
		if a[i].failed() {
			out.FailedA++
		}
	}
	for i := range b {
		if b[i].failed() {
			out.FailedB++
		}
	}
	for _, m := range []struct {
		name   string
		of     value
		reduce func([]float64) float64
	}{
		{"latency_ms", total, measure.Median},
		{"first_token_ms", first, measure.Median},
		{"f1", right(func(s *scores) float64 { return s.f1 }), measure.Mean},
		{"rouge_l", right(func(s *scores) float64 { return s.rougeL }), measure.Mean},
		{"hit_rate", hits, measure.Mean},
	} {
		diff, mb, ma := gather(b, m.of, m.reduce).minus(gather(a, m.of, m.reduce))
		if len(diff.keys) == 0 {
			continue
		}
		line := Between{Name: m.name, Pairs: len(diff.keys), A: ma, B: mb, Diff: mb - ma}
		if test {
			t := measure.PairedBootstrapClusters(x.run.Plan.Seed, diff.clusters())
			line.Test = &Test{t.Interval, t.P, t.P < 0.05}
		}
		out.Measures = append(out.Measures, line)
	}
	return out
}
