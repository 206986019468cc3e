package gate

import (
	"fmt"
	"math"
	"slices"
)

// Options are the constants of a gate. Start from Default.
type Options struct {
	// Prior is how many own labels the calibration weighs at most.
	Prior float64
	// Trust is the factor by which own labels may lower the share of wrong answers that the
	// calibration expects of a score.
	Trust float64
	// Safety is the part of the budget that the expected share of wrong answers uses at most.
	Safety float64
	// Horizon is how many answers the gate plans ahead.
	Horizon float64
	// Unchecked is how many answers are served one after the other without a label. The next
	// one is computed, which gives a label.
	Unchecked int
	// Labels is how many labels are kept; the oldest go. HalfLife is after how many labels
	// a label counts half.
	Labels, HalfLife int
	// Near is the cosine from which two questions are of one region. Amends is how many
	// right labels there outweigh a wrong one.
	Near   float64
	Amends int
	// Floor is the lowest score that is ever served.
	Floor float64
}

// Default is what the simulations of the tests use.
func Default() Options {
	return Options{
		Prior: 400, Trust: 1.5, Safety: 0.65, Horizon: 1000, Unchecked: 50, Labels: 2000, HalfLife: 1000,
		Near: 0.8, Amends: 20, Floor: 0.5,
	}
}

// Step counts questions whose best score is at least Score and below that of the step
// before, and how many of their stored answers were wrong.
type Step struct{ Score, Questions, Wrong float64 }

// Calibration is what is known before the first label: steps, the highest score first.
type Calibration []Step

// Label says whether a stored answer was right for a question.
type Label struct {
	ID     string
	Score  float64
	Vector []float32 // of the question
	Served bool      // otherwise the answer was only considered
	Right  bool
}

// Decision is whether a stored answer is served.
type Decision struct {
	Serve     bool
	Threshold float64 // the score in force
	Why       string
}

// never is the threshold when nothing is served.
const never = 2

// Gate decides for one space.
type Gate struct {
	start     []level
	o         Options
	weights   []float64 // of a label by its age
	labels    []kept    // oldest first
	regional  bool      // few labels are in shut regions
	unchecked int       // answers served since the latest label that checks one
	lowest    float64   // the lowest threshold that they were served from
	cached    map[float64]standing
}

// New makes a gate without labels.
func New(start Calibration, o Options) *Gate {
	weights := make([]float64, o.Labels+1)
	for age := range weights {
		weights[age] = math.Exp2(-float64(age) / float64(o.HalfLife))
	}
	return &Gate{weights: weights, start: levels(start), o: o, lowest: never, cached: map[float64]standing{}}
}

// Learn adds a label. It replaces an earlier one with the same ID.
func (g *Gate) Learn(l Label) {
	if !(l.Score >= 0 && l.Score <= 1) {
		return
	}
	if l.Served || l.Score >= g.lowest {
		g.unchecked, g.lowest = 0, never
	}
	g.remove(func(old string) bool { return old == l.ID })
	g.add(l)
	if len(g.labels) > g.o.Labels {
		oldest := g.labels[0].ID
		g.remove(func(id string) bool { return id == oldest })
	}
}

// Forget removes labels.
func (g *Gate) Forget(ids []string) {
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	g.remove(func(id string) bool { return gone[id] })
}

// remove removes labels, and discards what was derived from them.
func (g *Gate) remove(gone func(id string) bool) {
	clear(g.cached)
	for i := len(g.labels) - 1; i >= 0; i-- {
		if gone(g.labels[i].ID) {
			l := g.labels[i]
			g.labels = slices.Delete(g.labels, i, i+1)
			g.relate(&l, -1)
		}
	}
}

// Decide says whether a stored answer with this score is served for a question with this
// vector. It counts what it serves until the next label.
func (g *Gate) Decide(score float64, vector []float32, maxWrong float64) Decision {
	s := g.standing(maxWrong)
	d := Decision{Threshold: s.threshold}
	switch {
	case s.threshold == never:
		d.Why = "nothing that is not proven is served: " + string(s.state)
	case !(score >= s.threshold):
		d.Why = fmt.Sprintf("score %.4f, served from %.4f", score, s.threshold)
	case g.shut(vector, s.threshold):
		d.Why = "answers to questions like it were wrong"
	case g.unchecked >= g.o.Unchecked:
		d.Why = fmt.Sprintf("%d answers were served without a check; this one is computed to check it", g.unchecked)
	default:
		g.unchecked, g.lowest = g.unchecked+1, min(g.lowest, s.threshold)
		d.Serve, d.Why = true, fmt.Sprintf("score %.4f, served from %.4f", score, s.threshold)
	}
	return d
}

// standing is what is in force for one budget.
type standing struct {
	threshold float64
	n, wrong  float64 // labels and calibration from the threshold on
	state     State
}

// standing finds what is in force for a budget, once after each change.
func (g *Gate) standing(maxWrong float64) standing {
	if !(maxWrong > 0) {
		return standing{threshold: never, state: Proven}
	}
	s, ok := g.cached[maxWrong]
	if !ok {
		if len(g.cached) >= 16 { // a request may name any budget
			clear(g.cached)
		}
		s = g.find(min(maxWrong, 1))
		g.cached[maxWrong] = s
	}
	return s
}

// weight is what the i-th label counts.
func (g *Gate) weight(i int) float64 { return g.weights[len(g.labels)-1-i] }

// target is the share of wrong answers that the next answers may have, after the earlier
// ones have used their part of the budget: the share at which the budget is exceeded at the
// end of the horizon in one case of twenty.
func (g *Gate) target(maxWrong float64) float64 {
	served, wrong := 0.0, 0.0
	for i := range g.labels {
		if l := &g.labels[i]; l.Served {
			served += g.weight(i)
			if !l.Right {
				wrong += g.weight(i)
			}
		}
	}
	ahead := g.o.Horizon
	return min(g.o.Safety*maxWrong, mean(maxWrong*(served+ahead)-wrong)/ahead)
}

// Report says what is in force for a budget. The caller knows what was served.
func (g *Gate) Report(maxWrong float64) Report {
	s := g.standing(maxWrong)
	r := Report{MaxWrong: maxWrong, State: s.state, Threshold: s.threshold}
	if s.n > 0 {
		r.Estimate = s.wrong / s.n
		r.Low, r.High = Wilson(s.wrong, s.n)
	}
	return r
}
