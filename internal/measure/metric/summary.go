package metric

import (
	"math"
	"slices"

	"treeline/internal/measure/record"
)

// The smallest samples for which a figure is given. For quantiles it is the bound of the MLPerf early-stopping rule at
// confidence 0.99. Below six values no two order statistics cover the median with 95 %.
const (
	MinP90      = 64
	MinP99      = 662
	MinInterval = 6
)

// Summarize gives mean, quantiles and the 95 % interval of the median. Quantiles interpolate linearly between order
// statistics (Hyndman and Fan's type 7); those that the sample is too small for are nil. values must not be empty.
func Summarize(values []float64) record.Summary {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	s := record.Summary{Mean: sum / float64(n), P50: quantile(v, 0.5), N: n}
	if n >= MinP90 {
		q := quantile(v, 0.9)
		s.P90 = &q
	}
	if n >= MinP99 {
		q := quantile(v, 0.99)
		s.P99 = &q
	}
	if k := MedianRank(n); k > 0 {
		lo, hi := v[k-1], v[n-k]
		s.Lo, s.Hi = &lo, &hi
	}
	return s
}

// quantile interpolates in sorted values.
func quantile(v []float64, p float64) float64 {
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Median is the middle of values, 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// MedianRank is the largest k for which the k-th smallest and k-th largest of n values enclose the median with at
// least 95 %: 1 - 2 P(Binomial(n, 1/2) < k). It is 0 when even the extremes do not (n < 6).
func MedianRank(n int) int {
	const alpha = 0.05
	k, tail := 0, 0.0
	for ; k < n/2; k++ {
		tail += math.Exp(logChoose(n, k) - float64(n)*math.Ln2) // P(Binomial = k)
		if 2*tail > alpha {
			break
		}
	}
	return k
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}
