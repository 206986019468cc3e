package gate

import "math"

// mean is the number of wrong answers that may be expected if, with 95 % probability, not
// more than k are to come: the 5 % quantile of a gamma distribution (Wilson and Hilferty).
func mean(k float64) float64 {
	if k < 0 {
		return 0
	}
	a := k + 1
	root := 1 - 1/(9*a) - 1.645/(3*math.Sqrt(a))
	return a * root * root * root
}

// Wilson is the 95 % confidence interval of a share of which k of n were seen.
func Wilson(k, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.96
	p := k / n
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n))
}

// Upper is the upper 95 % bound of a share of which k of n were seen; both may be
// fractions. It is Clopper and Pearson's, with the incomplete beta function by bisection.
func Upper(k, n float64) float64 {
	if n <= 0 || k >= n {
		return 1
	}
	low, high := k/n, 1.0
	for range 40 {
		mid := (low + high) / 2
		if tail(k, n, mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// tail is the probability of at most k of n at share p, interpolated between whole numbers.
func tail(k, n, p float64) float64 {
	whole := math.Floor(k)
	top, _ := math.Lgamma(n + 1)
	term := func(i float64) float64 {
		x, _ := math.Lgamma(i + 1)
		y, _ := math.Lgamma(n - i + 1)
		return math.Exp(top - x - y + i*math.Log(p) + (n-i)*math.Log1p(-p))
	}
	sum := 0.0
	for i := 0.0; i <= whole && i <= n; i++ {
		sum += term(i)
	}
	if whole+1 <= n {
		sum += (k - whole) * term(whole+1)
	}
	return sum
}
