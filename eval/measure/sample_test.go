package measure_test

import (
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

// The bounds solve |p - k/n| = z·√(p(1-p)/n).
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
