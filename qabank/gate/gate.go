package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Options are the constants of a gate. Start from Default.
type Options struct {
	// Prior is how many own labels the calibration weighs at most.
	Prior float64
	// Margin is by how many standard deviations more answers are taken to be wrong than were
	// counted.
	Margin float64
	// Horizon is over how many answers a wrong one is paid for.
	Horizon float64
	// Labels is how many labels are kept; the oldest go. HalfLife is after how many labels
	// a label counts half.
	Labels, HalfLife int
	// Near is the cosine from which two questions are of one region, and Amends how many
	// right labels there outweigh a wrong one.
	Near   float64
	Amends int
	// Floor is the lowest score that is ever served.
	Floor float64
}

// Default is what the simulations of the tests use.
func Default() Options {
	return Options{Prior: 2000, Margin: 1.28, Horizon: 300, Labels: 2000, HalfLife: 1000, Near: 0.8, Amends: 20, Floor: 0.5}
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
	start  Calibration
	o      Options
	labels []Label   // oldest first
	sorted []weighed // the same, the highest score first
	learnt int       // labels so far
	cached map[float64]standing
}

// standing is what is in force for one budget.
type standing struct {
	threshold float64
	n, wrong  float64 // labels and calibration from the threshold on
	state     State
}

// New makes a gate without labels.
func New(start Calibration, o Options) *Gate {
	return &Gate{start: start, o: o, cached: map[float64]standing{}}
}

// Learn adds a label. It replaces an earlier one with the same ID.
func (g *Gate) Learn(l Label) {
	g.Forget([]string{l.ID})
	if len(g.labels) == g.o.Labels {
		g.Forget([]string{g.labels[0].ID})
	}
	g.labels = append(g.labels, l)
	g.learnt++
	w := weighed{l, g.learnt}
	at, _ := slices.BinarySearchFunc(g.sorted, w, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.number, b.number))
	})
	g.sorted = slices.Insert(g.sorted, at, w)
}

// Forget removes labels.
func (g *Gate) Forget(ids []string) {
	clear(g.cached)
	forgotten := func(l Label) bool { return slices.Contains(ids, l.ID) }
	g.labels = slices.DeleteFunc(g.labels, forgotten)
	g.sorted = slices.DeleteFunc(g.sorted, func(w weighed) bool { return forgotten(w.Label) })
}

// weighed is a label with its number, which says how old it is.
type weighed struct {
	Label
	number int
}

// weight is what a label counts.
func (g *Gate) weight(w *weighed) float64 {
	return math.Exp2(float64(w.number-g.learnt) / float64(g.o.HalfLife))
}

// Decide says whether a stored answer with this score is served for a question with this
// vector.
func (g *Gate) Decide(score float64, vector []float32, maxWrong float64) Decision {
	s := g.standing(maxWrong)
	d := Decision{Threshold: s.threshold}
	switch {
	case s.threshold == never:
		d.Why = "nothing that is not proven is served: " + string(s.state)
	case score < s.threshold:
		d.Why = fmt.Sprintf("%.3f of %.3f", score, s.threshold)
	case g.shut(vector):
		d.Why = "answers to questions like it were wrong"
	default:
		d.Serve, d.Why = true, fmt.Sprintf("%.3f of %.3f", score, s.threshold)
	}
	return d
}

