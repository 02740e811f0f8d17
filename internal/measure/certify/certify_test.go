package certify

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The figures depend on the machine and are not judged here; that every event is matched is.
func TestRunMatchesEveryEvent(t *testing.T) {
	clock, err := StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	r, err := Run(t.Context(), Options{URL: clock.URL, EventsPerS: 400, Streams: 4, Duration: 250 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lags.N != 100 || r.Lags.P99 <= 0 || r.EventsPerS <= 0 {
		t.Errorf("got %+v, want 100 events with positive lags", r)
	}
}

func TestWatchSeesTheLoadsTime(t *testing.T) {
	clock, err := StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	w := StartWatch(t.Context(), clock)
	time.Sleep(300 * time.Millisecond)
	during, ok := w.Stop()
	if !ok || during.N < 5 || during.N > 60 || during.StampLagP99MS <= 0 {
		t.Errorf("watched %+v (ok %v), want about 30 events", during, ok)
	}
}

func TestSummarize(t *testing.T) {
	var lags []int64
	for i := 100; i >= 1; i-- {
		lags = append(lags, int64(i)*1e4)
	}
	if diff := cmp.Diff(Lags{P50: 0.5, P90: 0.9, P99: 0.99, Max: 1, N: 100}, summarize(lags)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := summarize(nil); got.N != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

// The rate counts while all streams send: the one that began late and the one that ended early bound the time.
func TestTogether(t *testing.T) {
	ms := func(at ...int64) (out []event) {
		for _, v := range at {
			out = append(out, event{at: v * 1e6})
		}
		return out
	}
	events := append(ms(0, 10, 20, 30), ms(10, 20, 30, 40)...)
	if got := together(events, 4); got != 200 { // from 10 to 30 ms: four events
		t.Errorf("rate %g, want 200", got)
	}
	if got := together(append(ms(0, 1), ms(5, 6)...), 2); got != 0 {
		t.Errorf("rate %g of streams that never sent together, want 0", got)
	}
}

func TestCertified(t *testing.T) {
	tests := []struct {
		name string
		r    Result
		want bool
	}{
		{"fast", Result{Planned: 100, EventsPerS: 99, Lags: Lags{P50: 0.05, N: 50}}, true},
		{"late", Result{Planned: 100, EventsPerS: 99, Lags: Lags{P50: 0.2, N: 50}}, false},
		{"does not hold the rate", Result{Planned: 200, EventsPerS: 99, Lags: Lags{P50: 0.05, N: 50}}, false},
		{"no events", Result{Planned: 100}, false},
	}
	for _, tt := range tests {
		if got := tt.r.Certified(); got != tt.want {
			t.Errorf("%s: certified %v", tt.name, got)
		}
	}
}

// A client that holds up to a rate: the ladder finds it within a quarter of an octave, and tries a failed rate twice.
func TestHighest(t *testing.T) {
	for _, limit := range []float64{500, 1000, 7000, 30_000, 1e9} {
		tries := map[float64]int{}
		got, err := Highest(t.Context(), []float64{1000, 2000, 5000, 10_000, 20_000, 50_000}, 2, func(_ context.Context, rate float64) (Result, error) {
			tries[rate]++
			r := Result{Planned: rate, EventsPerS: rate, Lags: Lags{N: 10, P50: 0.01}}
			if rate > limit {
				r.Lags.P50 = 1
			}
			return r, nil
		}, func(Step) {})
		switch {
		case err != nil:
			t.Fatal(err)
		case limit < 1000 && got != 0, limit >= 50_000 && got != 50_000:
			t.Errorf("limit %g: highest %g", limit, got)
		case limit >= 1000 && limit < 50_000 && (got > limit || got < limit/1.35):
			t.Errorf("limit %g: highest %g", limit, got)
		}
		for rate, n := range tries {
			if (rate > limit) != (n == 2) {
				t.Errorf("limit %g: rate %g was tried %d times", limit, rate, n)
			}
		}
	}
}
