package measure

import "slices"

// Times sums up so many times, in milliseconds. Of none, all is 0.
type Times struct {
	Count  int     `json:"count"`
	Mean   float64 `json:"mean_ms"`
	Median float64 `json:"median_ms"` // of an even count, between the two in the middle
	P90    float64 `json:"p90_ms"`    // the least that nine of ten do not exceed
}

// Of sums up times in milliseconds.
func Of(ms []float64) Times {
	n := len(ms)
	if n == 0 {
		return Times{}
	}
	ms = slices.Sorted(slices.Values(ms))
	sum := 0.0
	for _, x := range ms {
		sum += x
	}
	return Times{
		Count: n, Mean: sum / float64(n),
		Median: (ms[(n-1)/2] + ms[n/2]) / 2,
		P90:    ms[(9*n+9)/10-1],
	}
}
