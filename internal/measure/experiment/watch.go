package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"treeline/internal/measure/certify"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
)

// certify tests this client at the event rate that the warm-up suggests, against the clock.
func (m *start) certify(ctx context.Context) error {
	if m.o.Client != nil {
		m.cert = *m.o.Client
		m.cert.During = nil
		return nil
	}
	if m.clock == nil {
		m.warn(record.WarnClientUnsure, "this client was not tested")
		return nil
	}
	streams := slices.Max(m.o.Concurrency)
	perStream := 50.0
	for i := range m.warm {
		a := m.warm[i].Arrivals()
		if n := len(a); n > 2 && a[n-1].At > a[0].At {
			perStream = max(perStream, float64(n-1)/(float64(a[n-1].At-a[0].At)/1e9))
		}
	}
	rate := min(perStream*float64(streams)*1.2, 50_000)
	duration := time.Duration(math.Min(math.Max(60/rate, 0.3), 0.7) * float64(time.Second))
	var r certify.Result
	for range 2 { // one disturbance from elsewhere is not the client's failing
		var err error
		r, err = certify.Run(ctx, certify.Options{URL: m.clock.URL, EventsPerS: rate, Streams: streams, Duration: duration})
		if err != nil {
			return err
		}
		if r.Certified() {
			break
		}
	}
	m.cert = r.Record()
	if !m.cert.Certified {
		m.warn(record.WarnClientUnsure, fmt.Sprintf("at %.0f events/s this client's stamps were %.3f ms late in the median and %.3f ms at p99 (certified: at most %.1f ms in the median)",
			r.EventsPerS, r.Lags.P50, r.Lags.P99, certify.MaxMedianMS))
	}
	return ctx.Err()
}

// watch keeps an eye on this client while load works.
func (m *start) watch(ctx context.Context, load func(context.Context) error) error {
	if m.clock == nil {
		return load(ctx)
	}
	w := certify.StartWatch(ctx, m.clock)
	err := load(ctx)
	if during, ok := w.Stop(); ok {
		m.cert.During = &during
	}
	return err
}

// lag is the p99 of the client's delay: as seen during the load, else as tested before it.
func (m *start) lag() (ms float64, when string) {
	if d := m.cert.During; d != nil {
		return d.StampLagP99MS, "during the load"
	}
	return m.cert.StampLagP99MS, "before the load"
}

// clientBound warns when the client's p99 delay could have moved a metric by more than 1 %, and reports whether that
// spoils the decode speed.
func (m *start) clientBound(b *record.Bench) bool {
	const share = 0.01
	lag, when := m.lag()
	if s, ok := b.Metrics["ttft_ms"]; ok && lag > share*s.P50 {
		m.warn(record.WarnClientBound, fmt.Sprintf("ttft_ms: this client's stamps were up to %.3f ms late (p99, %s), %.1f %% of the median", lag, when, 100*lag/s.P50))
	}
	var decode []float64
	for i := range m.requests {
		if _, ok := metric.TPOT(&m.requests[i]); ok {
			decode = append(decode, float64(m.requests[i].Last-m.requests[i].First)/1e6)
		}
	}
	if median := metric.Median(decode); len(decode) > 0 && lag > share*median {
		m.warn(record.WarnClientBound, fmt.Sprintf("tpot_ms: this client's stamps were up to %.3f ms late (p99, %s), %.1f %% of the median decode time of %.1f ms", lag, when, 100*lag/median, median))
		return true
	}
	return false
}
