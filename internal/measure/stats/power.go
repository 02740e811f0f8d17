package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability that a two-sided t test at level alpha with df degrees of freedom rejects zero when the
// true mean lies delta standard errors away from it.
//
// T = (Z + delta)/S with S^2 = chi^2(df)/df. Given S = s the test rejects with Phi(delta - c s) + Phi(-delta - c s), c
// the critical value; Power is the mean of that over S.
func Power(delta, df, alpha float64) float64 { return newPowerCurve(df, alpha).at(delta) }

// powerCurve holds c*s at equally probable s, so that several delta cost one pass over the quantiles of chi^2.
type powerCurve []float64

func newPowerCurve(df, alpha float64) powerCurve {
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
	chi2 := distuv.ChiSquared{K: df}
	curve := make(powerCurve, 512)
	for i := range curve {
		// Midpoints: at the ends of the unit interval the quantile is 0 and infinite.
		curve[i] = critical * math.Sqrt(chi2.Quantile((float64(i)+0.5)/float64(len(curve)))/df)
	}
	return curve
}

func (c powerCurve) at(delta float64) float64 {
	sum := 0.0
	for _, cs := range c {
		sum += distuv.UnitNormal.CDF(delta-cs) + distuv.UnitNormal.CDF(-delta-cs)
	}
	return sum / float64(len(c))
}

// DetectableEffect is the smallest true mean that a two-sided test at level alpha would have detected with the given
// power, for the standard error and the degrees of freedom of t, in the unit of t.Mean. It says nothing about t.Mean.
func (t T) DetectableEffect(alpha, power float64) float64 {
	curve := newPowerCurve(t.DF, alpha)
	lo, hi := 0.0, 1.0
	for curve.at(hi) < power {
		hi *= 2
	}
	for range 30 {
		mid := (lo + hi) / 2
		if curve.at(mid) < power {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi * t.SE
}

// maxBlocks bounds BlocksNeeded: nobody runs more.
const maxBlocks = 10_000

// BlocksNeeded is the smallest number of blocks whose differences, of standard deviation sd, show a true effect with
// the given power in a two-sided test at level alpha. It is at least 2, and at most 10 000 however small the effect.
func BlocksNeeded(sd, effect, alpha, power float64) int {
	if sd == 0 {
		return 2
	}
	if effect == 0 {
		return maxBlocks
	}
	enough := func(n int) bool {
		return Power(math.Abs(effect)/sd*math.Sqrt(float64(n)), float64(n-1), alpha) >= power
	}
	return 2 + sort.Search(maxBlocks-2, func(i int) bool { return enough(i + 2) })
}
