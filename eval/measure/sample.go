package measure

import (
	"math"
	"slices"
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
