// Package stats holds the statistics behind a verdict: Student's t on log ratios of blocks, equivalence tests, Holm's
// correction, power, exact intervals of quantiles, and a bootstrap over prompts. It works on plain numbers and knows
// nothing of servers, requests or verdicts; docs/methods.md says why these methods and not others.
package stats

import (
	"math"
	"sort"
)

// Interval is a closed interval.
type Interval struct{ Lo, Hi float64 }

// Mean is the arithmetic mean; NaN of nothing.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// SD is the standard deviation of a sample (n-1 in the denominator); NaN below two values.
func SD(xs []float64) float64 {
	mean, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// Median is the middle value, or the mean of the two middle ones; NaN of nothing. It leaves xs as it is.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := append([]float64(nil), xs...)
	sort.Float64s(sorted)
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// LogGeoMean is the logarithm of the geometric mean, that is the mean of the logarithms. It is NaN of nothing and of
// anything that is not positive: a time of zero is a measurement that failed, not a fast one.
func LogGeoMean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		if !(x > 0) {
			return math.NaN()
		}
		sum += math.Log(x)
	}
	return sum / float64(len(xs))
}

// GeoMean is the geometric mean; NaN where LogGeoMean is.
func GeoMean(xs []float64) float64 { return math.Exp(LogGeoMean(xs)) }
