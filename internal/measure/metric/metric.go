// Package metric holds what is computed from requests: one file per family, each with its name, unit, direction,
// formula and source, and the summaries over the requests of one server start. docs/metrics.md is generated from the
// same values.
//
// Everything here is a pure function of records. Comparing starts is the business of the packages stats and verdict.
package metric

import (
	"slices"

	"treeline/internal/measure/record"
)

// Direction says which way a metric is better.
type Direction string

// The directions. Neither marks a metric that describes and does not judge.
const (
	Lower   Direction = "lower"
	Higher  Direction = "higher"
	Neither Direction = "neither"
)

// Metric is one family. Values gives what one successful request contributes, nothing when the metric is undefined for
// it; Whole replaces it for a metric that only exists for all requests of a level together.
type Metric struct {
	Name    string
	Unit    string
	Better  Direction
	Formula string // in the symbols of docs/metrics.md
	Source  string // where the numbers come from
	About   string // what to know before using it

	OpenOnly bool // exists only under an open loop
	Pooled   bool // several values a request: they are no independent sample, so no interval is given
	Values   func(*record.Request) []float64
	Whole    func(requests []record.Request, concurrency int) (float64, bool)
}

// All lists the metrics in the order in which they are shown.
func All() []Metric {
	return []Metric{
		ttft(), ttfo(), tpot(), tpotVLLM(), icl(), tokensPerChunk(), e2e(), outputRate(), acceptance(),
		queueDelay(), ttftSched(), e2eSched(),
	}
}

// Level summarises the requests of one level: those that are OK and not warm-up. concurrency is that of the closed
// loop, 0 for an open one. A metric without any value is left out. Requests whose prompt was in the server's cache are
// not pooled with cold ones: they count only where all are warm.
func Level(requests []record.Request, concurrency int) map[string]record.Summary {
	ok := Cold(slices.DeleteFunc(slices.Clone(requests), func(r record.Request) bool { return !r.OK || r.Warmup }))
	out := map[string]record.Summary{}
	for _, m := range All() {
		if m.OpenOnly && concurrency > 0 {
			continue
		}
		if m.Whole != nil {
			if v, has := m.Whole(requests, concurrency); has {
				out[m.Name] = record.Summary{Mean: v, P50: v, N: 1}
			}
			continue
		}
		var values []float64
		for i := range ok {
			values = append(values, m.Values(&ok[i])...)
		}
		if len(values) == 0 {
			continue
		}
		s := Summarize(values)
		if m.Pooled {
			s.Lo, s.Hi = nil, nil
		}
		out[m.Name] = s
	}
	return out
}

// between is the time between two stamps in milliseconds, nothing when one of them did not happen.
func between(from, to int64) []float64 {
	if from < 0 || to < 0 || to < from {
		return nil
	}
	return []float64{float64(to-from) / 1e6}
}

// Count sorts requests into sent, ok, failed and excluded. Excluded requests succeeded without telling their number of
// tokens, or were in flight when the window closed; they count in no token metric. Warm-up is not counted at all.
func Count(requests []record.Request) record.Counts {
	c := record.Counts{Errors: map[string]int{}}
	for i := range requests {
		r := &requests[i]
		if r.Warmup {
			continue
		}
		c.Sent++
		_, known := r.OutputTokens()
		switch {
		case r.Censored:
			c.Excluded++
			c.Censored++
		case !r.OK:
			c.Failed++
			c.Errors[r.ErrorClass]++
		case !known:
			c.Excluded++
		default:
			c.OK++
		}
	}
	return c
}
