// Package certify measures the measuring: it sends the client of package loadgen to a server in another process that
// stamps every event at the moment of writing it, at the event rate that is planned, and reports how late the client's
// stamps are. While a run goes on it watches the same with one slow stream.
//
// The lag includes the kernel's loopback and the scheduler, so it is an upper bound of what the client adds. It judges
// no server under test.
package certify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
	"treeline/internal/wire/sse"
)

// MaxMedianMS is the largest median lag of a certified client.
const MaxMedianMS = 0.1

// minRateShare is the share of the planned event rate that must have been reached.
const minRateShare = 0.95

// minPerStream is the least number of events of a stream: below it there is no stretch in which all streams send.
const minPerStream = 5

// Options say what the client will have to cope with.
type Options struct {
	Clock      *Clock
	EventsPerS float64       // over all streams
	Streams    int           // at the same time
	Duration   time.Duration // of the test
}

// Result is what a test found.
type Result struct {
	Planned    float64 // events/s
	EventsPerS float64 // reached
	Streams    int
	Lags       Lags
	SenderLate int // events that the server sent more than two milliseconds late: those are not the client's doing
	GC         Pauses
	CPU        CPU
}

// Certified reports whether the client kept up: nearly the planned rate, and a median lag of at most 0.1 ms.
func (r Result) Certified() bool {
	return r.Lags.N > 1 && r.EventsPerS >= minRateShare*r.Planned && r.Lags.P50 <= MaxMedianMS
}

// Record is the certificate as bench reports it.
func (r Result) Record() record.Client {
	return record.Client{
		Certified: r.Certified(), EventsPerS: r.EventsPerS, StampLagP99MS: r.Lags.P99, StampLagP50MS: r.Lags.P50, StampLagMaxMS: r.Lags.Max,
		GCPauses: r.GC.N, GCPauseTotalMS: r.GC.TotalMS, GCPauseP99MS: r.GC.P99MS, GCPauseMaxMS: r.GC.MaxMS, Streams: r.Streams,
		SenderLate: r.SenderLate, CPU: r.CPU.Record(),
	}
}

// Lags is the distribution of how late something was, in milliseconds. Of events: the time from the writing of one to
// the stamp of the read that completed it.
type Lags struct {
	P50, P90, P99, Max float64
	N                  int
}

// Sent is the form that bench reports of the send lags of an open loop.
func (l Lags) Sent(requestsPerS float64) *record.SendLag {
	return &record.SendLag{RequestsPerS: requestsPerS, P50MS: l.P50, P99MS: l.P99, MaxMS: l.Max, N: l.N}
}

// Summarize gives the distribution of lags in nanoseconds, which it sorts. Quantiles are values that were seen.
func Summarize(lags []int64) Lags {
	if len(lags) == 0 {
		return Lags{}
	}
	slices.Sort(lags)
	at := func(p float64) float64 { return float64(lags[rank(p, len(lags))]) / 1e6 }
	return Lags{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: float64(lags[len(lags)-1]) / 1e6, N: len(lags)}
}

// rank is the index of the p-quantile in n sorted values: the smallest one that at least a share p does not exceed.
func rank(p float64, n int) int { return max(int(math.Ceil(p*float64(n))), 1) - 1 }

// ErrClock says that the wall clocks of the two processes do not fit together: one was set between their starts.
var ErrClock = errors.New("the wall clock was set meanwhile")

// Run makes the test.
func Run(ctx context.Context, o Options) (Result, error) {
	o.Streams = max(o.Streams, 1)
	epoch := time.Now()
	c := loadgen.NewClient(loadgen.ClientOptions{Base: o.Clock.URL, Epoch: epoch})
	defer c.Close()
	perStream := max(int(o.EventsPerS*o.Duration.Seconds())/o.Streams, minPerStream)
	gap := time.Duration(float64(time.Second) * float64(o.Streams) / o.EventsPerS)
	// The streams begin together, when all are connected, and their events are spread evenly over a gap.
	setUp := 50*time.Millisecond + time.Duration(o.Streams)*time.Millisecond
	before, cpu := readPauses(), o.Clock.readCPU()
	streams := make([]*record.Stream, o.Streams)
	failed := make([]error, o.Streams)
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			at := setUp + time.Duration(int64(gap)*int64(i)/int64(o.Streams))
			streams[i], failed[i] = watchStream(ctx, c, simserver.ClockRequest{Events: perStream, Gap: gap, Delay: max(0, at-time.Since(epoch))})
		})
	}
	wg.Wait()
	r := Result{Planned: o.EventsPerS, Streams: o.Streams, GC: readPauses().since(before), CPU: o.Clock.readCPU().since(cpu)}
	if err := errors.Join(failed...); err != nil {
		return r, fmt.Errorf("certify the client: %w", err)
	}
	var all []event
	for _, s := range streams {
		got, late := read(s, epoch.UnixNano())
		all = append(all, got...)
		r.SenderLate += late
	}
	r.EventsPerS = together(all, perStream)
	lags := lagsOf(all)
	if len(lags) > 0 && slices.Min(lags) < -clockSlack {
		return r, ErrClock
	}
	r.Lags = Summarize(lags)
	return r, nil
}

// clockSlack is by how much the readings of the two processes' clocks at their starts may differ, in nanoseconds.
const clockSlack = int64(100 * time.Microsecond)

// event is one event of the clock as it arrived.
type event struct{ at, lag int64 }

func lagsOf(events []event) []int64 {
	out := make([]int64, len(events))
	for i, e := range events {
		out[i] = e.lag
	}
	return out
}

// together is the event rate in the time in which every stream was sending, 0 when there is none. events holds one
// stream after another, perStream of each.
func together(events []event, perStream int) float64 {
	from, to := int64(0), int64(math.MaxInt64)
	for i := 0; i+perStream <= len(events); i += perStream {
		from, to = max(from, events[i].at), min(to, events[i+perStream-1].at)
	}
	n := 0
	for _, e := range events {
		if e.at > from && e.at <= to {
			n++
		}
	}
	if to <= from || len(events) < perStream {
		return 0
	}
	return float64(n) / (float64(to-from) / 1e9)
}

// watchStream asks the clock for one stream and returns it as it arrived.
func watchStream(ctx context.Context, c *loadgen.Client, req simserver.ClockRequest) (*record.Stream, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	var r record.Request
	s := c.Do(ctx, body, &r)
	if s.Status != 200 || (s.End != record.EndEOF && s.End != record.EndDone) {
		return s, fmt.Errorf("stream of the clock ended by %s with status %d: %s", s.End, s.Status, s.Error)
	}
	return s, nil
}

// read takes the events of a stream, and how many the sender sent late. wall is the epoch of the stamps in Unix
// nanoseconds.
func read(s *record.Stream, wall int64) (events []event, late int) {
	var p sse.Parser
	n := 0
	for i, r := range s.Reads {
		end := min(n+r.N, len(s.Body))
		_ = p.Feed(s.Body[n:end], r.At, i+1, func(e sse.Event) { // our own server sends no event that is too long
			if sent, ok := number(e.Data, `"sent_ns":`); ok {
				events = append(events, event{e.At, wall + e.At - sent})
			} else if v, ok := number(e.Data, `"late":`); ok {
				late = int(v)
			}
		})
		n = end
	}
	return events, late
}

// number reads the digits after a key.
func number(data []byte, key string) (int64, bool) {
	_, rest, ok := bytes.Cut(data, []byte(key))
	if !ok {
		return 0, false
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	v, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	return v, err == nil
}
