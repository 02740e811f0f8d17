package metric

import "treeline/internal/measure/record"

func tpot() Metric {
	return Metric{
		Name: "tpot_ms", Unit: "ms", Better: Lower,
		Formula: "(t_last - t_first) / (N - n_first)",
		Source:  "client stamps; N from usage; n_first from token ids or running usage",
		About: "Time per output token while decoding. n_first is the number of tokens in the first arrival: with speculation that can be a whole block, and dividing by N - 1 would be too fast by up to a factor of two. " +
			"Tokens that no event accounts for, such as the end token, arrive with the finish reason, which then is t_last. " +
			"Where n_first is unknown it is taken as the number of events and the warning first_event_size_unknown is raised. Undefined when N <= n_first, and for answers of several choices, whose tokens come side by side. 1000 / tpot_ms is the decode speed of one stream in tokens a second.",
		Values: func(v *View) []float64 {
			tokens, ms, ok := v.decode()
			if !ok {
				return nil
			}
			return []float64{ms / float64(tokens)}
		},
	}
}

func tpotVLLM() Metric {
	return Metric{
		Name: "tpot_vllm_ms", Unit: "ms", Better: Lower,
		Formula: "(t_last - t_first) / (N - 1)",
		Source:  "client stamps; N from usage",
		About:   "TPOT as vLLM's and SGLang's own tools compute it, for comparison with their figures only. Too small when the first chunk holds several tokens.",
		Values: func(v *View) []float64 {
			if !v.Known || v.N < 2 || v.First < 0 || v.Lumped {
				return nil
			}
			return []float64{float64(v.Last-v.First) / 1e6 / float64(v.N-1)}
		},
	}
}

// TPOT is the time per output token of one request in milliseconds; ok is false where it is undefined.
func TPOT(r *record.Request) (ms float64, ok bool) {
	tokens, ms, ok := NewView(r).decode()
	if !ok {
		return 0, false
	}
	return ms / float64(tokens), true
}

// FirstTokens is n_first, the number of tokens in the first arrival. Where nothing tells it, it is the number of
// events that arrived, at least 1, and known is false.
func FirstTokens(r *record.Request) (n int, known bool) { return firstTokens(r.Arrivals()) }

func firstTokens(arrivals []record.Arrival) (n int, known bool) {
	switch {
	case len(arrivals) == 0:
		return 1, false
	case arrivals[0].Tokens > 0:
		return arrivals[0].Tokens, true
	}
	return arrivals[0].Events, false
}
