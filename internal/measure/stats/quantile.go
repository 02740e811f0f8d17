package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileRanks gives the ranks (from 1) of the two order statistics that enclose the p-quantile of the distribution
// behind n samples with at least the given confidence, whatever that distribution is. The interval is the shortest
// that leaves at most half of the remaining probability on either side. ok is false when n is too small for one: for
// the median at 0.95 below 6.
func QuantileRanks(n int, p, confidence float64) (lo, hi int, ok bool) {
	if n < 1 {
		return 0, 0, false
	}
	below := distuv.Binomial{N: float64(n), P: p} // the number of samples at or below the quantile
	tail := (1 - confidence) / 2
	// Both are found by bisection: a run has millions of gaps. x_(lo+1) would lie above the quantile with P(B <= lo), and
	// x_(hi-1) below it with at most P(B >= hi-1).
	lo = sort.Search(n, func(k int) bool { return below.CDF(float64(k)) > tail })
	hi = 1 + sort.Search(n, func(k int) bool { return 1-below.CDF(float64(k)) <= tail })
	return lo, hi, lo >= 1 && hi <= n
}

// MedianInterval is the order-statistic interval of the median of sorted values, nil when they are too few.
func MedianInterval(sorted []float64, confidence float64) *Interval {
	lo, hi, ok := QuantileRanks(len(sorted), 0.5, confidence)
	if !ok {
		return nil
	}
	return &Interval{sorted[lo-1], sorted[hi-1]}
}

// MinSamples is the smallest number of samples from which a p-quantile can be claimed with the given confidence when
// one of them may lie above it: the early-stopping bound of MLPerf LoadGen with t = 1, h + 1 for the smallest h with
// I_p(h, 2) < 1 - confidence, I the regularised incomplete beta function.
func MinSamples(p, confidence float64) int {
	h := 1
	for mathext.RegIncBeta(float64(h), 2, p) >= 1-confidence {
		h++
	}
	return h + 1
}

// Quantile is the p-quantile of sorted values with linear interpolation between order statistics (type 7 of Hyndman
// and Fan 1996, the default of NumPy and R); NaN of nothing.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
