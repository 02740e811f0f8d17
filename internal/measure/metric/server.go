package metric

func serverTTFT() Metric {
	return Metric{
		Name: "server_ttft_ms", Unit: "ms", Better: Lower,
		Formula: "prompt_ms",
		Source:  "the server's own timings of the request, where it sends them",
		About:   "What the server says it took to process the prompt.",
		Values: func(v *View) []float64 {
			if v.Timings == nil || v.Timings.PromptMS <= 0 {
				return nil
			}
			return []float64{v.Timings.PromptMS}
		},
	}
}

func outsideTTFT() Metric {
	return Metric{
		Name: "outside_ttft_ms", Unit: "ms", Better: Lower,
		Formula: "ttft_ms - prompt_ms",
		Source:  "client stamps and the server's own timings",
		About:   "The part of the time to first token that the server does not count as its own: network, queue, sampling, and this client.",
		Values: func(v *View) []float64 {
			own, seen := serverTTFT().Values(v), ttft().Values(v)
			if len(own) == 0 || len(seen) == 0 {
				return nil
			}
			return []float64{seen[0] - own[0]}
		},
	}
}

func serverTPOT() Metric {
	return Metric{
		Name: "server_tpot_ms", Unit: "ms", Better: Lower,
		Formula: "predicted_ms / (predicted_n - 1)",
		Source:  "the server's own timings of the request, where it sends them",
		About:   "The time per output token by the server's clock. The first token belongs to the prompt.",
		Values: func(v *View) []float64 {
			if v.Timings == nil || v.Timings.PredictedN < 2 || v.Timings.PredictedMS <= 0 {
				return nil
			}
			return []float64{v.Timings.PredictedMS / float64(v.Timings.PredictedN-1)}
		},
	}
}

func outsideTPOT() Metric {
	return Metric{
		Name: "outside_tpot_ms", Unit: "ms", Better: Lower,
		Formula: "tpot_ms - server_tpot_ms",
		Source:  "client stamps and the server's own timings",
		About:   "The part of the time per output token that the server does not count as its own. Near 0: what delays all chunks alike is no part of the time between them.",
		Values: func(v *View) []float64 {
			own, seen := serverTPOT().Values(v), tpot().Values(v)
			if len(own) == 0 || len(seen) == 0 {
				return nil
			}
			return []float64{seen[0] - own[0]}
		},
	}
}
