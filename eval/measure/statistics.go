package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Interval is where a value lies with a confidence of 95 %.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Mean is the mean of values; of none it is 0.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Median is the median of values, of an even count between the two in the middle; of
// none it is 0.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Quantile is the value below which the share q of the values lies: the least for 0,
// the most for 1, in a straight line between neighbours; of none it is 0.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(xs)), q)
}

func quantile(sorted []float64, q float64) float64 {
	last := len(sorted) - 1
	at := min(max(q, 0), 1) * float64(last)
	i := int(at)
	if i == last {
		return sorted[last]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Wilson is the interval of a share of which k of n were seen, after Wilson's score:
// it holds for small n, and where k is 0 or n. Of none nothing is known: 0 to 1.
func Wilson(k, n int) Interval {
	if n <= 0 {
		return Interval{Low: 0, High: 1}
	}
	const z = 1.959963984540054 // 95 % of the normal distribution lie within ±z
	p, m := float64(k)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	i := Interval{Low: (middle - half) / (1 + z*z/m), High: (middle + half) / (1 + z*z/m)}
	if k == 0 { // what rounding leaves
		i.Low = 0
	}
	if k == n {
		i.High = 1
	}
	return i
}

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

// QuestionGroups says which questions hang together, so that a bootstrap draws them as one: a
// question with its paraphrases, and all questions of a user that have the same text.
// All have to be added before Of tells anything.
type QuestionGroups struct {
	parents   []int
	questions map[numbered]int
	texts     map[wording]int
}

type numbered struct {
	user   string
	number int
}

type wording struct{ user, text string }

// NewQuestionGroups has no questions yet.
func NewQuestionGroups() *QuestionGroups {
	return &QuestionGroups{questions: map[numbered]int{}, texts: map[wording]int{}}
}

// Fold is what two texts have in common that are the same but for case and the space
// around them.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// Add enters a text by which a user's question was asked: its own, or a paraphrase. An
// empty text is nobody's.
func (d *QuestionGroups) Add(user string, number int, text string) {
	question := numbered{user, number}
	own, ok := d.questions[question]
	if !ok {
		own = len(d.parents)
		d.parents, d.questions[question] = append(d.parents, own), own
	}
	same := wording{user, Fold(text)}
	if same.text == "" {
		return
	}
	other, ok := d.texts[same]
	if !ok {
		d.texts[same] = own
		return
	}
	a, b := d.root(own), d.root(other)
	d.parents[max(a, b)] = min(a, b)
}

// Of is the number of the draw that a question belongs to.
func (d *QuestionGroups) Of(user string, number int) int {
	at, ok := d.questions[numbered{user, number}]
	if !ok {
		return -1
	}
	return d.root(at)
}

func (d *QuestionGroups) root(at int) int {
	for d.parents[at] != at {
		at = d.parents[at]
	}
	return at
}

// Clusters puts values of the same draw together, in the order of the first of each.
func Clusters[V any](values []V, draws []int) (clusters [][]V) {
	at := map[int]int{}
	for i, draw := range draws {
		where, ok := at[draw]
		if !ok {
			where = len(clusters)
			at[draw], clusters = where, append(clusters, nil)
		}
		clusters[where] = append(clusters[where], values[i])
	}
	return clusters
}
