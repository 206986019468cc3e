package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/percached/percached/qabank/gate"
)

// percached replays the questions through the gate.
func (o gateReplay) percached(questions []gateQuestion, maxWrong float64) gateRow {
	g := gate.New(o.start(), gate.Default())
	rnd := rand.New(rand.NewPCG(o.seed, 1))
	n := 0
	return tallyGate("percached", questions, func(q gateQuestion) bool {
		n++
		serve := g.Decide(q.Score, q.Vector, maxWrong).Serve
		if !serve || rnd.Float64() < o.checked {
			g.Learn(gate.Label{ID: fmt.Sprint(n), Score: q.Score, Vector: q.Vector, Served: serve, Right: q.Right})
		}
		return serve
	})
}

// seen is what vCache knows of a stored answer: similarities, and whether it was right.
type seen struct {
	similarity []float64
	right      []bool
}

// vcache replays the questions through the rule of vCache (arXiv 2502.03771): for each
// stored answer a logistic curve over the similarity says where it begins to be right. The
// curve's place is uncertain, and the answer is computed afresh with the least probability
// that keeps the error within the budget for any confidence in that place. A fresh answer
// gives a label.
func (o gateReplay) vcache(questions []gateQuestion, maxWrong float64) gateRow {
	rnd := rand.New(rand.NewPCG(o.seed, 2))
	entries := map[string]*seen{}
	return tallyGate("vCache", questions, func(q gateQuestion) bool {
		e := entries[q.Entry]
		if e == nil {
			e = &seen{similarity: []float64{0, 1}, right: []bool{false, true}} // as published
			entries[q.Entry] = e
		}
		if rnd.Float64() > e.explore(q.Similarity, maxWrong) {
			return true
		}
		e.similarity, e.right = append(e.similarity, q.Similarity), append(e.right, q.Right)
		return false
	})
}

// leastSeen is how many labels an answer needs before it may be served, with the first two.
const leastSeen = 6

// explore is the probability of computing the answer afresh.
func (e *seen) explore(similarity, maxWrong float64) float64 {
	if len(e.right) < leastSeen {
		return 1
	}
	place, slope, variance := e.fit()
	least := 1.0
	for i := range 50 {
		doubt := 1e-6 + float64(i)/49*(1-2e-6)
		// The curve lies farther right than this with probability doubt.
		far := min(1, max(0, place+math.Sqrt2*math.Erfinv(1-2*doubt)*math.Sqrt(variance)))
		right := (1 - doubt) / (1 + math.Exp(-slope*(similarity-far)))
		least = min(least, 1-maxWrong/(1-right))
	}
	return least
}

// fit fits the logistic curve by Newton's steps, and estimates the variance of its place by
// the delta method. Where similarities separate right from wrong, that method fails. The
// published program then has a table of variances by number of labels; a quarter divided by
// the number comes near it, and is lower from 20 labels on.
func (e *seen) fit() (place, slope, variance float64) {
	const stiff, steep = 1e-3, 200.0
	a, b := 0.0, 1.0
	var haa, hab, hbb, det float64
	for range 50 {
		ga, gb := -stiff*a, -stiff*b
		haa, hab, hbb = stiff, 0, stiff
		for i, s := range e.similarity {
			p := 1 / (1 + math.Exp(-a-b*s))
			d := -p
			if e.right[i] {
				d++
			}
			h := p * (1 - p)
			ga, gb, haa, hab, hbb = ga+d, gb+d*s, haa+h, hab+h*s, hbb+h*s*s
		}
		det = haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		if far := max(math.Abs(da), math.Abs(db)) / 10; far > 1 {
			da, db = da/far, db/far
		}
		if a, b = a+da, b+db; math.Abs(da)+math.Abs(db) < 1e-6 || math.Abs(b) > steep {
			break
		}
	}
	b = max(b, 1e-6)
	place = min(1, max(0, -a/b))
	if e.separable() {
		return place, b, 0.25 / float64(len(e.right))
	}
	x, y := -1/b, a/(b*b)
	return place, b, max(0, (x*x*hbb-2*x*y*hab+y*y*haa)/det)
}

// separable says whether all right answers have higher similarities than all wrong ones.
func (e *seen) separable() bool {
	right, wrong := math.Inf(1), math.Inf(-1)
	for i, s := range e.similarity {
		if e.right[i] {
			right = min(right, s)
		} else {
			wrong = max(wrong, s)
		}
	}
	return right > wrong
}
