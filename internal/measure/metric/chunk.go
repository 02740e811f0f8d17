package metric

import "treeline/internal/measure/record"

func icl() Metric {
	return Metric{
		Name: "icl_ms", Unit: "ms", Better: Lower, Pooled: true,
		Formula: "t_(j+1) - t_j over arrivals j",
		Source:  "client stamps",
		About: "Inter-chunk latency: the gap between arrivals, which is what a reader sees. It is not the time per token: with speculation a chunk holds several tokens, so read it beside tokens_per_chunk. " +
			"An arrival is everything that one read completed, with reads that follow within 5 ms and within a quarter of the mean gap: one step's burst, however the network cuts it. Gaps of all requests are pooled; they are no independent sample, so there is no interval of the median.",
		Values: func(r *record.Request) []float64 {
			if Buffered(r) {
				return nil
			}
			var out []float64
			arrivals := r.Arrivals()
			for i := 1; i < len(arrivals); i++ {
				out = append(out, float64(arrivals[i].At-arrivals[i-1].At)/1e6)
			}
			return out
		},
	}
}

func tokensPerChunk() Metric {
	return Metric{
		Name: "tokens_per_chunk", Unit: "tokens", Better: Neither,
		Formula: "(N - n_first) / (E - 1)",
		Source:  "N from usage; E arrivals seen by the client",
		About:   "Near the acceptance length at concurrency 1 when the server sends every step at once.",
		Values: func(r *record.Request) []float64 {
			n, ok := r.OutputTokens()
			arrivals := len(r.Arrivals())
			first, _ := FirstTokens(r)
			if !ok || arrivals < 2 || n <= first || Buffered(r) {
				return nil
			}
			return []float64{float64(n-first) / float64(arrivals-1)}
		},
	}
}
