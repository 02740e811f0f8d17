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
			requests := slices.DeleteFunc(slices.Clone(all), func(r record.Request) bool { return r.Warmup || (!r.OK && !r.Censored) })
			from, to, ok := steadyWindow(requests, concurrency)
			if !ok {
				return 0, false
			}
			tokens := 0.0
			for i := range requests {
				t, ok := tokensWithin(&requests[i], from, to)
				if !ok {
					return 0, false
				}
				tokens += t
			}
			return tokens / (float64(to-from) / 1e9), true
		},
	}
}

// steadyWindow is the time during which all of concurrency requests were in flight.
func steadyWindow(requests []record.Request, concurrency int) (from, to int64, ok bool) {
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

// tokensWithin is the number of a request's tokens that arrived in (from, to].
func tokensWithin(r *record.Request, from, to int64) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok {
		return 0, r.Censored && r.First < 0 // cut off before its first token
	}
	inside := func(at int64) bool { return at > from && at <= to }
	arrivals := r.Arrivals()
	if len(arrivals) == 0 { // not streamed
		if inside(r.Done) {
			return float64(n), true
		}
		return 0, true
	}
	rest, events := n, 0 // tokens and events of arrivals of unknown size
	for _, a := range arrivals {
		rest -= a.Tokens
		if a.Tokens == 0 {
			events += a.Events
		}
	}
	sum := 0.0
	for i, a := range arrivals {
		tokens := float64(a.Tokens)
		if a.Tokens == 0 {
			tokens = float64(max(rest, 0)) * float64(a.Events) / float64(events)
		} else if events == 0 && i == len(arrivals)-1 {
			tokens += float64(rest) // what was counted without being sent
		}
		if inside(a.At) {
			sum += tokens
		}
	}
	return sum, true
}
