package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Interval is a 95 % confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Mean is the mean of values; 0 of none.
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

// Median is the median of values, between the two middle ones of an even count; 0 of none.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Quantile is the value below which the share q of the values lies, with linear
// interpolation: 0 is the least, 1 the greatest; 0 of none.
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

// Wilson is Wilson's score interval of the share k of n. It holds for small n, and if k is
// 0 or n. With n 0 it is 0 to 1.
func Wilson(k, n int) Interval {
	if n <= 0 {
		return Interval{Low: 0, High: 1}
	}
	const z = 1.959963984540054 // 95 % of the normal distribution lie within ±z
	p, m := float64(k)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	i := Interval{Low: (middle - half) / (1 + z*z/m), High: (middle + half) / (1 + z*z/m)}
	if k == 0 { // without rounding errors
		i.Low = 0
	}
	if k == n {
		i.High = 1
	}
	return i
}

// resamples is the number of bootstrap resamples.
const resamples = 10_000

// cluster sums up values that are drawn together: their sum, and the sum of what it is
// divided by. For a mean that is their count.
type cluster struct {
	user      int
	sum, over float64
}

// Paired is the difference of two systems on the same questions.
type Paired struct {
	Diff float64 `json:"diff"` // mean of a-b
	Interval
	P float64 `json:"p"` // two-sided
	N int     `json:"n"` // pairs
}

// BootstrapClusters is the interval of the mean of all values. Resamples draw users, and of
// each drawn user whole clusters of related values, such as the repeats of a question. Users
// names the user of each cluster; nil: all are of one. With few of both it is too narrow. It
// is empty of no values, and the value itself of one.
func BootstrapClusters(seed uint64, clusters [][]float64, users []int) Interval {
	return interval(shares(seed, sums(clusters, users)))
}

// LowerBootstrapClusters is the interval of how much lower a is than b, as a share of b: 1
// minus the sum of a divided by the sum of b. The clusters are of pairs a, b. They are
// drawn as in PairedBootstrapClusters, so both agree on which is lower. For values that
// are not negative it is at most 1. It is empty without pairs, or if b is 0.
func LowerBootstrapClusters(seed uint64, clusters [][][2]float64, users []int) Interval {
	var cs []cluster
	for i, pairs := range clusters {
		if len(pairs) == 0 {
			continue
		}
		c := cluster{user: userOf(users, i)}
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

// PairedBootstrapClusters compares by the differences a-b, in clusters of related values.
// P is twice the share of resamples on the far side of 0. So P is below 0.05 if the
// interval excludes 0. P is never below the chance that all n users, or the n clusters of one
// user, point the same way: 2 in 2^n.
func PairedBootstrapClusters(seed uint64, clusters [][]float64, users []int) Paired {
	cs := sums(clusters, users)
	ms := shares(seed, cs) // means, because each value counts 1
	if len(ms) == 0 {
		return Paired{P: 1}
	}
	var all cluster
	for _, c := range cs {
		all.sum, all.over = all.sum+c.sum, all.over+c.over
	}
	below, above := 1, 1 // the observed sample is one of the possible
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
		P: min(1, max(p, math.Ldexp(1, 1-independent(cs)))),
	}
}

// sums leaves out clusters without values.
func sums(clusters [][]float64, users []int) []cluster {
	var cs []cluster
	for i, xs := range clusters {
		if len(xs) > 0 {
			cs = append(cs, cluster{userOf(users, i), Mean(xs) * float64(len(xs)), float64(len(xs))})
		}
	}
	return cs
}

func userOf(users []int, i int) int {
	if users == nil {
		return 0
	}
	return users[i]
}

// byUser are the clusters of each user.
func byUser(cs []cluster) [][]cluster {
	users := make([]int, len(cs))
	for i, c := range cs {
		users[i] = c.user
	}
	return Clusters(cs, users)
}

// independent is the number of users, or of clusters if there is one user.
func independent(cs []cluster) int {
	if users := len(byUser(cs)); users > 1 {
		return users
	}
	return len(cs)
}

// shares are the ratios of the resamples, without those that divide by 0. It is empty
// without clusters.
func shares(seed uint64, cs []cluster) []float64 {
	if len(cs) == 0 {
		return nil
	}
	r, users := rand.New(rand.NewPCG(seed, 0)), byUser(cs)
	some := make([]float64, 0, resamples)
	for range resamples {
		var all cluster
		for range users {
			own := users[0]
			if len(users) > 1 {
				own = users[r.IntN(len(users))]
			}
			for range own {
				c := own[r.IntN(len(own))]
				all.sum, all.over = all.sum+c.sum, all.over+c.over
			}
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

// QuestionGroups says which questions a bootstrap draws together: a question with its
// paraphrases, and all questions of a user with the same text. Add all questions before
// the first call of Of.
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

// Fold is a text without case and surrounding space.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// Add adds the text of a user's question or of its paraphrase. An empty text groups
// nothing.
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

// Of is the number of a question's group.
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

// Clusters groups the values with the same draw, in the order of the first of each.
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
