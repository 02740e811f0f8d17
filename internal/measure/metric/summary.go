package metric

import (
	"slices"

	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

// The smallest samples for which a quantile is given: the bound of the MLPerf early-stopping rule at confidence 0.99
// (stats.MinSamples). Below six values no two order statistics cover the median with 95 %.
const (
	MinP90      = 64
	MinP95      = 130
	MinP99      = 662
	MinP999     = 6636
	MinInterval = 6
)

// Summarize gives mean, quantiles and their 95 % intervals by order statistics (stats.QuantileRanks). Quantiles
// interpolate linearly between order statistics (Hyndman and Fan's type 7); those that the sample is too small for are
// nil. values must not be empty.
func Summarize(values []float64) record.Summary { return summarizeInPlace(slices.Clone(values), true) }

// summarizeInPlace is Summarize that sorts its argument. Without independent there are no intervals.
func summarizeInPlace(v []float64, independent bool) record.Summary {
	slices.Sort(v)
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	s := record.Summary{Mean: sum / float64(len(v)), P50: stats.Quantile(v, 0.5), N: len(v)}
	if independent {
		s.Lo, s.Hi = interval(v, 0.5)
	}
	for _, q := range []struct {
		p          float64
		min        int
		at, lo, hi **float64
	}{
		{0.9, MinP90, &s.P90, &s.P90Lo, &s.P90Hi},
		{0.95, MinP95, &s.P95, &s.P95Lo, &s.P95Hi},
		{0.99, MinP99, &s.P99, &s.P99Lo, &s.P99Hi},
		{0.999, MinP999, &s.P999, &s.P999Lo, &s.P999Hi},
	} {
		if len(v) >= q.min {
			x := stats.Quantile(v, q.p)
			*q.at = &x
			if independent {
				*q.lo, *q.hi = interval(v, q.p)
			}
		}
	}
	return s
}

// interval is the 95 % interval of a quantile of sorted values, nil when they are too few.
func interval(v []float64, p float64) (lo, hi *float64) {
	l, h, ok := stats.QuantileRanks(len(v), p, 0.95)
	if !ok {
		return nil, nil
	}
	a, b := v[l-1], v[h-1] // not pointers into v, which is used again
	return &a, &b
}

// Median is the middle of values, 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
}
