package loadgen

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/record"
)

func numbered(i int) (Job, error) {
	return Job{Request: record.Request{ID: i}, Body: fmt.Appendf(nil, `{"n":%d}`, i)}, nil
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(10, 10*time.Millisecond)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		seen := map[int]bool{}
		err := Run(t.Context(), c, Plan{Concurrency: 3, Requests: 10, Job: numbered}, func(r *record.Request, _ *record.Stream) error {
			seen[r.ID] = r.OK
			if r.Sched != r.Call || ms(r.Last-r.First) != 90 {
				t.Errorf("request %d: sched %d, call %d, first to last %v ms; want equal and 90", r.ID, r.Sched, r.Call, ms(r.Last-r.First))
			}
			time.Sleep(200 * time.Millisecond) // a slow consumer must not move a stamp
			return nil
		})
		if err != nil || len(seen) != 10 || !seen[9] || s.most() != 3 {
			t.Errorf("error %v, %d requests, at most %d in flight; want none, 10, 3", err, len(seen), s.most())
		}
		time.Sleep(time.Hour)
	})
}

func TestOpenLoopKeepsPlannedTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, time.Second)} // slower than the arrivals: a closed loop would wait
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		p := Plan{Schedule: []time.Duration{0, 1e8, 2e8, 3e8, 4e8}, Job: numbered}
		got := map[int][2]float64{}
		err := Run(t.Context(), c, p, func(r *record.Request, _ *record.Stream) error {
			got[r.ID] = [2]float64{ms(r.Sched), ms(r.Call)}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for id := 1; id < 5; id++ {
			if want := float64(id) * 100; got[id] != [2]float64{want, want} {
				t.Errorf("request %d planned and sent at %v ms, want %v", id, got[id], want)
			}
		}
		time.Sleep(time.Hour)
	})
}

// Requests are made before their moments: a burst of long prompts leaves together.
func TestMakingRequestsDelaysNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, time.Second)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		p := Plan{Duration: 10 * time.Second, Cut: true, Job: func(i int) (Job, error) {
			time.Sleep(50 * time.Millisecond)
			return numbered(i)
		}}
		for i := range 200 {
			p.Schedule = append(p.Schedule, time.Duration(i/10)*time.Second) // ten at a time, one in 100 ms
		}
		n := 0
		err := Run(t.Context(), c, p, func(r *record.Request, _ *record.Stream) error {
			n++
			if r.Call != r.Sched {
				t.Errorf("request %d sent %v ms after its moment", r.ID, ms(r.Call-r.Sched))
			}
			return nil
		})
		if err != nil || n != 100 {
			t.Errorf("error %v, %d requests; want none and the 100 of ten seconds", err, n)
		}
		time.Sleep(time.Hour)
	})
}

// With two places the third request of a burst waits for the first to end, is late against its plan, and says so.
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, time.Second)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		p := Plan{Schedule: []time.Duration{1e6, 1e8, 2e8, 5e9}, MaxInFlight: 2, Job: numbered}
		var got [4][2]float64
		var capped []int
		err := Run(t.Context(), c, p, func(r *record.Request, _ *record.Stream) error {
			got[r.ID] = [2]float64{ms(r.Sched), ms(r.Call)}
			if r.Capped {
				capped = append(capped, r.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([4][2]float64{{1, 1}, {100, 100}, {200, 1001}, {5000, 5000}}, got); diff != "" {
			t.Errorf("planned and sent, in ms (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{2}, capped); diff != "" || s.most() != 2 {
			t.Errorf("capped %v, at most %d in flight; want request 2 and 2", capped, s.most())
		}
		time.Sleep(time.Hour)
	})
}

// The callers of a closed loop begin one after another.
func TestClosedRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, 10*time.Second)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		var got []float64
		err := Run(t.Context(), c, Plan{Concurrency: 4, Requests: 4, Ramp: 2 * time.Second, Job: numbered}, func(r *record.Request, _ *record.Stream) error {
			got = append(got, ms(r.Call))
			return nil
		})
		if diff := cmp.Diff([]float64{0, 500, 1000, 1500}, got); err != nil || diff != "" {
			t.Errorf("error %v, begun at (-want +got):\n%s", err, diff)
		}
		time.Sleep(time.Hour)
	})
}

// A ramp that has not come to its end when nothing is left to send does not hold up the end of the load.
func TestClosedRampEndsWithTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, time.Second)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		began, n := time.Now(), 0
		err := Run(t.Context(), c, Plan{Concurrency: 10, Requests: 3, Ramp: time.Hour, Job: numbered}, func(*record.Request, *record.Stream) error {
			n++
			return nil
		})
		if took := time.Since(began); err != nil || n != 3 || took != 3*time.Second {
			t.Errorf("error %v, %d requests in %v; want none, 3 in 3 s, one after another", err, n, took)
		}
		time.Sleep(time.Hour)
	})
}

// Requests that wait for a place when the time is up are never sent; those planned at a free moment are, however late
// in the window.
func TestCappedRequestsAreDroppedWhenTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(1, 2*time.Second)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		p := Plan{Schedule: []time.Duration{1e6, 1e9, 24e8, 29e8}, MaxInFlight: 1, Duration: 3 * time.Second, Job: numbered}
		got := map[int][2]float64{}
		err := Run(t.Context(), c, p, func(r *record.Request, _ *record.Stream) error {
			got[r.ID] = [2]float64{ms(r.Sched), ms(r.Call)}
			return nil
		})
		if diff := cmp.Diff(map[int][2]float64{0: {1, 1}, 1: {1000, 2001}}, got); err != nil || diff != "" {
			t.Errorf("error %v; planned and sent, in ms (-want +got):\n%s", err, diff)
		}
		time.Sleep(time.Hour)
	})
}

func TestDurationEndsSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(3, 100*time.Millisecond)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		n := 0
		err := Run(t.Context(), c, Plan{Concurrency: 1, Duration: time.Second, Job: numbered}, func(r *record.Request, _ *record.Stream) error {
			n++
			if !r.OK {
				t.Errorf("request %d cut: %s", r.ID, r.Error)
			}
			return nil
		})
		if err != nil || n != 4 {
			t.Errorf("error %v, %d requests; want none and 4 (the last in flight is finished)", err, n)
		}
		time.Sleep(time.Hour)
	})
}

func TestCancelKeepsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(10, 100*time.Millisecond)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var classes []string
		err := Run(ctx, c, Plan{Concurrency: 1, Requests: 10, Job: numbered}, func(r *record.Request, _ *record.Stream) error {
			classes = append(classes, r.ErrorClass)
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want the context's", err)
		}
		if diff := cmp.Diff([]string{"", "", record.ClassCancelled}, classes); diff != "" {
			t.Errorf("classes (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
	})
}

func TestErrorOfTheRecordEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(10, 100*time.Millisecond)}
		c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial})
		full := errors.New("disk full")
		err := Run(t.Context(), c, Plan{Concurrency: 2, Requests: 100, Job: numbered}, func(*record.Request, *record.Stream) error { return full })
		if !errors.Is(err, full) || s.seen() > 6 {
			t.Errorf("got error %v after %d requests, want %v at once", err, s.seen(), full)
		}
		time.Sleep(time.Hour)
	})
}
