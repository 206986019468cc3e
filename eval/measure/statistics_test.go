package measure_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval/measure"
)

func TestQuantiles(t *testing.T) {
	for _, tc := range []struct {
		xs            []float64
		mean          float64
		least, middle float64
		ninety, most  float64
	}{
		{nil, 0, 0, 0, 0, 0},
		{[]float64{7}, 7, 7, 7, 7, 7},
		{[]float64{4, 1, 3, 2}, 2.5, 1, 2.5, 3.7, 4},        // 0.9·3 = 2.7: 3 + 0.7
		{[]float64{-5, 10, 0}, 1.6667, -5, 0, 8, 10},        // 0.9·2 = 1.8: 0 + 0.8·10
		{[]float64{2, 2, 2, 100, 2}, 21.6, 2, 2, 60.8, 100}, // 0.9·4 = 3.6: 2 + 0.6·98
	} {
		before := slices.Clone(tc.xs)
		got := []float64{
			four(measure.Mean(tc.xs)), measure.Quantile(tc.xs, 0), measure.Median(tc.xs),
			four(measure.Quantile(tc.xs, 0.9)), measure.Quantile(tc.xs, 1),
		}
		if d := cmp.Diff([]float64{tc.mean, tc.least, tc.middle, tc.ninety, tc.most}, got); d != "" {
			t.Errorf("%v: %s", tc.xs, d)
		}
		if d := cmp.Diff(before, tc.xs); d != "" {
			t.Error("the values were moved", d)
		}
	}
}

// The limits solve |p - k/n| = z·√(p(1-p)/n).
func TestWilson(t *testing.T) {
	for _, tc := range []struct {
		k, n int
		want measure.Interval
	}{
		{0, 0, measure.Interval{Low: 0, High: 1}},
		{0, 10, measure.Interval{Low: 0, High: 0.2775}}, // z²/(n+z²)
		{10, 10, measure.Interval{Low: 0.7225, High: 1}},
		{5, 10, measure.Interval{Low: 0.2366, High: 0.7634}},
		{1, 100, measure.Interval{Low: 0.0018, High: 0.0545}},
		{0, 705, measure.Interval{Low: 0, High: 0.0054}},
		{81, 263, measure.Interval{Low: 0.2553, High: 0.3662}},
	} {
		got := measure.Wilson(tc.k, tc.n)
		got.Low, got.High = four(got.Low), four(got.High)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%d of %d: %s", tc.k, tc.n, d)
		}
	}
	if i := measure.Wilson(0, 7); i.Low != 0 {
		t.Errorf("none of 7: %v", i.Low)
	}
	if i := measure.Wilson(7, 7); i.High != 1 {
		t.Errorf("7 of 7: %v", i.High)
	}
}

// noise is n values around a mean, with a deviation of 1.
func noise(seed uint64, n int, mean float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = mean + r.NormFloat64()
	}
	return xs
}

// singles are clusters of one value each: independent values.
func singles(xs []float64) (clusters [][]float64) {
	for _, x := range xs {
		clusters = append(clusters, []float64{x})
	}
	return clusters
}

