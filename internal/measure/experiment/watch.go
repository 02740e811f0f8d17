package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
)

const (
	// boundShare is the share of a metric by which the client's delay must not be able to move it.
	boundShare = 0.01
	// fullMachine is the share of the processors that, used by others, leaves none for the client; it is then bound
	// when its stamps are later than lateMS (p99), which on a machine with a free processor they are not.
	fullMachine = 0.9
	lateMS      = 1.0
	// noProcessor is the share from which a sentinel that happened to be let through proves nothing: one in ten runs
	// beside two endless loops a processor saw less than lateMS.
	noProcessor = 0.94
	// backgroundWindow is the least time over which the use of the processors by others is taken. At 100 ticks a second
	// it resolves 2.5 % of two of them.
	backgroundWindow = 200 * time.Millisecond
)

// background takes what others use of the processors before the load. The server under test is idle then, so nobody
// has to know which processes are its own.
func (m *start) background(ctx context.Context, since func() certify.CPU) error {
	if m.clock == nil {
		return nil
	}
	if rest := backgroundWindow - time.Since(m.began); rest > 0 {
		if err := sleep(ctx, rest); err != nil {
			return err
		}
	}
	if cpu := since(); cpu.Known {
		share := cpu.Background()
		m.others = &share
	} else if m.o.Block == 0 { // an experiment says it by itself
		m.warn(record.WarnIdleUnknown, "use of the processors by other programs is not known: "+host.ErrNoCPUTimes.Error())
	}
	return nil
}

// certify tests this client against the clock, at the event rate that the warm-up suggests. A test that fails is no end
// of the measurement: the client is then not certified.
func (m *start) certify(ctx context.Context) error {
	switch {
	case m.o.Client != nil:
		m.cert = *m.o.Client
		m.cert.During = nil
	case m.clock != nil:
		if err := m.test(ctx); err != nil {
			m.warn(record.WarnClientUnsure, "this client could not be tested: "+err.Error())
		}
	default:
		m.warn(record.WarnClientUnsure, "this client was not tested")
	}
	m.cert.BackgroundCPU = m.others
	return ctx.Err()
}

// test makes the certificate, in two tries: one disturbance from elsewhere is not the client's failing.
func (m *start) test(ctx context.Context) error {
	rate, streams := m.expect()
	length := time.Duration(math.Min(math.Max(60/rate, 0.3), 0.7) * float64(time.Second))
	var r certify.Result
	var err error
	for range 2 {
		r, err = certify.Run(ctx, certify.Options{Clock: m.clock, EventsPerS: rate, Streams: streams, Duration: length})
		if err == nil && r.Certified() {
			break
		}
	}
	m.cert = r.Record()
	if err != nil {
		return err
	}
	if !m.cert.Certified {
		m.warn(record.WarnClientUnsure, fmt.Sprintf("at %.0f events/s this client's stamps were %.3f ms late in the median and %.3f ms at p99 (certified: at most %.1f ms in the median)",
			r.EventsPerS, r.Lags.P50, r.Lags.P99, certify.MaxMedianMS))
	}
	if m.o.rate() > 0 {
		lags, err := certify.Schedule(ctx, m.clock, m.o.rate(), 500*time.Millisecond)
		if err != nil {
			return err
		}
		m.cert.Schedule = lags.Sent(m.o.rate())
	}
	return nil
}

// expect tells the event rate and the number of streams to be ready for: a fifth more than the warm-up's requests had.
func (m *start) expect() (eventsPerS float64, streams int) {
	streams = slices.Max(m.o.Concurrency)
	perStream, longest := 50.0, 0.0
	for i := range m.warm {
		a := m.warm[i].Arrivals()
		if n := len(a); n > 2 && a[n-1].At > a[0].At {
			perStream = max(perStream, float64(n-1)/(float64(a[n-1].At-a[0].At)/1e9))
			longest = max(longest, float64(a[n-1].At-m.warm[i].Call)/1e9)
		}
	}
	if m.o.rate() > 0 { // by Little's law
		streams = int(math.Ceil(m.o.rate() * longest))
		if m.o.MaxInFlight > 0 {
			streams = min(streams, m.o.MaxInFlight)
		}
	}
	streams = min(max(streams, 1), 1000)
	return min(perStream*float64(streams)*1.2, 50_000), streams
}

