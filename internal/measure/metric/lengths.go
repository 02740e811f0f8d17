package metric

func promptTokens() Metric {
	return Metric{
		Name: "prompt_tokens", Unit: "tokens", Better: Neither,
		Formula: "N_in",
		Source:  "usage",
		About:   "Length of the prompt, the chat template's own text included.",
		Values: func(v *View) []float64 {
			if v.Usage == nil || v.Usage.PromptTokens <= 0 {
				return nil
			}
			return []float64{float64(v.Usage.PromptTokens)}
		},
	}
}

func cachedTokens() Metric {
	return Metric{
		Name: "cached_tokens", Unit: "tokens", Better: Neither,
		Formula: "N_cached",
		Source:  "usage, or the server's timings",
		About:   "Prompt tokens that the server took from its prefix cache, where it tells.",
		Values: func(v *View) []float64 {
			n, ok := v.CachedTokens()
			if !ok {
				return nil
			}
			return []float64{float64(n)}
		},
	}
}

func outputTokens() Metric {
	return Metric{
		Name: "output_tokens", Unit: "tokens", Better: Neither,
		Formula: "N",
		Source:  "usage",
		About:   "Length of the answer, reasoning included.",
		Values: func(v *View) []float64 {
			if !v.Known {
				return nil
			}
			return []float64{float64(v.N)}
		},
	}
}
