package metric

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"treeline/internal/measure/record"
	"treeline/internal/wire/openai"
)

// drawLoad makes up to five requests of a closed loop with one place. Bursts are apart by 40 ms and more, so that no time
// within one is taken for the pause between two.
func drawLoad(t *rapid.T) []record.Request {
	var out []record.Request
	now := int64(1e9)
	for range rapid.IntRange(1, 5).Draw(t, "requests") {
		r := record.Request{
			OK: true, Level: 1, Text: "x", Finish: "length", First: -1, FirstOut: -1, Last: -1,
			Sched: now, Call: now, Conn: now + 1e5, Wrote: now + 2e5, Header: now + 3e5,
		}
		total := 0
		for i := range rapid.IntRange(1, 12).Draw(t, "bursts") {
			now += int64(rapid.IntRange(40, 60).Draw(t, "gap")) * 1e6
			for range rapid.IntRange(1, 4).Draw(t, "events") {
				tokens := rapid.IntRange(1, 8).Draw(t, "tokens")
				total += tokens
				r.Events = append(r.Events, record.Event{At: now, Read: int32(i + 1), Kind: record.EventText, Tokens: int32(tokens)})
			}
			if r.First < 0 {
				r.First, r.FirstOut, r.FirstByte = now, now, now
			}
			r.Last = now
		}
		now += 3e6
		r.Done = now
		now += 1e6
		r.Usage = &openai.Usage{PromptTokens: 100, CompletionTokens: total, TotalTokens: 100 + total}
		out = append(out, r)
	}
	return out
}

// restamp gives a copy in which every stamp that happened went through f.
func restamp(requests []record.Request, f func(int64) int64) []record.Request {
	var out []record.Request
	for _, r := range requests {
		for _, at := range []*int64{&r.Sched, &r.Call, &r.Conn, &r.Wrote, &r.Header, &r.FirstByte, &r.First, &r.FirstOut, &r.Last, &r.Done} {
			if *at >= 0 {
				*at = f(*at)
			}
		}
		r.Events = append([]record.Event(nil), r.Events...)
		for i := range r.Events {
			r.Events[i].At = f(r.Events[i].At)
		}
		out = append(out, r)
	}
	return out
}

// same leaves room for rounding, and for the nanosecond that opens the window of run_output_tok_s.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-7*math.Max(math.Abs(a), math.Abs(b)) }

// sameFigures compares two summaries of each metric; factor is what the second should be multiplied with.
func sameFigures(t *rapid.T, what string, a, b map[string]record.Summary, factor func(Metric) float64) {
	for _, m := range All() {
		x, inA := a[m.Name]
		y, inB := b[m.Name]
		k := factor(m)
		if k == 0 {
			continue
		}
		if inA != inB || x.N != y.N || !same(x.Mean, k*y.Mean) || !same(x.P50, k*y.P50) {
			t.Fatalf("%s: %s was %v (%v), became %v (%v)", what, m.Name, x, inA, y, inB)
		}
	}
}

// Moving the clock changes nothing.
func TestLawShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := drawLoad(t)
		shift := rapid.Int64Range(0, 1e15).Draw(t, "shift")
		moved := restamp(requests, func(at int64) int64 { return at + shift })
		sameFigures(t, "shift", Level(requests, 1), Level(moved, 1), func(Metric) float64 { return 1 })
	})
}

// A clock of half the speed halves times, doubles rates and leaves counts.
func TestLawScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := drawLoad(t)
		slow := restamp(requests, func(at int64) int64 { return 2 * at })
		sameFigures(t, "scale", Level(requests, 1), Level(slow, 1), func(m Metric) float64 {
			switch {
			case m.Name == "peak_output_tok_s":
				return 0 // its seconds are not those of the other clock
			case m.Unit == "ms":
				return 0.5
			case strings.HasSuffix(m.Unit, "/s"):
				return 2
			}
			return 1
		})
	})
}

// However the network cuts a burst into reads, and the reads into events, no figure depends on it.
func TestLawBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// One burst alone shows no pause from which its reads could be told to belong together.
		requests := slices.DeleteFunc(drawLoad(t), func(r record.Request) bool { return r.First == r.Last })
		cut := restamp(requests, func(at int64) int64 { return at })
		merged := restamp(requests, func(at int64) int64 { return at })
		for i := range requests {
			var one []record.Event
			for j, e := range requests[i].Events {
				cut[i].Events[j].Read = int32(j + 1) // each event in a read of its own
				if n := len(one); n > 0 && one[n-1].Read == e.Read {
					one[n-1].Tokens += e.Tokens
					continue
				}
				one = append(one, e)
			}
			merged[i].Events = one // each burst in one event
		}
		figures := Level(requests, 1)
		sameFigures(t, "cut", figures, Level(cut, 1), func(Metric) float64 { return 1 })
		sameFigures(t, "merged", figures, Level(merged, 1), func(Metric) float64 { return 1 })
	})
}

// The order of the requests does not matter.
func TestLawOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := drawLoad(t)
		var back []record.Request
		for i := range requests {
			back = append(back, requests[len(requests)-1-i])
		}
		sameFigures(t, "order", Level(requests, 1), Level(back, 1), func(Metric) float64 { return 1 })
	})
}

// The bands hold all tokens but those of the first arrival, and each has a speed that some gap had.
func TestLawBands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range drawLoad(t) {
			v := NewView(&r)
			slowest, fastest := 0.0, math.Inf(1)
			for i, a := range v.Arrivals[1:] {
				each := float64(a.At-v.Arrivals[i].At) / 1e6 / float64(a.Tokens)
				slowest, fastest = math.Max(slowest, each), math.Min(fastest, each)
			}
			for _, ms := range v.perBand(16, 0) {
				if ms < fastest*(1-1e-9) || ms > slowest*(1+1e-9) {
					t.Fatalf("a band of %g ms a token between gaps of %g and %g", ms, fastest, slowest)
				}
			}
		}
	})
}
