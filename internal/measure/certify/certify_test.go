package certify

import (
	"context"
	"errors"
	"math"
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
	r, err := Run(t.Context(), Options{Clock: clock, EventsPerS: 400, Streams: 4, Duration: 250 * time.Millisecond})
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
	during, err := w.Stop()
	if err != nil || during.N < 1 || during.N > 100 || during.StampLagP99MS <= 0 {
		t.Errorf("watched %+v, %v; want some events: about 12 on an idle machine", during, err)
	}
}

// A clock that ends under the watch is told of, not taken for a quick client.
func TestWatchTellsWhyNot(t *testing.T) {
	clock, err := StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	w := StartWatch(t.Context(), clock)
	clock.Close()
	w.done.Wait()
	if _, err := w.Stop(); err == nil || errors.Is(err, ErrShort) {
		t.Errorf("got error %v, want that of the stream", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartWatch(ended, clock).Stop(); !errors.Is(err, ErrShort) {
		t.Errorf("nothing seen: error %v, want %v", err, ErrShort)
	}
}

// A wall clock that was set between the two processes' starts shows as events that arrive before they were sent.
func TestSetClockIsNoLag(t *testing.T) {
	w := &Watch{cancel: func() {}, lags: []int64{50_000, -int64(time.Second)}}
	if _, err := w.Stop(); !errors.Is(err, ErrClock) {
		t.Errorf("error %v, want %v", err, ErrClock)
	}
}

func TestScheduleCountsEveryRequest(t *testing.T) {
	clock, err := StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	l, err := Schedule(t.Context(), clock, 200, 200*time.Millisecond)
	if err != nil || l.N < 10 || l.P50 < 0 || l.Max < l.P99 {
		t.Errorf("got %+v, %v; want about 40 requests", l, err)
	}
}

func TestPauses(t *testing.T) {
	edges := []float64{0, 1e-5, 1e-4, 1e-3, math.Inf(1)}
	before := Pauses{count: []uint64{5, 1, 0, 0}, edges: edges}
	after := Pauses{count: []uint64{5, 99, 1, 1}, edges: edges}
	got := after.since(before)
	if got.N != 100 || math.Abs(got.TotalMS-(98*0.1+1+1)) > 1e-9 || got.P99MS != 1 || got.MaxMS != 1 {
		t.Errorf("got %+v", got)
	}
	if none := after.since(after); none.N != 0 || none.MaxMS != 0 || none.TotalMS != 0 {
		t.Errorf("no pause: %+v", none)
	}
}

func TestSummarize(t *testing.T) {
	var lags []int64
	for i := 100; i >= 1; i-- {
		lags = append(lags, int64(i)*1e4)
	}
	if diff := cmp.Diff(Lags{P50: 0.5, P90: 0.9, P99: 0.99, Max: 1, N: 100}, Summarize(lags)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Summarize(nil); got.N != 0 {
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
