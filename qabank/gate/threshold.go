package gate

import (
	"cmp"
	"math"
	"slices"
)

// level is a step of the calibration with the share of wrong answers that it expects.
type level struct {
	Step
	wrong float64 // the share
	x     float64 // the log odds of a right answer
	// ifRight and ifWrong are what a label says against the share: the logarithm of the
	// likelihood of a thrice higher share against this one.
	ifRight, ifWrong float64
}

// levels estimates the shares: they do not fall as the score falls, and they lean on the
// score where the calibration has few questions.
func levels(start Calibration) []level {
	const lean = 5 // questions
	type pool struct {
		n, wrong float64
		steps    int
	}
	var pools []pool
	for _, s := range start {
		pools = append(pools, pool{s.Questions, s.Wrong, 1})
		for i := len(pools) - 1; i > 0 && pools[i-1].wrong*pools[i].n >= pools[i].wrong*pools[i-1].n; i-- {
			pools[i-1] = pool{pools[i-1].n + pools[i].n, pools[i-1].wrong + pools[i].wrong, pools[i-1].steps + pools[i].steps}
			pools = pools[:i]
		}
	}
	out := make([]level, 0, len(start))
	above, least := 1.0, 1e-6
	for _, p := range pools {
		for range p.steps {
			s := start[len(out)]
			nominal := 1 - (above+s.Score)/2
			least = max(least, min(1-1e-6, (p.wrong+lean*nominal)/(p.n+lean)))
			worse := min(3*least, (1+least)/2)
			out = append(out, level{
				Step: s, wrong: least, x: math.Log((1 - least) / least),
				ifRight: math.Log((1 - worse) / (1 - least)), ifWrong: math.Log(worse / least),
			})
			above = s.Score
		}
	}
	return out
}

// tally is what the labels of one level weigh.
type tally struct{ right, wrong float64 }

// level returns the index of the level of a score, len(g.start) below the last.
func (g *Gate) level(score float64) int {
	i, _ := slices.BinarySearchFunc(g.start, score, func(l level, score float64) int { return cmp.Compare(score, l.Score) })
	return i
}

// tallies weighs the labels from the given one on.
func (g *Gate) tallies(from int) []tally {
	out := make([]tally, len(g.start)+1)
	for i := from; i < len(g.labels); i++ {
		if l := &g.labels[i]; l.Score < g.o.Floor || g.apart(l) {
			continue
		} else if l.Right {
			out[l.level].right += g.weight(i)
		} else {
			out[l.level].wrong += g.weight(i)
		}
	}
	return out
}

// contradicted tests the calibration against the labels, one after the other: the
// likelihood of a thrice higher share of wrong answers against that of the expected share.
// It returns whether the calibration holds no more, and from which label on.
//
// The product of all ratios exceeds 20 for one space in twenty at most if the calibration
// holds, however often it is tested (Ville). The product since its lowest point finds a
// change in the middle. It rises by chance too, so that its bound is higher.
func (g *Gate) contradicted() (bool, int) {
	var whole, recent float64
	once, twice := math.Log(20), math.Log(1000)
	from, found, since := 0, false, 0
	for i := range g.labels {
		l := &g.labels[i]
		if l.Score < g.o.Floor || l.level == len(g.start) || g.apart(l) {
			continue
		}
		ratio := g.start[l.level].ifWrong
		if l.Right {
			ratio = g.start[l.level].ifRight
		}
		if whole += ratio; whole >= once {
			found = true
		}
		if recent <= 0 {
			recent, from = 0, i
		}
		if recent += ratio; recent >= twice {
			found, since = true, from
		}
	}
	return found, since
}

