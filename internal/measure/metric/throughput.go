package metric

import (
	"slices"

	"treeline/internal/measure/record"
)

func outputRate() Metric {
	return Metric{
		Name: "output_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "tokens that arrived in the steady window / length of the window",
		Source:  "client stamps; N from usage, spread over arrivals of unknown size",
		About: "Of the whole server. The steady window of a closed loop begins when all its requests are in flight and ends when the last of them can no longer be replaced, so that ramp and drain do not dilute it; where that leaves nothing, and in an open loop, it is the whole level. " +
			"Left out when a successful request did not tell its tokens.",
		Whole: func(all []record.Request, concurrency int) (float64, bool) {
			requests := answered(all)
			from, to, ok := steadyWindow(requests, concurrency)
			if !ok {
				return 0, false
			}
			return perSecond(requests, from, to)
		},
	}
}

func runOutputRate() Metric {
	return Metric{
		Name: "run_output_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "sum of N / (last t_done - first t_wrote)",
		Source:  "client stamps; N from usage",
		About:   "Of the whole server over the whole level, ramp and drain included: what most other tools call throughput.",
		Whole: func(all []record.Request, _ int) (float64, bool) {
			requests := answered(all)
			from, to, ok := steadyWindow(requests, 1)
			if !ok {
				return 0, false
			}
			return perSecond(requests, from-1, to)
		},
	}
}

func totalRate() Metric {
	return Metric{
		Name: "total_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "sum of N_in + N / (last t_done - first t_wrote)",
		Source:  "client stamps; usage",
		About:   "Tokens in and out of the whole server over the whole level. Prompt tokens from a cache are counted like others.",
		Whole: func(all []record.Request, _ int) (float64, bool) {
			requests := answered(all)
			from, to, ok := steadyWindow(requests, 1)
			tokens := 0
			for _, r := range requests {
				n, known := r.OutputTokens()
				if !known || r.Censored {
					return 0, false
				}
				tokens += n + r.Usage.PromptTokens
			}
			return float64(tokens) / (float64(to-from) / 1e9), ok
		},
	}
}

func requestRate() Metric {
	return Metric{
		Name: "requests_s", Unit: "requests/s", Better: Higher,
		Formula: "successful requests / (last t_done - first t_wrote)",
		Source:  "client stamps",
		About:   "Answers a second over the whole level.",
		Whole: func(all []record.Request, _ int) (float64, bool) {
			requests := answered(all)
			from, to, ok := steadyWindow(requests, 1)
			n := 0
			for _, r := range requests {
				if r.OK {
					n++
				}
			}
			return float64(n) / (float64(to-from) / 1e9), ok
		},
	}
}

func peakOutputRate() Metric {
	return Metric{
		Name: "peak_output_tok_s", Unit: "tokens/s", Better: Higher,
		Formula: "most tokens that arrived in one of the seconds of the level",
		Source:  "client stamps; N from usage, spread over arrivals of unknown size",
		About:   "Each arrival counts with its tokens, not as one: with speculation a count of chunks would lie below the average. Given for levels of two seconds and more.",
		Whole: func(all []record.Request, _ int) (float64, bool) {
			requests := answered(all)
			from, to, ok := steadyWindow(requests, 1)
			if !ok || to-from < 2e9 {
				return 0, false
			}
			seconds := make([]float64, (to-from)/1e9+1)
			for _, r := range requests {
				ok := NewView(r).eachArrival(func(at int64, tokens float64) {
					if i := (at - from) / 1e9; i >= 0 && i < int64(len(seconds)) {
						seconds[i] += tokens
					}
				})
				if !ok {
					return 0, false
				}
			}
			return slices.Max(seconds), true
		},
	}
}

// answered are the requests whose tokens count for the server: the successful ones, and those that the end of the window
// cut off.
func answered(all []record.Request) []*record.Request {
	var out []*record.Request
	for i := range all {
		if r := &all[i]; !r.Warmup && (r.OK || r.Censored) {
			out = append(out, r)
		}
	}
	return out
}

// perSecond is the number of tokens that arrived in (from, to] by time.
func perSecond(requests []*record.Request, from, to int64) (float64, bool) {
	tokens := 0.0
	for _, r := range requests {
		ok := NewView(r).eachArrival(func(at int64, n float64) {
			if at > from && at <= to {
				tokens += n
			}
		})
		if !ok {
			return 0, false
		}
	}
	return tokens / (float64(to-from) / 1e9), true
}

// steadyWindow is the time during which all of concurrency requests were in flight.
func steadyWindow(requests []*record.Request, concurrency int) (from, to int64, ok bool) {
	var sent, over []int64
	for _, r := range requests {
		if r.Wrote >= 0 && r.Done >= 0 {
			sent = append(sent, r.Wrote)
			over = append(over, r.Done)
		}
	}
	if len(sent) == 0 {
		return 0, 0, false
	}
	slices.Sort(sent)
	slices.Sort(over)
	from, to = sent[0], over[len(over)-1]
	if c := concurrency; c > 1 && len(sent) > c {
		if f, t := sent[c-1], over[len(over)-c]; t > f {
			from, to = f, t
		}
	}
	return from, to, to > from
}

// eachArrival tells when a request's tokens came: those of arrivals of unknown size are spread over these by their
// events. It reports false when the number of tokens is not known.
func (v *View) eachArrival(tell func(at int64, tokens float64)) bool {
	if !v.Known {
		return v.Censored && v.First < 0 // cut off before its first token
	}
	if len(v.Arrivals) == 0 { // not streamed
		tell(v.Done, float64(v.N))
		return true
	}
	rest, events := v.N, 0 // tokens and events of arrivals of unknown size
	for _, a := range v.Arrivals {
		rest -= a.Tokens
		if a.Tokens == 0 {
			events += a.Events
		}
	}
	for i, a := range v.Arrivals {
		tokens := float64(a.Tokens)
		if a.Tokens == 0 {
			tokens = float64(max(rest, 0)) * float64(a.Events) / float64(events)
		} else if events == 0 && i == len(v.Arrivals)-1 {
			tokens += float64(rest) // what was counted without being sent
		}
		tell(a.At, tokens)
	}
	return true
}
