package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// scipy is what testdata/scipy.py computed.
type scipy struct {
	OneSample []struct {
		X                               []float64
		P, Lo95, Hi95, Lo90, Hi90, TOST float64
	} `json:"one_sample"`
	Welch []struct {
		A, B              []float64
		P, DF, Lo95, Hi95 float64
	}
	Holm []struct {
		P, Adjusted []float64
	}
	Power []struct {
		Delta, DF, Power float64
	}
	Blocks []struct {
		SD, Effect float64
		Blocks     int
	}
	MedianRanks []struct{ N, Lo, Hi int } `json:"median_ranks"`
	Quantile    struct {
		X         []float64
		Q         []struct{ P, V float64 }
		GMean, SD float64
	}
}

func loadScipy(t *testing.T) scipy {
	t.Helper()
	data, err := os.ReadFile("testdata/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	var s scipy
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

func TestAgainstSciPy(t *testing.T) {
	s := loadScipy(t)
	if len(s.OneSample) == 0 || len(s.Welch) == 0 || len(s.Holm) == 0 || len(s.Power) == 0 || len(s.Blocks) == 0 || len(s.MedianRanks) == 0 {
		t.Fatal("testdata/scipy.json lacks a section")
	}
	for _, c := range s.OneSample {
		e, err := OneSample(c.X)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "p", e.P(), c.P, 1e-9)
		near(t, "lo95", e.Interval(0.95).Lo, c.Lo95, 1e-9)
		near(t, "hi95", e.Interval(0.95).Hi, c.Hi95, 1e-9)
		near(t, "lo90", e.Interval(0.90).Lo, c.Lo90, 1e-9)
		near(t, "hi90", e.Interval(0.90).Hi, c.Hi90, 1e-9)
		near(t, "tost", e.TOST(0.02), c.TOST, 1e-9)
	}
	for _, c := range s.Welch {
		e, err := Welch(c.A, c.B)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "welch p", e.P(), c.P, 1e-9)
		near(t, "welch df", e.DF, c.DF, 1e-9)
		near(t, "welch lo", e.Interval(0.95).Lo, c.Lo95, 1e-8)
		near(t, "welch hi", e.Interval(0.95).Hi, c.Hi95, 1e-8)
	}
	for _, c := range s.Holm {
		for i, got := range Holm(c.P) {
			near(t, "holm", got, c.Adjusted[i], 1e-12)
		}
	}
	for _, c := range s.Power {
		near(t, "power", Power(c.Delta, c.DF, 0.05), c.Power, 1e-4)
	}
	for _, c := range s.Blocks {
		if got := BlocksNeeded(c.SD, c.Effect, 0.05, 0.8); got != c.Blocks {
			t.Errorf("BlocksNeeded(%v, %v) = %d, want %d", c.SD, c.Effect, got, c.Blocks)
		}
	}
	for _, c := range s.MedianRanks {
		lo, hi, ok := QuantileRanks(c.N, 0.5, 0.95)
		if ok != (c.Lo >= 1) || ok && (lo != c.Lo || hi != c.Hi) {
			t.Errorf("QuantileRanks(%d) = %d, %d, %v, want %d, %d", c.N, lo, hi, ok, c.Lo, c.Hi)
		}
	}
	for _, q := range s.Quantile.Q {
		near(t, "quantile", Quantile(s.Quantile.X, q.P), q.V, 1e-12)
	}
	near(t, "gmean", GeoMean(s.Quantile.X), s.Quantile.GMean, 1e-12)
	near(t, "sd", SD(s.Quantile.X), s.Quantile.SD, 1e-12)
	near(t, "median", Median(s.Quantile.X), s.Quantile.X[8], 0)
}

// The table of MLPerf's early stopping as we recomputed it.
func TestMinSamples(t *testing.T) {
	for _, c := range []struct {
		p, confidence float64
		want          int
	}{{0.5, 0.99, 11}, {0.75, 0.99, 24}, {0.9, 0.99, 64}, {0.95, 0.99, 130}, {0.99, 0.99, 662}, {0.999, 0.99, 6636}, {0.5, 0.95, 8}, {0.9, 0.95, 46}, {0.99, 0.95, 473}} {
		if got := MinSamples(c.p, c.confidence); got != c.want {
			t.Errorf("MinSamples(%v, %v) = %d, want %d", c.p, c.confidence, got, c.want)
		}
	}
}

func TestDetectableEffect(t *testing.T) {
	e := T{N: 5, SE: 0.01, DF: 4}
	effect := e.DetectableEffect(0.05, 0.8)
	near(t, "power at the detectable effect", Power(effect/e.SE, e.DF, 0.05), 0.8, 1e-6)
}

