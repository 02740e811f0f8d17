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
	Headline bool // shown to people without being asked for
	Pooled   bool // several values a request: they are no independent sample, so no interval is given
	Values   func(*View) []float64
	// Ratio replaces Values for so much for each of something, such as tokens a second: its mean is sum over sum.
	Ratio func(*View) (of, per float64, ok bool)
	Whole func(requests []record.Request, concurrency int) (float64, bool)
}

// Of gives what one request contributes.
func (m Metric) Of(v *View) []float64 {
	switch {
	case m.Values != nil:
		return m.Values(v)
	case m.Ratio != nil:
		if of, per, ok := m.Ratio(v); ok && per > 0 {
			return []float64{of / per}
		}
	}
	return nil
}

// All lists the metrics in the order in which they are shown.
func All() []Metric {
	all := []Metric{
		ttft(), ttfo(), tpot(), tpotVLLM(), icl(), tokensPerChunk(), e2e(), tail(), connect(),
		decodeRate(), effectiveRate(), outputRate(), runOutputRate(), peakOutputRate(), totalRate(), requestRate(),
		acceptance(), serverTTFT(), outsideTTFT(), serverTPOT(), outsideTPOT(), promptTokens(), cachedTokens(), outputTokens(),
		queueDelay(), ttftSched(), e2eSched(),
	}
	for i := range all {
		all[i].Headline = slices.Contains(headlines(), all[i].Name)
	}
	return all
}

// headlines are what a newcomer is shown.
func headlines() []string {
	return []string{"ttft_ms", "tpot_ms", "icl_ms", "tokens_per_chunk", "e2e_ms", "output_tok_s", "acceptance_length", "queue_delay_ms", "ttft_sched_ms"}
}

// Level summarises the requests of one level: those that are OK and not warm-up. concurrency is that of the closed
// loop, 0 for an open one. A metric without any value is left out. Requests whose prompt was in the server's cache are
// not pooled with cold ones: they count only where all are warm.
func Level(requests []record.Request, concurrency int) map[string]record.Summary {
	out := map[string]record.Summary{}
	var each []*sample
	for _, m := range All() {
		switch v, has := 0.0, false; {
		case m.OpenOnly && concurrency > 0:
		case m.Whole != nil:
			if v, has = m.Whole(requests, concurrency); has {
				out[m.Name] = record.Summary{Mean: v, P50: v, N: 1}
			}
		default:
			each = append(each, &sample{Metric: m})
		}
	}
	for _, r := range coldOnes(requests) {
		v := NewView(r) // for this request only: a run can hold millions of arrivals
		for _, s := range each {
			s.add(v)
		}
	}
	for _, s := range each {
		if len(s.values) > 0 {
			out[s.Name] = s.summary()
		}
	}
	return out
}

// sample is a metric over requests.
type sample struct {
	Metric
	values  []float64
	of, per float64
}

func (s *sample) add(v *View) {
	s.values = append(s.values, s.Of(v)...)
	if s.Ratio != nil {
		if of, per, ok := s.Ratio(v); ok {
			s.of, s.per = s.of+of, s.per+per
		}
	}
}

func (s *sample) summary() record.Summary {
	out := summarizeInPlace(s.values, !s.Pooled)
	if s.Ratio != nil {
		out.Mean = s.of / s.per
	}
	s.values = nil
	return out
}

// coldOnes are the successful requests, without those whose prompt was in a cache, unless all were.
func coldOnes(requests []record.Request) []*record.Request {
	var ok, cold []*record.Request
	for i := range requests {
		r := &requests[i]
		if !r.OK || r.Warmup {
			continue
		}
		ok = append(ok, r)
		if !warm(r) {
			cold = append(cold, r)
		}
	}
	if len(cold) == 0 {
		return ok
	}
	return cold
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
