package metric

import "treeline/internal/measure/record"

func acceptance() Metric {
	return Metric{
		Name: "acceptance_length", Unit: "tokens", Better: Higher,
		Formula: "1 + accepted / passes; without the server's timings (N - n_first) / (E - 1)",
		Source:  "the server's timings of the request where it sends them, else the client's arrivals",
		About: "Tokens that one pass of the target model yields, the bonus token included: 1 without speculation. passes are N - 1 - accepted, with or without a draft, because the first token comes from prefill and every pass adds one token to those it accepted. " +
			"The arrivals are a good stand-in at concurrency 1 only. The acceptance length in a start's proof comes from the server's counters instead.",
		Values: func(v *View) []float64 {
			if tau, ok := acceptedPerPass(v.Request); ok {
				return []float64{tau}
			}
			return tokensPerChunk().Values(v)
		},
	}
}

func acceptedPerPass(r *record.Request) (float64, bool) {
	t := r.Timings
	if t == nil || t.PredictedN < 2 {
		return 0, false
	}
	passes := t.PredictedN - 1 - t.DraftNAccepted
	if passes <= 0 {
		return 0, false
	}
	return 1 + float64(t.DraftNAccepted)/float64(passes), true
}
