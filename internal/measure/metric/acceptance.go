package metric

import "treeline/internal/measure/record"

func acceptance() Metric {
	return Metric{
		Name: "acceptance_length", Unit: "tokens", Better: Higher,
		Formula: "1 + accepted / passes; without the server's timings (N - n_first) / (E - 1)",
		Source:  "the server's timings of the request where it sends them, else the client's arrivals",
		About: "Tokens that one pass of the target model yields, the bonus token included: 1 without speculation. passes are N - 1 - accepted, with or without a draft, because the first token comes from prefill and every pass adds one token to those it accepted. " +
			"The arrivals are a good stand-in at concurrency 1 only. The acceptance length in a start's proof comes from the server's counters instead.",
		Ratio: func(v *View) (tokens, passes float64, ok bool) {
			if tokens, passes, ok := perPass(v.Request); ok {
				return tokens, passes, true
			}
			return v.perChunk()
		},
	}
}

// perPass is the number of tokens that came by passes of decoding, and that of the passes, by the server's own timings.
func perPass(r *record.Request) (tokens, passes float64, ok bool) {
	t := r.Timings
	if t == nil || t.PredictedN < 2 {
		return 0, 0, false
	}
	n := t.PredictedN - 1 - t.DraftNAccepted
	return float64(t.PredictedN - 1), float64(n), n > 0
}
