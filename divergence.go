package percached

import "math"

// Divergence is that of Kullback and Leibler of two predictions of the next token, in nats, from
// their scores. That of predictions over different vocabularies is infinite.
func Divergence(from, to []float32) float64 {
	norm := func(scores []float32) float64 {
		most, sum := math.Inf(-1), 0.0
		for _, s := range scores {
			most = max(most, float64(s))
		}
		for _, s := range scores {
			sum += math.Exp(float64(s) - most)
		}
		return most + math.Log(sum)
	}
	if len(from) != len(to) {
		return math.Inf(1)
	}
	a, b, sum := norm(from), norm(to), 0.0
	for i := range from {
		log := float64(from[i]) - a
		sum += math.Exp(log) * (log - float64(to[i]) + b)
	}
	return sum
}
