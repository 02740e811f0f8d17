package experiment

import (
	"math"
	"slices"

	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
)

// level is one stretch of load: a closed loop, or an open one when Concurrency is 0.
type level struct {
	Concurrency int
	Rate        float64
}

// planned lists the levels of the start.
func (m *start) planned() []level {
	if rate := m.o.rate(); rate > 0 {
		return []level{{Rate: rate}}
	}
	var out []level
	for _, c := range m.o.Concurrency {
		out = append(out, level{Concurrency: c})
	}
	return out
}

// fillLevels computes the figures from the requests: of the one level, or of each; with several, the top ones are those
// at concurrency 1, else of the first. It returns the requests behind the top ones and their concurrency.
func fillLevels(b *record.Bench, requests []record.Request, levels []level, slos []metric.SLO) (top []record.Request, concurrency int) {
	b.Requests = metric.Count(requests)
	b.Levels = nil
	for i, l := range levels {
		of := requests
		if len(levels) > 1 {
			of = slices.DeleteFunc(slices.Clone(requests), func(r record.Request) bool { return r.Level != l.Concurrency })
		}
		out := record.Level{Concurrency: l.Concurrency, Rate: l.Rate, Requests: metric.Count(of), Metrics: metric.Level(of, l.Concurrency)}
		if l.Rate > 0 {
			out.Achieved = achieved(of)
		}
		if len(slos) > 0 {
			out.Goodput = metric.Goodput(of, slos)
		}
		if i == 0 || l.Concurrency == 1 {
			b.Metrics, b.Goodput = out.Metrics, out.Goodput
			top, concurrency = of, l.Concurrency
		}
		b.Levels = append(b.Levels, out)
	}
	if len(levels) == 1 && levels[0].Rate == 0 {
		b.Levels = nil
	}
	b.ByPosition, b.ByContext = metric.ByPosition(top), metric.ByContext(top)
	return top, concurrency
}

// outside is what the checks of the figures need from elsewhere. The counters are those of all levels.
func outside(s *record.Start, c record.Client, rtt *record.RTT, concurrency, levels int) metric.Outside {
	const quick = 1.0 // ms: a client that is not later than this merges no two steps
	o := metric.Outside{Concurrency: concurrency, Tau: s.Tau, Sole: levels == 1, Watched: c.During != nil && c.During.StampLagP99MS < quick}
	counters := s.Counters
	if counters != nil && counters.Generated > 0 {
		o.Generated = &counters.Generated
	}
	if rtt != nil {
		o.RTTms = rtt.MinMS
	}
	return o
}

// achieved is the rate at which the requests were sent.
func achieved(requests []record.Request) float64 {
	first, last, n := int64(math.MaxInt64), int64(0), 0
	for _, r := range requests {
		if !r.Warmup {
			first, last, n = min(first, r.Call), max(last, r.Call), n+1
		}
	}
	if n < 2 || last <= first {
		return 0
	}
	return float64(n-1) / (float64(last-first) / 1e9)
}
