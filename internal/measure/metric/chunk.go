package metric

func icl() Metric {
	return Metric{
		Name: "icl_ms", Unit: "ms", Better: Lower, Pooled: true,
		Formula: "t_(j+1) - t_j over arrivals j",
		Source:  "client stamps",
		About: "Inter-chunk latency: the gap between arrivals, which is what a reader sees. It is not the time per token: with speculation a chunk holds several tokens, so read it beside tokens_per_chunk. " +
			"An arrival is everything that one read completed, with reads that follow within 5 ms and within a quarter of the mean gap: one step's burst, however the network cuts it. Gaps of all requests are pooled; they are no independent sample, so there is no interval of the median.",
		Values: func(v *View) []float64 {
			if v.Lumped || len(v.Arrivals) < 2 {
				return nil
			}
			out := make([]float64, 0, len(v.Arrivals)-1)
			for i, a := range v.Arrivals[1:] {
				out = append(out, float64(a.At-v.Arrivals[i].At)/1e6)
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
		Ratio:   (*View).perChunk,
	}
}

// perChunk is the number of tokens after the first arrival, and that of the arrivals which brought them.
func (v *View) perChunk() (tokens, chunks float64, ok bool) {
	if !v.Known || len(v.Arrivals) < 2 || v.N <= v.NFirst || v.Lumped {
		return 0, 0, false
	}
	return float64(v.N - v.NFirst), float64(len(v.Arrivals) - 1), true
}
