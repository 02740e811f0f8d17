package arrival

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func law(t *rapid.T) Law {
	return Law{
		Rate:       rapid.Float64Range(0.1, 1000).Draw(t, "rate"),
		Burstiness: rapid.SampledFrom([]float64{0, 0.25, 1, 4}).Draw(t, "burstiness"),
		Constant:   rapid.Bool().Draw(t, "constant"),
		Ramp:       time.Duration(rapid.IntRange(0, 10_000).Draw(t, "ramp")) * time.Millisecond,
	}
}

// A schedule is a function of law and seed, ascending, begins at once, and a shorter one is a prefix of a longer one.
func TestScheduleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, seed := law(t), rapid.Uint64().Draw(t, "seed")
		all := l.Schedule(seed, 200, 0)
		if len(all) != 200 || all[0] != 0 || !slices.IsSorted(all) {
			t.Fatalf("%d moments, first %v, sorted %v", len(all), all[0], slices.IsSorted(all))
		}
		if diff := cmp.Diff(all, l.Schedule(seed, 200, 0)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(all[:50], l.Schedule(seed, 50, 0)); diff != "" {
			t.Fatal(diff)
		}
		end := all[100]
		for _, at := range l.Schedule(seed, 200, end) {
			if at >= end {
				t.Fatalf("a request at %v, the load ends at %v", at, end)
			}
		}
	})
}

// Gaps have the law's mean and coefficient of variation.
func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		l  Law
		cv float64
	}{{Law{Rate: 50}, 1}, {Law{Rate: 50, Burstiness: 1}, 1}, {Law{Rate: 50, Burstiness: 0.25}, 2}, {Law{Rate: 50, Burstiness: 4}, 0.5}, {Law{Rate: 50, Constant: true}, 0}} {
		s := tt.l.Schedule(7, 20_000, 0)
		mean := s[len(s)-1].Seconds() / float64(len(s)-1)
		squares := 0.0
		for i := 1; i < len(s); i++ {
			g := (s[i] - s[i-1]).Seconds() - mean
			squares += g * g
		}
		cv := math.Sqrt(squares/float64(len(s))) / mean
		if math.Abs(mean-0.02) > 0.001 || math.Abs(cv-tt.cv) > 0.08 {
			t.Errorf("%+v: mean gap %.4f s and coefficient of variation %.3f, want 0.02 and %g", tt.l, mean, cv, tt.cv)
		}
	}
}

// Over a ramp half as many requests come as at the full rate, a quarter of them in its first half.
func TestRamp(t *testing.T) {
	l := Law{Rate: 100, Constant: true, Ramp: 10 * time.Second}
	count := func(until time.Duration) int { return len(l.Schedule(0, 0, until)) }
	for until, want := range map[time.Duration]int{5 * time.Second: 125, 10 * time.Second: 500, 20 * time.Second: 1500} {
		if got := count(until); got < want-1 || got > want+1 {
			t.Errorf("%d requests in the first %v, want %d", got, until, want)
		}
	}
}

func TestConstantDoesNotDrift(t *testing.T) {
	s := Law{Rate: 3, Constant: true}.Schedule(0, 3001, 0)
	if s[3000] != 1000*time.Second {
		t.Errorf("request 3000 at three a second is sent at %v, want 1000 s", s[3000])
	}
}

// The number to expect is that of a schedule of equal gaps.
func TestExpect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := law(t)
		l.Constant = true
		d := time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond
		if n := float64(len(l.Schedule(0, 0, d))); math.Abs(n-l.Expect(d)) > 1.001 {
			t.Errorf("%v requests in %v, expected %v", n, d, l.Expect(d))
		}
	})
}

// Moments beyond what a duration can hold come last instead of first.
func TestFarFuture(t *testing.T) {
	if s := (Law{Rate: minRate, Constant: true}).Schedule(0, 20_000, 0); !slices.IsSorted(s) {
		t.Error("a slow schedule is not ascending")
	}
	if s := Scale([]time.Duration{0, time.Hour, 2 * time.Hour}, 1e-300); !slices.IsSorted(s) || s[1] <= 0 {
		t.Errorf("a trace played slowly: %v", s)
	}
}

func TestScale(t *testing.T) {
	got := Scale([]time.Duration{time.Second, 3 * time.Second, 11 * time.Second}, 2)
	if diff := cmp.Diff([]time.Duration{0, time.Second, 5 * time.Second}, got); diff != "" {
		t.Error(diff)
	}
	if Scale(nil, 1) != nil {
		t.Error("nothing scaled is something")
	}
}

func TestCheck(t *testing.T) {
	for _, l := range []Law{{}, {Rate: -1}, {Rate: 1e-300}, {Rate: 1e300}, {Rate: math.NaN()}, {Rate: math.Inf(1)}, {Rate: 1, Burstiness: -1}, {Rate: 1, Burstiness: math.NaN()}, {Rate: 1, Ramp: -1}} {
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), "give ") {
			t.Errorf("%+v: got error %v, want one that says what to give", l, err)
		}
	}
	if err := (Law{Rate: 0.5, Burstiness: 0.5, Ramp: time.Minute}).Check(); err != nil {
		t.Error(err)
	}
}
