package stats

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// T is an estimate with its standard error and the degrees of freedom of its Student t distribution: all that
// intervals and tests need. With SE zero (all values equal) intervals have no width and p values are 0 or 1.
type T struct {
	N    int     // values, or the smaller group of two
	Mean float64 // estimate
	SE   float64 // standard error of Mean
	DF   float64 // degrees of freedom
}

// OneSample estimates the mean of xs. It needs two values. On differences of paired blocks it is the paired t test.
func OneSample(xs []float64) (T, error) {
	n := len(xs)
	if n < 2 {
		return T{}, fmt.Errorf("a t interval needs at least 2 values, got %d", n)
	}
	return T{N: n, Mean: Mean(xs), SE: SD(xs) / math.Sqrt(float64(n)), DF: float64(n - 1)}, nil
}

// Welch estimates mean(b) - mean(a) of two independent groups with variances of their own (Welch 1947, degrees of
// freedom by Satterthwaite). It needs two values in each.
func Welch(a, b []float64) (T, error) {
	if len(a) < 2 || len(b) < 2 {
		return T{}, fmt.Errorf("a t interval of two groups needs at least 2 values in each, got %d and %d", len(a), len(b))
	}
	na, nb := float64(len(a)), float64(len(b))
	va, vb := SD(a)*SD(a)/na, SD(b)*SD(b)/nb
	t := T{N: min(len(a), len(b)), Mean: Mean(b) - Mean(a), SE: math.Sqrt(va + vb), DF: na + nb - 2}
	if va+vb > 0 {
		t.DF = (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	}
	return t, nil
}

// Interval is the two-sided confidence interval of the mean, for confidence 0.95 say.
func (t T) Interval(confidence float64) Interval {
	half := t.quantile(1-(1-confidence)/2) * t.SE
	return Interval{t.Mean - half, t.Mean + half}
}

// P is the two-sided p value of the hypothesis that the true mean is zero.
func (t T) P() float64 { return math.Min(1, 2*t.tail(-math.Abs(t.Mean))) }

// TOST is the p value of the two one-sided tests (Schuirmann 1987) of the hypothesis that the true mean lies outside
// (-margin, +margin). Below 0.05 exactly when the 90 % interval lies within the margin.
func (t T) TOST(margin float64) float64 {
	return math.Max(t.tail(t.Mean-margin), t.tail(-margin-t.Mean))
}

// tail is P(T*SE <= x) for a central t variable.
func (t T) tail(x float64) float64 {
	if t.SE == 0 {
		switch {
		case x < 0:
			return 0
		case x > 0:
			return 1
		}
		return 0.5
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.DF}.CDF(x / t.SE)
}

func (t T) quantile(p float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.DF}.Quantile(p)
}

// Holm adjusts the p values of one family of tests (Holm 1979): an adjusted value at or below alpha rejects with the
// family-wise error rate held at alpha. The order of the result is that of ps.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return ps[order[a]] < ps[order[b]] })
	adjusted := make([]float64, len(ps))
	running := 0.0
	for rank, i := range order {
		running = math.Max(running, math.Min(1, float64(len(ps)-rank)*ps[i]))
		adjusted[i] = running
	}
	return adjusted
}
