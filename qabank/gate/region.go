package gate

import (
	"math"

	"github.com/percached/percached"
)

// kept is a label with its vector made ready for comparison.
type kept struct {
	Label           // without its vector
	level int       // of its score
	unit  []float32 // of length 1; nil: unknown
	// right and surprises are how many other labels near it were right, and how many were
	// wrong although the score promised an answer that is hardly ever wrong.
	right, surprises int
}

// maxRegions is how many wrong labels are compared with a question at most, the latest.
const maxRegions = 400

// shut reports whether wrong labels near the vector are not outweighed by right ones. Only
// those count whose scores are high enough to be served: others were not taken for right.
func (g *Gate) shut(vector []float32, threshold float64) bool {
	if len(vector) == 0 {
		return false
	}
	v := unit(vector)
	wrong, right, compared := 0, 0, 0
	for i := len(g.labels) - 1; i >= 0 && compared < maxRegions; i-- {
		l := &g.labels[i]
		if l.Score < threshold || !g.marks(l) {
			continue
		}
		if compared++; cosine(l.unit, v) >= g.o.Near {
			wrong, right = wrong+1, max(right, l.right)
		}
	}
	return wrong > 0 && right < g.o.Amends*wrong
}

// marks says whether a label marks a region that may be shut.
func (g *Gate) marks(l *kept) bool { return !l.Right && l.Score >= g.o.Floor && l.unit != nil }

// surprise says whether a label is wrong where the calibration expects 1 in 20 at most.
func (g *Gate) surprise(l *kept) bool {
	return !l.Right && l.level < len(g.start) && g.start[l.level].wrong <= 0.05
}

// apart says whether a label says nothing about other regions, as its own was shut. Labels
// of served answers always count.
func (g *Gate) apart(l *kept) bool {
	return g.regional && !l.Served && l.shut(g.o.Amends)
}

func (l *kept) shut(amends int) bool { return l.surprises > 1 && l.right < amends*l.surprises }

// findRegional decides whether what is shut are regions, or most of the space.
func (g *Gate) findRegional() {
	n := 0
	for i := range g.labels {
		if g.labels[i].shut(g.o.Amends) {
			n++
		}
	}
	g.regional = 4*n <= len(g.labels)
}

// add appends a label.
func (g *Gate) add(l Label) {
	k := kept{Label: l, level: g.level(l.Score)}
	if len(l.Vector) > 0 {
		k.unit = unit(l.Vector)
	}
	k.Vector = nil
	g.relate(&k, 1)
	g.labels = append(g.labels, k)
}

// relate counts a label for those near it, and those for it; by -1 it is taken away.
func (g *Gate) relate(k *kept, by int) {
	if k.unit == nil {
		return
	}
	surprise := g.surprise(k)
	for i := range g.labels {
		l := &g.labels[i]
		if l.unit == nil || cosine(l.unit, k.unit) < g.o.Near {
			continue
		}
		if k.Right {
			l.right += by
		} else if surprise {
			l.surprises += by
		}
		if l.Right {
			k.right++
		} else if g.surprise(l) {
			k.surprises++
		}
	}
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	if sum > 0 {
		scale := float32(1 / math.Sqrt(sum))
		for i, x := range v {
			out[i] = x * scale
		}
	}
	return out
}

// cosine is that of two vectors of length 1; 0 if another embedder made one of them.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	return float64(percached.Dot(a, b))
}