func TestDegenerate(t *testing.T) {
	if _, err := OneSample([]float64{1}); err == nil {
		t.Error("one value gave a t interval")
	}
	if _, err := Welch([]float64{1, 2}, []float64{1}); err == nil {
		t.Error("one value in a group gave a t interval")
	}
	same := T{N: 3, Mean: 0.5, SE: 0, DF: 2}
	if same.P() != 0 || same.TOST(0.02) != 1 || same.Interval(0.95) != (Interval{0.5, 0.5}) {
		t.Errorf("equal values: p %v, tost %v, interval %v", same.P(), same.TOST(0.02), same.Interval(0.95))
	}
	zero := T{N: 3, DF: 2}
	if zero.P() != 1 || zero.TOST(0.02) != 0 {
		t.Errorf("all zero: p %v, tost %v", zero.P(), zero.TOST(0.02))
	}
	for _, xs := range [][]float64{nil, {1, 0}, {1, -1}, {1, math.NaN()}} {
		if !math.IsNaN(LogGeoMean(xs)) {
			t.Errorf("LogGeoMean(%v) = %v, want NaN", xs, LogGeoMean(xs))
		}
	}
	if MedianInterval([]float64{1, 2, 3, 4, 5}, 0.95) != nil {
		t.Error("five values gave a 95 % interval of the median")
	}
	if got := MedianInterval([]float64{1, 2, 3, 4, 5, 6}, 0.95); got == nil || *got != (Interval{1, 6}) {
		t.Errorf("six values: %v, want the first to the last", got)
	}
	if _, ok := BootstrapMean([]float64{1}, 0.95, 100, 1); ok {
		t.Error("one value gave a bootstrap interval")
	}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 3, 12).Draw(t, "xs")
		shift := rapid.Float64Range(-1, 1).Draw(t, "shift")
		e, _ := OneSample(xs)
		shifted, negated := make([]float64, len(xs)), make([]float64, len(xs))
		for i, x := range xs {
			shifted[i], negated[i] = x+shift, -x
		}
		s, _ := OneSample(shifted)
		m, _ := OneSample(negated)
		a, b := e.Interval(0.95), s.Interval(0.95)
		if math.Abs(a.Lo+shift-b.Lo) > 1e-9 || math.Abs(a.Hi+shift-b.Hi) > 1e-9 {
			t.Fatalf("shifting by %v moved the interval from %v to %v", shift, a, b)
		}
		if math.Abs(m.P()-e.P()) > 1e-9 || math.Abs(m.TOST(0.02)-e.TOST(0.02)) > 1e-9 {
			t.Fatal("swapping the arms changed a p value")
		}
		if inside := a.Lo > 0 || a.Hi < 0; e.SE > 1e-9 && math.Abs(e.P()-0.05) > 1e-9 && inside != (e.P() < 0.05) {
			t.Fatalf("interval %v and p %v disagree", a, e.P())
		}
		ninety := e.Interval(0.90)
		if within := ninety.Lo > -0.5 && ninety.Hi < 0.5; e.SE > 1e-9 && within != (e.TOST(0.5) < 0.05) {
			t.Fatalf("90 %% interval %v and TOST %v disagree", ninety, e.TOST(0.5))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		p := rapid.Float64Range(0.01, 0.99).Draw(t, "p")
		lo, hi, ok := QuantileRanks(n, p, 0.95)
		below := distuv.Binomial{N: float64(n), P: p}
		if !ok { // not even the extremes are enough on one side
			if below.CDF(0) <= 0.025 && 1-below.CDF(float64(n-1)) <= 0.025 {
				t.Fatalf("n = %d, p = %g: no interval, although the extremes are one", n, p)
			}
			return
		}
		outside := func(lo, hi int) (left, right float64) {
			return below.CDF(float64(lo - 1)), 1 - below.CDF(float64(hi-1))
		}
		if l, r := outside(lo, hi); l > 0.025 || r > 0.025 {
			t.Fatalf("n = %d, p = %g: %g and %g outside of %d to %d", n, p, l, r, lo, hi)
		}
		if l, r := outside(lo+1, hi-1); l <= 0.025 || r <= 0.025 {
			t.Fatalf("n = %d, p = %g: %d to %d is not the shortest", n, p, lo, hi)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 8).Draw(t, "ps")
		adjusted := Holm(ps)
		for i := range ps {
			if adjusted[i] < ps[i] || adjusted[i] > 1 || adjusted[i] > float64(len(ps))*ps[i]+1e-12 {
				t.Fatalf("Holm(%v) = %v", ps, adjusted)
			}
			for j := range ps {
				if ps[i] < ps[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("Holm(%v) = %v changes the order", ps, adjusted)
				}
			}
		}
	})
}

// Coverage by simulation with a fixed seed: of 4000 intervals 95 % hold the truth, within four standard errors (1.4 %).
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const runs = 4000
	var paired, welch, median, boot int
	for range runs {
		a, b, d := make([]float64, 4), make([]float64, 7), make([]float64, 5)
		for i := range a {
			a[i] = 0.01 * rng.NormFloat64()
		}
		for i := range b {
			b[i] = 0.1 + 0.03*rng.NormFloat64()
		}
		for i := range d {
			d[i] = 0.7 + 0.05*rng.NormFloat64()
		}
		e, _ := OneSample(d)
		w, _ := Welch(a, b)
		paired += holds(e.Interval(0.95), 0.7)
		welch += holds(w.Interval(0.95), 0.1)
		skewed := make([]float64, 20)
		for i := range skewed {
			skewed[i] = rng.ExpFloat64()
		}
		sort.Float64s(skewed)
		median += holds(*MedianInterval(skewed, 0.95), math.Ln2)
	}
	for range 400 {
		xs := make([]float64, 60)
		for i := range xs {
			if rng.Float64() < 0.3 {
				xs[i] = 1
			}
		}
		interval, _ := BootstrapMean(xs, 0.95, 400, 1)
		boot += holds(interval, 0.3)
	}
	near(t, "paired t coverage", float64(paired)/runs, 0.95, 0.014)
	near(t, "Welch coverage", float64(welch)/runs, 0.95, 0.014)
	near(t, "median coverage", float64(median)/runs, 0.959, 0.014) // the achieved confidence at n = 20
	near(t, "bootstrap coverage", float64(boot)/400, 0.94, 0.04)
}

func holds(i Interval, truth float64) int {
	if i.Lo <= truth && truth <= i.Hi {
		return 1
	}
	return 0
}