// differences are the differences a-b, each a cluster.
func differences(a, b []float64) [][]float64 {
	diffs := make([]float64, len(a))
	for i := range a {
		diffs[i] = a[i] - b[i]
	}
	return singles(diffs)
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

func TestSeedDecides(t *testing.T) {
	xs := noise(1, 30, 0)
	for name, f := range map[string]func(uint64) any{
		"mean":     func(s uint64) any { return measure.BootstrapClusters(s, singles(xs), nil) },
		"clusters": func(s uint64) any { return measure.BootstrapClusters(s, [][]float64{xs[:5], xs[5:9], xs[9:30]}, nil) },
		"lower": func(s uint64) any {
			return measure.LowerBootstrapClusters(s, [][][2]float64{{{1, 2}}, {{2, 3}, {5, 7}}, {{3, 9}}, {{1, 4}}}, nil)
		},
		"paired": func(s uint64) any { return measure.PairedBootstrapClusters(s, differences(xs, noise(2, 30, 0)), nil) },
	} {
		if d := cmp.Diff(f(3), f(3)); d != "" {
			t.Errorf("%s: the same seed gives another: %s", name, d)
		}
		// Few clusters have few means.
		if (name == "mean" || name == "paired") && cmp.Equal(f(3), f(4)) {
			t.Errorf("%s: another seed gives the same", name)
		}
	}
	if d := cmp.Diff(noise(1, 30, 0), xs); d != "" { // the clusters are parts of xs
		t.Error("the values were moved", d)
	}
}

// The interval of many values is the mean ± 1.96 deviations divided by the root of their
// count.
func TestIntervalOfMany(t *testing.T) {
	xs := noise(5, 400, 20)
	mean := measure.BootstrapClusters(1, singles(xs), nil)
	if w := (mean.High - mean.Low) / 2; !near(w, 1.96/20, 0.1*1.96/20) || !near((mean.High+mean.Low)/2, measure.Mean(xs), 0.01) {
		t.Errorf("%v about %v", mean, measure.Mean(xs))
	}
}

// About 95 of 100 skewed samples have the true mean in their interval; of small samples
// slightly fewer.
func TestCoverage(t *testing.T) {
	r, in, samples := rand.New(rand.NewPCG(9, 9)), 0, 150
	for range samples {
		xs := make([]float64, 20)
		for i := range xs {
			xs[i] = r.ExpFloat64()
		}
		if i := measure.BootstrapClusters(1, singles(xs), nil); i.Low <= 1 && 1 <= i.High {
			in++
		}
	}
	if share := float64(in) / float64(samples); share < 0.86 || share > 0.96 {
		t.Errorf("%v of the intervals hold the mean", share)
	}
}

func TestSmallSamples(t *testing.T) {
	if d := cmp.Diff(measure.Interval{}, measure.BootstrapClusters(1, nil, nil)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(measure.Interval{}, measure.BootstrapClusters(1, [][]float64{nil, {}}, nil)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(measure.Interval{Low: 4, High: 4}, measure.BootstrapClusters(1, [][]float64{{4}}, nil)); d != "" {
		t.Error(d)
	}
}

// Users are drawn first: if each user's values are equal, they say no more than one, and the
// clusters of one user do not count for p.
func TestUsersAreDrawnFirst(t *testing.T) {
	xs := noise(6, 12, 3)
	var clusters [][]float64
	var users []int
	for user, x := range xs {
		for range 10 {
			clusters, users = append(clusters, []float64{x}), append(users, user)
		}
	}
	once, drawn := measure.BootstrapClusters(1, singles(xs), nil), measure.BootstrapClusters(1, clusters, users)
	if !near(drawn.High-drawn.Low, once.High-once.Low, 0.1*(once.High-once.Low)) {
		t.Errorf("once %v, as users %v", once, drawn)
	}
	if apart := measure.BootstrapClusters(1, clusters, nil); (drawn.High - drawn.Low) < 2*(apart.High-apart.Low) {
		t.Errorf("without users %v, with users %v", apart, drawn)
	}
	if p := measure.PairedBootstrapClusters(1, clusters, users); p.P < math.Ldexp(1, -11) || p.N != 120 {
		t.Errorf("%+v", p)
	}
	if p := measure.PairedBootstrapClusters(1, [][]float64{{1}, {2}, {3}, {1}, {2}, {3}}, []int{7, 7, 7, 2, 2, 2}); p.P != 0.5 {
		t.Errorf("two users: %+v", p)
	}
}

// Five equal values say no more than one.
func TestClustersAreDrawnWhole(t *testing.T) {
	xs := noise(6, 40, 3)
	var five [][]float64
	var flat []float64
	for _, x := range xs {
		five = append(five, []float64{x, x, x, x, x})
		flat = append(flat, x, x, x, x, x)
	}
	once, all, clustered := measure.BootstrapClusters(1, singles(xs), nil), measure.BootstrapClusters(1, singles(flat), nil), measure.BootstrapClusters(1, five, nil)
	if !near(once.Low, clustered.Low, 1e-9) || !near(once.High, clustered.High, 1e-9) {
		t.Errorf("once %v, five times %v", once, clustered)
	}
	if ratio := (clustered.High - clustered.Low) / (all.High - all.Low); !near(ratio, math.Sqrt(5), 0.2) {
		t.Errorf("wider by %v than without clusters", ratio)
	}
	p := measure.PairedBootstrapClusters(1, append(five, nil), nil)
	if p.N != 200 || !near(p.Diff, measure.Mean(xs), 1e-9) || !near(p.Low, once.Low, 1e-9) {
		t.Errorf("paired: %+v", p)
	}
	// Values are weighted, not clusters.
	if p := measure.PairedBootstrapClusters(1, [][]float64{{1}, {4, 4, 4}}, nil); p.Diff != 3.25 || p.N != 4 || p.Low != 1 || p.High != 4 {
		t.Errorf("of unequal size: %+v", p)
	}
}

func TestPaired(t *testing.T) {
	b := noise(7, 60, 100)
	plus := func(mean float64) []float64 {
		a := noise(8, 60, mean)
		for i := range a {
			a[i] += b[i]
		}
		return a
	}
	for _, tc := range []struct {
		name         string
		a, b         []float64
		pLow, pHigh  float64
		low0, above0 bool // the interval is below 0, above 0
	}{
		{"the same", b, b, 1, 1, false, false},
		{"noise", plus(0), b, 0.05, 1, false, false},
		{"much more, seen through what both share", plus(1), b, 0, 0.001, false, true},
		{"much less", b, plus(1), 0, 0.001, true, false},
		{"one pair shows nothing", []float64{9}, []float64{1}, 1, 1, false, true},
		{"two pairs show little", []float64{9, 8}, []float64{1, 1}, 0.5, 0.5, false, true},
		{"six pairs of one mind: 2 in 64", []float64{9, 8, 9, 8, 7, 9}, make([]float64, 6), 0.03125, 0.03125, false, true},
		{"nothing", nil, nil, 1, 1, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := measure.PairedBootstrapClusters(1, differences(tc.a, tc.b), nil)
			if p.P < tc.pLow || p.P > tc.pHigh || p.High < 0 != tc.low0 || p.Low > 0 != tc.above0 {
				t.Errorf("%+v", p)
			}
			if p.N != len(tc.a) || !near(p.Diff, measure.Mean(tc.a)-measure.Mean(tc.b), 1e-9) {
				t.Errorf("%d pairs, %v", p.N, p.Diff)
			}
			q := measure.PairedBootstrapClusters(1, differences(tc.b, tc.a), nil)
			if !near(q.P, p.P, 1e-12) || !near(q.Low, -p.High, 1e-9) || !near(q.High, -p.Low, 1e-9) || !near(q.Diff, -p.Diff, 1e-9) {
				t.Errorf("the other way round: %+v, %+v", p, q)
			}
		})
	}
}

// A resample divides one sum by the other, so large pairs weigh more.
func TestLower(t *testing.T) {
	pair := func(a, b float64) [][2]float64 { return [][2]float64{{a, b}} }
	for _, tc := range []struct {
		name     string
		clusters [][][2]float64
		want     measure.Interval
	}{
		{"nothing", nil, measure.Interval{}},
		{"empty clusters", [][][2]float64{nil, {}}, measure.Interval{}},
		{"of nothing", [][][2]float64{pair(1, 0)}, measure.Interval{}},
		{"a part of nothing is left out", [][][2]float64{pair(0, 0), pair(1, 4)}, measure.Interval{Low: 0.75, High: 0.75}},
		{"one", [][][2]float64{pair(30, 40)}, measure.Interval{Low: 0.25, High: 0.25}},
		{"each by the same share", [][][2]float64{pair(1, 4), pair(100, 400), pair(7, 28)}, measure.Interval{Low: 0.75, High: 0.75}},
		// A quarter of the resamples are only the first pair, a quarter only the second.
		{"two", [][][2]float64{pair(50, 100), pair(300, 200)}, measure.Interval{Low: -0.5, High: 0.5}},
		{"whole clusters are drawn", [][][2]float64{{{50, 100}, {300, 200}}, {{1, 3}, {349, 297}}}, measure.Interval{Low: -350.0/300 + 1, High: -350.0/300 + 1}},
	} {
		got := measure.LowerBootstrapClusters(1, tc.clusters, nil)
		if !near(got.Low, tc.want.Low, 1e-9) || !near(got.High, tc.want.High, 1e-9) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	// With few questions that are far apart, the difference divided by the mean of b could
	// exceed 1. The share cannot, and both agree on which is lower.
	var diffs [][]float64
	var pairs [][][2]float64
	for _, p := range [][2]float64{{1, 10}, {1, 500}, {1, 20}, {1, 900}} {
		pairs, diffs = append(pairs, pair(p[0], p[1])), append(diffs, []float64{p[0] - p[1]})
	}
	d := measure.PairedBootstrapClusters(1, diffs, nil)
	got := measure.LowerBootstrapClusters(1, pairs, nil)
	if mean := 1430.0 / 4; -d.Low/mean <= 1 || got.High > 1 || got.Low <= 0 || d.High >= 0 {
		t.Errorf("%v, %+v", got, d)
	}
}

// P agrees with the interval.
func TestPAgreesWithInterval(t *testing.T) {
	seen := map[bool]int{}
	for i := range 20 {
		p := measure.PairedBootstrapClusters(1, singles(noise(11, 40, 0.04*float64(i))), nil)
		outside := p.Low > 0 || p.High < 0
		if outside != (p.P < 0.05) {
			t.Errorf("%+v", p)
		}
		if near(p.P, 0.05, 0.035) {
			seen[outside]++
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("too few near 0.05: %v", seen)
	}
}

// Ana's questions 1, 3 and 4 are one group: 3 has the text of 1, and 4 that of a
// paraphrase of 3. Bo's questions are separate, and a question without text is alone.
func TestDraws(t *testing.T) {
	d := measure.NewQuestionGroups()
	for _, q := range []struct {
		user   string
		number int
		text   string
	}{
		{"ana", 1, "Who pays the rent?"},
		{"ana", 2, "Who pays?"},
		{"ana", 3, "And whose is the rent?"},
		{"ana", 4, "The rent: who?"},
		{"ana", 3, " who PAYS the rent?\n"},
		{"ana", 3, "the rent: who?"},
		{"ana", 5, ""},
		{"ana", 6, " "},
		{"bo", 1, "Who pays the rent?"},
	} {
		d.Add(q.user, q.number, q.text)
	}
	of := func(user string, number int) int { return d.Of(user, number) }
	got := []int{of("ana", 1), of("ana", 2), of("ana", 3), of("ana", 4), of("ana", 5), of("ana", 6), of("bo", 1), of("cy", 1)}
	if d := cmp.Diff([]int{0, 1, 0, 0, 4, 5, 6, -1}, got); d != "" {
		t.Error(d)
	}
	values := []float64{10, 20, 30, 40}
	if d := cmp.Diff([][]float64{{10, 30}, {20}, {40}}, measure.Clusters(values, []int{7, 0, 7, 3})); d != "" {
		t.Error(d)
	}
}