// find finds the threshold for a budget.
func (g *Gate) find(maxWrong float64) standing {
	target := g.target(maxWrong)
	if len(g.start) == 0 {
		return g.unaided(target, maxWrong)
	}
	g.findRegional()
	contradicted, from := g.contradicted()
	own := g.tallies(from)
	prior := 0.0 // weight of a question of the calibration
	for _, l := range g.start {
		prior += l.Questions
	}
	prior = min(1, g.o.Prior/max(prior, 1))
	weight := prior
	state := Calibrated
	if contradicted {
		weight, state = prior/20, Shut
	}
	f := g.fit(own, weight)
	s := standing{threshold: never, state: Proven}
	if contradicted || target == 0 {
		s.state = Shut
	}
	var n, wrong, ownN, priorN, ownWrong float64
	for i, l := range g.start {
		if l.Score < g.o.Floor {
			break
		}
		share := f.share(l.x, 0)
		if contradicted {
			share = f.share(l.x, 1.645)
		}
		share = max(share, l.wrong/g.o.Trust) // false labels get no further
		ownN, priorN, ownWrong = ownN+own[i].right+own[i].wrong, priorN+weight*l.Questions, ownWrong+own[i].wrong
		here := own[i].right + own[i].wrong + weight*l.Questions
		n, wrong = n+here, wrong+here*share
		if share > 3*maxWrong {
			break
		}
		if wrong > target*n {
			continue
		}
		s = standing{threshold: l.Score, n: n, wrong: wrong, state: state}
		if ownN >= priorN {
			s.state = Learnt
		}
	}
	return s
}

// unaided finds the threshold without a calibration: the lowest score from which the own
// labels show with 95 % confidence that the share is within the target.
func (g *Gate) unaided(target, maxWrong float64) standing {
	s := standing{threshold: never, state: Proven}
	if target == 0 {
		return standing{threshold: never, state: Shut}
	}
	order := make([]int, len(g.labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.labels[b].Score, g.labels[a].Score) })
	var n, wrong float64
	for k, i := range order {
		l := g.labels[i]
		if l.Score < g.o.Floor {
			break
		}
		if n += g.weight(i); !l.Right {
			wrong += g.weight(i)
		}
		if k+1 < len(order) && g.labels[order[k+1]].Score == l.Score {
			continue
		}
		if wrong <= maxWrong*n && math.Pow(1-maxWrong, n) <= 0.05 && Upper(wrong, n) <= maxWrong {
			s = standing{threshold: l.Score, n: n, wrong: wrong, state: Learnt}
		}
	}
	return s
}

// line says how the log odds of a right answer follow from those that the calibration
// expects, with the inverse of the information about both numbers.
type line struct{ a, b, vaa, vab, vbb float64 }

// share is the share of wrong answers, z standard deviations higher than expected.
func (f line) share(x, z float64) float64 {
	sd := math.Sqrt(max(0, f.vaa+2*x*f.vab+x*x*f.vbb))
	return 1 / (1 + math.Exp(f.a+f.b*x-z*sd))
}

// fit fits the line to the labels, and to the questions of the calibration with a weight:
// logistic regression by Newton's steps, and a weak prior that keeps it finite.
func (g *Gate) fit(own []tally, weight float64) line {
	f := line{b: 1}
	for range 12 {
		const stiff = 1.0
		ga, gb, haa, hab, hbb := -stiff*f.a, -4*stiff*(f.b-1), stiff, 0.0, 4*stiff
		for i, l := range g.start {
			n := weight * l.Questions
			right, all := n*(1-l.wrong)+own[i].right, n+own[i].right+own[i].wrong
			p := 1 / (1 + math.Exp(-f.a-f.b*l.x))
			d, h := right-all*p, all*p*(1-p)
			ga, gb = ga+d, gb+d*l.x
			haa, hab, hbb = haa+h, hab+h*l.x, hbb+h*l.x*l.x
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		if far := max(math.Abs(da), math.Abs(db)); far > 1 {
			da, db = da/far, db/far
		}
		f = line{f.a + da, max(0, f.b+db), hbb / det, -hab / det, haa / det}
		if math.Abs(da)+math.Abs(db) < 1e-6 {
			break
		}
	}
	return f
}
