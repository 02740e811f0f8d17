package stats

import (
	"math/rand/v2"
	"sort"
)

// BootstrapMean is the percentile bootstrap interval (Efron 1979) of the mean of xs, from resamples draws with
// replacement; the same seed gives the same interval. It is meant for differences per prompt, of which there are
// dozens. Never use it on blocks: below some 15 values the percentile bootstrap is far too narrow. ok is false below
// two values.
func BootstrapMean(xs []float64, confidence float64, resamples int, seed uint64) (interval Interval, ok bool) {
	if len(xs) < 2 || resamples < 1 {
		return Interval{}, false
	}
	rng := rand.New(rand.NewPCG(seed, 0x626f_6f74_7374_7261))
	means := make([]float64, resamples)
	for r := range means {
		sum := 0.0
		for range xs {
			sum += xs[rng.IntN(len(xs))]
		}
		means[r] = sum / float64(len(xs))
	}
	sort.Float64s(means)
	tail := (1 - confidence) / 2
	return Interval{Quantile(means, tail), Quantile(means, 1-tail)}, true
}
