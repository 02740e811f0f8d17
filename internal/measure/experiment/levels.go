package experiment

import (
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
	if m.o.Rate > 0 {
		return []level{{Rate: m.o.Rate}}
	}
	var out []level
	for _, c := range m.o.Concurrency {
		out = append(out, level{Concurrency: c})
	}
	return out
}

// fillLevels computes the figures from the requests: of the one level, or of each; with several, the top ones are those
// at concurrency 1, else of the first.
func fillLevels(b *record.Bench, requests []record.Request, levels []level) {
	b.Requests = metric.Count(requests)
	b.Levels = nil
	for i, l := range levels {
		of := requests
		if len(levels) > 1 {
			of = slices.DeleteFunc(slices.Clone(requests), func(r record.Request) bool { return r.Level != l.Concurrency })
		}
		out := record.Level{Concurrency: l.Concurrency, Rate: l.Rate, Requests: metric.Count(of), Metrics: metric.Level(of, l.Concurrency)}
		if i == 0 || l.Concurrency == 1 {
			b.Metrics = out.Metrics
		}
		b.Levels = append(b.Levels, out)
	}
	if len(levels) == 1 && levels[0].Rate == 0 {
		b.Levels = nil
	}
}
