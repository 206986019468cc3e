package measure

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often a sample is drawn anew.
const resamples = 10_000

// cluster is what the mean takes of values that hang together.
type cluster struct {
	sum   float64
	count int
}

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
	return interval(means(seed, sums(clusters)))
}

// PairedBootstrapClusters compares by differences a-b, of which those of a cluster hang
// together. P is twice the share of resamples on the far side of 0, so it is below 0.05
// where the interval leaves 0 out. It is never below what so many clusters can show at
// all: that all of n point the same way has a chance of 2 in 2^n.
func PairedBootstrapClusters(seed uint64, clusters [][]float64) Paired {
	cs := sums(clusters)
	ms := means(seed, cs)
	if len(ms) == 0 {
		return Paired{P: 1}
	}
	var all cluster
	for _, c := range cs {
		all.sum, all.count = all.sum+c.sum, all.count+c.count
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
		Diff: all.sum / float64(all.count), Interval: interval(ms), N: all.count,
		P: min(1, max(p, math.Ldexp(1, 1-len(cs)))),
	}
}

// sums leaves out clusters without values.
func sums(clusters [][]float64) []cluster {
	var cs []cluster
	for _, xs := range clusters {
		if len(xs) > 0 {
			cs = append(cs, cluster{Mean(xs) * float64(len(xs)), len(xs)})
		}
	}
	return cs
}

// means are the means of the resamples; none if there is nothing to draw from.
func means(seed uint64, cs []cluster) []float64 {
	if len(cs) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0))
	ms := make([]float64, resamples)
	for i := range ms {
		var all cluster
		for range cs {
			c := cs[r.IntN(len(cs))]
			all.sum, all.count = all.sum+c.sum, all.count+c.count
		}
		ms[i] = all.sum / float64(all.count)
	}
	return ms
}

// interval is where 95 % of the resamples lie.
func interval(of []float64) Interval {
	if len(of) == 0 {
		return Interval{}
	}
	slices.Sort(of)
	return Interval{Low: quantile(of, 0.025), High: quantile(of, 0.975)}
}
