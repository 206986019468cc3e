package measure

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often a sample is drawn anew.
const resamples = 10_000

// cluster is what a resample takes of values that hang together: their sum, and that
// of what it is held against, which for a mean is their count.
type cluster struct{ sum, over float64 }

// Paired is how far apart two systems are on the same questions.
type Paired struct {
	Diff float64 `json:"diff"` // mean of a-b
	Interval
	P float64 `json:"p"` // two-sided
	N int     `json:"n"` // pairs
}

// BootstrapClusters is the interval of the mean of all values, where those of a
// cluster hang together, as repeats of a question do: whole clusters are drawn. Of
// few clusters it is too narrow. Of no values it is empty; of one, it is that value, and
// says nothing.
func BootstrapClusters(seed uint64, clusters [][]float64) Interval {
	return interval(shares(seed, sums(clusters)))
}

// LowerBootstrapClusters is the interval of how much lower a is than b, as a share of b:
// 1 less the sum of a by that of b. Clusters are of pairs a, b, and drawn as those of
// PairedBootstrapClusters are, so both say the same of which is lower. Of values that
// are not negative it never passes 1. Of no pairs, or where b is 0, it is empty.
func LowerBootstrapClusters(seed uint64, clusters [][][2]float64) Interval {
	var cs []cluster
	for _, pairs := range clusters {
		if len(pairs) == 0 {
			continue
		}
		var c cluster
		for _, p := range pairs {
			c.sum, c.over = c.sum+p[0], c.over+p[1]
		}
		cs = append(cs, c)
	}
	all := shares(seed, cs)
	for i, share := range all {
		all[i] = 1 - share
	}
	return interval(all)
}

// PairedBootstrapClusters compares by differences a-b, of which those of a cluster hang
// together. P is twice the share of resamples on the far side of 0, so it is below 0.05
// where the interval leaves 0 out. It is never below what so many clusters can show at
// all: that all of n point the same way has a chance of 2 in 2^n.
func PairedBootstrapClusters(seed uint64, clusters [][]float64) Paired {
	cs := sums(clusters)
	ms := shares(seed, cs) // means, as each value counts 1
	if len(ms) == 0 {
		return Paired{P: 1}
	}
	var all cluster
	for _, c := range cs {
		all.sum, all.over = all.sum+c.sum, all.over+c.over
	}
	below, above := 1, 1 // that which was seen is one of the possible
	for _, m := range ms {
		if m <= 0 {
			below++
		}
		if m >= 0 {
			above++
		}
	}
	p := 2 * float64(min(below, above)) / (resamples + 1)
	return Paired{
		Diff: all.sum / all.over, Interval: interval(ms), N: int(all.over),
		P: min(1, max(p, math.Ldexp(1, 1-len(cs)))),
	}
}

// sums leaves out clusters without values.
func sums(clusters [][]float64) []cluster {
	var cs []cluster
	for _, xs := range clusters {
		if len(xs) > 0 {
			cs = append(cs, cluster{Mean(xs) * float64(len(xs)), float64(len(xs))})
		}
	}
	return cs
}

// shares are what the resamples come to, but for those that have nothing to divide by;
// none if there is nothing to draw from.
func shares(seed uint64, cs []cluster) []float64 {
	if len(cs) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0))
	some := make([]float64, 0, resamples)
	for range resamples {
		var all cluster
		for range cs {
			c := cs[r.IntN(len(cs))]
			all.sum, all.over = all.sum+c.sum, all.over+c.over
		}
		if all.over != 0 {
			some = append(some, all.sum/all.over)
		}
	}
	return some
}

// interval is where 95 % of the resamples lie.
func interval(of []float64) Interval {
	if len(of) == 0 {
		return Interval{}
	}
	slices.Sort(of)
	return Interval{Low: quantile(of, 0.025), High: quantile(of, 0.975)}
}
