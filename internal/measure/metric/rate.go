package metric

func decodeRate() Metric {
	return Metric{
		Name: "decode_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "(N - n_first) / (t_last - t_first)",
		Source:  "as tpot_ms",
		About:   "The speed of one stream while decoding: 1000 / tpot_ms of each request. The mean is all tokens over all time, not the mean of the speeds, which would favour the fast ones.",
		Ratio: func(v *View) (tokens, seconds float64, ok bool) {
			n, ms, ok := v.decode()
			return float64(n), ms / 1e3, ok
		},
	}
}

func effectiveRate() Metric {
	return Metric{
		Name: "effective_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "N / (t_last - t_wrote)",
		Source:  "client stamps; N from usage",
		About:   "The speed of one stream with the wait for its first token in it: tokens over the whole answer. The mean is all tokens over all time.",
		Ratio: func(v *View) (tokens, seconds float64, ok bool) {
			ms := v.whole()
			if !v.Known || v.N == 0 || len(ms) == 0 || ms[0] <= 0 {
				return 0, 0, false
			}
			return float64(v.N), ms[0] / 1e3, true
		},
	}
}