// watch keeps an eye on this client while load works.
func (m *start) watch(ctx context.Context, load func(context.Context) error) error {
	if m.clock == nil {
		return load(ctx)
	}
	w := certify.StartWatch(ctx, m.clock)
	err := load(ctx)
	during, failed := w.Stop()
	if failed != nil && ctx.Err() == nil {
		m.warn(record.WarnClientUnsure, "this client was not watched during the load: "+failed.Error())
	}
	if failed == nil {
		m.cert.During = &during
		during.Schedule = m.sent()
	}
	return err
}

// sent tells how late the requests of an open loop were begun, nil for a closed one.
func (m *start) sent() *record.SendLag {
	if m.o.rate() <= 0 || len(m.requests) == 0 {
		return nil
	}
	late := make([]int64, 0, len(m.requests))
	for i := range m.requests {
		late = append(late, m.requests[i].Call-m.requests[i].Sched)
	}
	return certify.Summarize(late).Sent(m.o.rate())
}

// clientBound warns when the client was the limit, and reports whether that spoils the decode speed.
func (m *start) clientBound(b *record.Bench) bool {
	found := bounds(m.cert, b.Metrics, decodeMS(m.requests))
	m.warnings = append(m.warnings, found...)
	return slices.ContainsFunc(found, record.Warning.Invalidates)
}

// bounds judges by the client's delay as seen during the load, else as tested before it. decode is the median time from
// the first to the last token in milliseconds, 0 when there is none.
func bounds(c record.Client, metrics map[string]record.Summary, decode float64) []record.Warning {
	var out []record.Warning
	warn := func(format string, args ...any) {
		out = append(out, record.Warning{Code: record.WarnClientBound, Text: fmt.Sprintf(format, args...)})
	}
	lag, when := c.StampLagP99MS, "before the load"
	if c.During != nil {
		lag, when = c.During.StampLagP99MS, "during the load"
	}
	if s, ok := metrics["ttft_ms"]; ok && lag > boundShare*s.P50 {
		warn("ttft_ms: this client's stamps were up to %.3f ms late (p99, %s), %.1f %% of the median", lag, when, 100*lag/s.P50)
	}
	if decode > 0 && lag > boundShare*decode {
		warn("tpot_ms: this client's stamps were up to %.3f ms late (p99, %s), %.1f %% of the median decode time of %.1f ms", lag, when, 100*lag/decode, decode)
	}
	if s, ok := metrics["e2e_ms"]; ok && c.During != nil && c.During.Schedule != nil && c.During.Schedule.P99MS > boundShare*s.P50 {
		late := c.During.Schedule.P99MS
		warn("ttft_sched_ms: requests left up to %.3f ms later than planned (p99), %.1f %% of the median latency", late, 100*late/s.P50)
	}
	if busy := c.BackgroundCPU; busy != nil && (*busy >= noProcessor || (*busy >= fullMachine && lag > lateMS)) {
		warn("no processor was free: other programs used %.0f %% of them before the load, while the server was idle; this client's stamps were seen up to %.3f ms late (p99, %s), and may have been later unseen", 100**busy, lag, when)
	}
	return out
}

// decodeMS is the median decode time.
func decodeMS(requests []record.Request) float64 {
	var decode []float64
	for i := range requests {
		if _, ok := metric.TPOT(&requests[i]); ok {
			decode = append(decode, float64(requests[i].Last-requests[i].First)/1e6)
		}
	}
	if len(decode) == 0 {
		return 0
	}
	return metric.Median(decode)
}

// waited warns when streams came faster than they could be parsed and written to disk, and had to wait for more than
// 1 % of their time, which spoils the decode speed.
func (m *start) waited() bool {
	const share = 0.01
	waited, took := m.client.Waited(), time.Duration(0)
	for i := range m.requests {
		took += time.Duration(max(m.requests[i].Done-m.requests[i].Call, 0))
	}
	m.cert.WaitedMS = float64(waited) / 1e6
	if float64(waited) <= share*float64(took) {
		return false
	}
	m.warn(record.WarnClientBound, fmt.Sprintf("tpot_ms: streams came faster than they could be parsed and written, and waited %.1f ms in all, %.1f %% of their time; a faster disk for --out may help",
		m.cert.WaitedMS, 100*float64(waited)/float64(took)))
	return true
}
