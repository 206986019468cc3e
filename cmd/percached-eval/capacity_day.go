package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/percached/percached/cmd/percached-eval/persona"
)

// question is one question of the day. Times are in seconds, of asking since midnight.
type question struct {
	at     float64
	bank   bool    // a stored answer serves it
	model  float64 // time of the model if not
	stored bool    // with stored tensors
}

// chances are the shares of questions that stored data serves.
type chances struct{ repeat, paraphrase, other, warm float64 }

// readAhead is the share of retrieved chunks with stored tensors, by the share of chunks that have
// room: docs/measurements.md, "Reading ahead" (LoCoMo). For all chunks docs/prediction.md has 0.90 to 1.
var readAhead = [][2]float64{{0, 0}, {0.05, 0.117}, {0.2, 0.337}, {0.5, 0.676}, {1, 0.96}}

// stored is the share of chunks with stored tensors if a share of them has room.
func stored(room float64) float64 {
	i := 1
	for i < len(readAhead)-1 && readAhead[i][0] < room {
		i++
	}
	a, b := readAhead[i-1], readAhead[i]
	return a[1] + (b[1]-a[1])*(room-a[0])/(b[0]-a[0])
}

// day draws the questions of a user. What is drawn depends on nothing but profile, seed, user and
// peak, so that two plans are compared with the same questions.
func (o *capacity) day(p persona.Profile, c chances, user int, to []question) []question {
	r := rand.New(rand.NewPCG(o.seed, uint64(user)))
	n := p.Questions.Least + r.IntN(p.Questions.Most-p.Questions.Least+1)
	if r.IntN(p.AskEvery) > 0 {
		n = 0
	}
	sigma := math.Log(o.spread) / 1.645 // of a lognormal distribution with this 95th percentile
	for range n {
		q := question{at: 3600 * (persona.AskFrom + (persona.AskUntil-persona.AskFrom)*moment(r, o.peak))}
		chance, bank, warm, size := c.of(p, r.Float64()), r.Float64(), r.Float64(), r.NormFloat64()
		q.bank, q.stored = bank < chance, warm < c.warm
		q.model = o.cold.Seconds()
		if q.stored {
			q.model = o.warm.Seconds()
		}
		q.model *= math.Exp(sigma*size - sigma*sigma/2) // its mean is 1
		to = append(to, q)
	}
	return to
}

// of returns the chance of a stored answer of a question, which x from 0 to 1 chooses.
func (c chances) of(p persona.Profile, x float64) float64 {
	switch {
	case x < p.Repeats:
		return c.repeat
	case x < p.Repeats+p.Paraphrases:
		return c.paraphrase
	}
	return c.other
}

// moment draws a moment of the waking hours, from 0 to 1. The rate is a cosine with its peak in
// the middle: at peak 1 it is even, at peak 2 it begins and ends with zero.
func moment(r *rand.Rand, peak float64) float64 {
	for {
		if x := r.Float64(); r.Float64()*peak < 1-(peak-1)*math.Cos(2*math.Pi*x) {
			return x
		}
	}
}

// served is what the questions of a node met. Times are in seconds.
type served struct {
	asked, bank, warm, cold int
	waits, took             []float64
	model, front            float64 // computing time
}

// serve plays the questions of a node. They must be in order of time. A question takes the core
// that is free first; the model computes one at a time. So no question waits longer because
// another is missing.
func (o *capacity) serve(questions []question, s *served) {
	cores := make([]float64, o.cores) // when each is free
	front, model := o.front.Seconds(), 0.0
	for _, q := range questions {
		i := 0
		for j, free := range cores {
			if free < cores[i] {
				i = j
			}
		}
		done := max(q.at, cores[i]) + front
		cores[i] = done
		wait := done - front - q.at
		s.asked, s.front = s.asked+1, s.front+front
		if q.bank {
			s.bank++
		} else {
			begun := max(done, model)
			wait += begun - done
			done = begun + q.model
			model, s.model = done, s.model+q.model
			if q.stored {
				s.warm++
			} else {
				s.cold++
			}
		}
		s.waits, s.took = append(s.waits, wait), append(s.took, done-q.at)
	}
}

// play serves the day on some of the nodes: user u is on node u modulo nodes.
func (o *capacity) play(p persona.Profile, c chances, nodes, some int) *served {
	s := &served{}
	var questions []question
	for node := range some {
		questions = questions[:0]
		for user := node; user < o.users; user += nodes {
			questions = o.day(p, c, user, questions)
		}
		slices.SortFunc(questions, func(a, b question) int { return cmp.Compare(a.at, b.at) })
		o.serve(questions, s)
	}
	slices.Sort(s.waits)
	slices.Sort(s.took)
	return s
}
