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

// powerCurve holds points s of the distribution of S with their weights, so that several delta share them.
type powerCurve struct{ cs, weight []float64 }

// newPowerCurve takes the density of S, proportional to s^(df-1) exp(-df s^2/2), at points of equal distance over eight
// standard deviations around 1, and scales it to a sum of 1.
func newPowerCurve(df, alpha float64) powerCurve {
	const points = 512
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
	spread := 8 / math.Sqrt(2*df)
	from, to := math.Max(0, 1-spread), 1+spread
	curve := powerCurve{make([]float64, points), make([]float64, points)}
	sum := 0.0
	for i := range points {
		s := from + (to-from)*(float64(i)+0.5)/points
		curve.cs[i] = critical * s
		curve.weight[i] = math.Exp((df-1)*math.Log(s) - df*(s*s-1)/2)
		sum += curve.weight[i]
	}
	for i := range curve.weight {
		curve.weight[i] /= sum
	}
	return curve
}

func (c powerCurve) at(delta float64) float64 {
	sum := 0.0
	for i, cs := range c.cs {
		sum += c.weight[i] * (distuv.UnitNormal.CDF(delta-cs) + distuv.UnitNormal.CDF(-delta-cs))
	}
	return sum
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