// shut reports whether wrong labels near the vector outweigh the right ones.
func (g *Gate) shut(vector []float32) bool {
	near := func(right bool) (n int) {
		for i := range g.labels {
			if l := &g.labels[i]; l.Right == right && (right || l.Score >= g.o.Floor) && cosine(l.Vector, vector) >= g.o.Near {
				n++
			}
		}
		return n
	}
	wrong := near(false)
	return wrong > 0 && near(true) < wrong*g.o.Amends
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// target is the share of wrong answers that the next answers may have, after the earlier
// ones have used their part of the budget.
func (g *Gate) target(maxWrong float64) float64 {
	served, wrong := 0.0, 0.0
	for i := range g.sorted {
		if l := &g.sorted[i]; l.Served {
			served += g.weight(l)
			if !l.Right {
				wrong += g.weight(l)
			}
		}
	}
	return max(0, min(1, (maxWrong*(served+g.o.Horizon)-wrong)/g.o.Horizon, maxWrong))
}

// standing finds the threshold for a budget.
func (g *Gate) standing(maxWrong float64) standing {
	if s, ok := g.cached[maxWrong]; ok {
		return s
	}
	s := g.find(maxWrong)
	g.cached[maxWrong] = s
	return s
}

func (g *Gate) find(maxWrong float64) standing {
	s := standing{threshold: never, state: Proven}
	if maxWrong <= 0 {
		return s
	}
	own := g.sorted
	trusted := len(g.start) > 0 && !g.contradicted(maxWrong)
	if len(g.start) > 0 && !trusted {
		s.state = Shut
	}
	target := g.target(maxWrong)
	prior := 0.0 // weight of a question of the calibration
	if trusted {
		prior = g.prior()
	}
	var n, wrong, ownN, priorN float64
	steps := g.start
	for len(own) > 0 || prior > 0 && len(steps) > 0 {
		var score float64
		if prior > 0 && len(steps) > 0 && (len(own) == 0 || steps[0].Score >= own[0].Score) {
			score = steps[0].Score
			n, wrong, priorN = n+prior*steps[0].Questions, wrong+prior*steps[0].Wrong, priorN+prior*steps[0].Questions
			steps = steps[1:]
		} else {
			score = own[0].Score
			w := g.weight(&own[0])
			n, ownN = n+w, ownN+w
			if !own[0].Right {
				wrong += w
			}
			own = own[1:]
		}
		if score < g.o.Floor {
			break
		}
		holds := g.expected(wrong) <= target*n
		if !trusted {
			holds = target > 0 && wrong <= target*n && Upper(wrong, n) <= target
		}
		if !holds {
			continue
		}
		s = standing{threshold: score, n: n, wrong: wrong, state: Calibrated}
		if ownN >= priorN {
			s.state = Learnt
		}
	}
	return s
}

// expected is how many answers are taken to be wrong where so many were counted.
func (g *Gate) expected(wrong float64) float64 { return wrong + g.o.Margin*math.Sqrt(wrong+1) }

// prior is the weight of a question of the calibration.
func (g *Gate) prior() float64 {
	n := 0.0
	for _, s := range g.start {
		n += s.Questions
	}
	return min(1, g.o.Prior/n)
}

// contradicted tests the calibration against the labels from the threshold that it gives
// alone: the likelihood of thrice the budget against that of the budget. A calibration that
// holds is given up for one space in twenty at most, however often it is tested.
func (g *Gate) contradicted(maxWrong float64) bool {
	threshold, n, wrong := float64(never), 0.0, 0.0
	for _, s := range g.start {
		if n, wrong = n+s.Questions, wrong+s.Wrong; g.expected(wrong) <= maxWrong*n && s.Score >= g.o.Floor {
			threshold = s.Score
		}
	}
	worse := min(3*maxWrong, (1+maxWrong)/2)
	right, fault := math.Log((1-worse)/(1-maxWrong+1e-12)), math.Log(worse/maxWrong)
	ratio := 0.0
	for i := range g.sorted {
		l := &g.sorted[i]
		if l.Score < threshold {
			break
		}
		if l.Right {
			ratio += g.weight(l) * right
		} else {
			ratio += g.weight(l) * fault
		}
	}
	return ratio >= math.Log(20)
}

// Report says what is in force for a budget. The caller knows what was served.
func (g *Gate) Report(maxWrong float64) Report {
	s := g.standing(maxWrong)
	r := Report{MaxWrong: maxWrong, State: s.state, Threshold: s.threshold}
	if s.n > 0 {
		r.Estimate = s.wrong / s.n
		r.Low, r.High = wilson(s.wrong, s.n)
	}
	return r
}

// wilson is the 95 % confidence interval of a share.
func wilson(k, n float64) (low, high float64) {
	const z = 1.96
	p := k / n
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n))
}

// Upper is the upper 95 % bound of a share of which k of n were seen; both may be
// fractions. It is Clopper and Pearson's, with the incomplete beta function by bisection.
func Upper(k, n float64) float64 {
	if n <= 0 || k >= n {
		return 1
	}
	low, high := k/n, 1.0
	for range 50 {
		mid := (low + high) / 2
		if tail(k, n, mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// tail is the probability of at most k of n at share p, interpolated between whole numbers.
func tail(k, n, p float64) float64 {
	whole := math.Floor(k)
	sum, next := 0.0, 0.0
	for i := 0.0; i <= whole+1 && i <= n; i++ {
		lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
		term := math.Exp(lg(n) - lg(i) - lg(n-i) + i*math.Log(p) + (n-i)*math.Log1p(-p))
		if i <= whole {
			sum += term
		} else {
			next = term
		}
	}
	return sum + (k-whole)*next
}
