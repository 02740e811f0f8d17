package metric

import (
	"fmt"
	"math"
	"slices"

	"treeline/internal/measure/record"
)

// Outside is what others know about the requests of a level, for the checks; all of it is in the record of a start. Nil
// and zero are unknown.
type Outside struct {
	Concurrency int
	Generated   *float64 // growth of the server's counter of generated tokens over the requests of all levels
	Watched     bool     // the client's own lag was seen to be small
	Sole        bool     // these requests are all that lie between the counter's readings
	Tau         *float64 // acceptance length by the server
	RTTms       float64  // shortest round trip
}

// Checks are identities that hold between the figures of any sound measurement, whatever the server: where one fails,
// something was misread. They are no tests of the server's speed.
func Checks(requests []record.Request, o Outside) []record.Check {
	return []record.Check{
		little(requests, o.Concurrency), tokensCounted(requests, o), chunksAddUp(requests), ttftAboveRTT(requests, o.RTTms),
		decodeAboveEffective(requests), tauAgrees(requests, o),
	}
}

// Failed are warnings of the checks that do not hold.
func Failed(checks []record.Check) []record.Warning {
	var out []record.Warning
	for _, c := range checks {
		if !c.OK && c.Skipped == "" {
			out = append(out, record.Warning{Code: record.WarnIdentity, Text: c.Name + ": " + c.Text + ". Usually " + usually(c.Name)})
		}
	}
	return out
}

// usually is what the failure of a check usually means.
func usually(name string) string {
	all := Identities()
	return all[slices.IndexFunc(all, func(i Identity) bool { return i.Name == name })].Fails
}

func skipped(name, why string) record.Check { return record.Check{Name: name, Skipped: why} }

// little is Little's law: the mean number in flight is the rate of arrivals times the mean time in flight.
func little(all []record.Request, concurrency int) record.Check {
	const name = checkLittle
	requests := slices.DeleteFunc(answered(all), func(r *record.Request) bool { return r.Wrote < 0 || r.Done < 0 })
	from, to, ok := steadyWindow(requests, concurrency)
	if !ok {
		return skipped(name, "no time in which requests were in flight")
	}
	inside, began, whole := 0.0, 0, 0.0
	for _, r := range requests {
		inside += math.Max(0, float64(min(r.Done, to)-max(r.Wrote, from)))
		if r.Wrote >= from && r.Wrote < to {
			began++
			whole += float64(r.Done - r.Wrote)
		}
	}
	const enough = 40 // requests for each place: those that the window's edges cut are then a fortieth at most
	if began < enough*max(concurrency, 1) {
		return skipped(name, fmt.Sprintf("only %d requests began in the steady window: its edges decide", began))
	}
	length := float64(to - from)
	l, lw := inside/length, float64(began)/length*whole/float64(began)
	return record.Check{
		Name: name, OK: math.Abs(l-lw) < 0.05*l,
		Text: fmt.Sprintf("%.2f in flight on average, rate times duration %.2f", l, lw),
	}
}

// tokensCounted compares the tokens that usage tells with those that the server counted.
func tokensCounted(requests []record.Request, o Outside) record.Check {
	const name = checkTokens
	if o.Generated == nil || !o.Sole {
		return skipped(name, "the server does not count generated tokens for these requests alone")
	}
	sum := 0
	for i := range requests {
		r := &requests[i]
		n, known := r.OutputTokens()
		switch {
		case r.Warmup:
		case !known || !r.OK:
			return skipped(name, "some requests failed or did not tell their tokens")
		default:
			sum += n
		}
	}
	return record.Check{
		Name: name, OK: math.Abs(*o.Generated-float64(sum)) <= math.Max(2, 0.01*float64(sum)),
		Text: fmt.Sprintf("usage sums to %d tokens, the server counted %.0f", sum, *o.Generated),
	}
}

// chunksAddUp compares what the events told with usage.
func chunksAddUp(requests []record.Request) record.Check {
	const name = checkChunks
	told, sum, n := 0, 0, 0
	for i := range requests {
		v := NewView(&requests[i])
		if !v.OK || v.Warmup || !v.Known || len(v.Arrivals) == 0 || slices.ContainsFunc(v.Arrivals, func(a record.Arrival) bool { return a.Tokens == 0 }) {
			continue
		}
		n++
		sum += v.N
		for _, a := range v.Arrivals {
			told += a.Tokens
		}
	}
	if n == 0 {
		return skipped(name, "no stream told the tokens of its events")
	}
	return record.Check{
		Name: name, OK: math.Abs(float64(told-sum)) <= 0.01*float64(sum),
		Text: fmt.Sprintf("the events of %d requests told %d tokens, their usage %d", n, told, sum),
	}
}

// ttftAboveRTT: no answer can come before the network allows.
func ttftAboveRTT(requests []record.Request, rtt float64) record.Check {
	const name = checkRTT
	if rtt <= 0 {
		return skipped(name, "the round trip was not measured")
	}
	least := math.Inf(1)
	for i := range requests {
		if r := &requests[i]; r.OK && !r.Warmup && r.First >= 0 {
			least = min(least, float64(r.First-r.Wrote)/1e6)
		}
	}
	if math.IsInf(least, 1) {
		return skipped(name, "no request has a time to first token")
	}
	const noise = 0.2 // ms: what timers and schedulers add to a connection on one machine
	return record.Check{Name: name, OK: least >= rtt-noise, Text: fmt.Sprintf("shortest time to first token %.3f ms, shortest round trip %.3f ms", least, rtt)}
}

// decodeAboveEffective: the wait for the first token can only slow a stream down.
func decodeAboveEffective(requests []record.Request) record.Check {
	const name = checkEffective
	n, wrong := 0, 0
	for i := range requests {
		v := NewView(&requests[i])
		tokens, ms, ok := v.decode()
		if !v.OK || v.Warmup || !ok || !v.FirstKnown || v.NFirst != 1 || v.N < 3 {
			continue
		}
		n++
		if whole := v.whole(); len(whole) > 0 && float64(tokens)/ms < float64(v.N-1)/whole[0]*(1-1e-9) {
			wrong++
		}
	}
	if n == 0 {
		return skipped(name, "no request has a known first token")
	}
	return record.Check{Name: name, OK: wrong == 0, Text: fmt.Sprintf("%d of %d requests were slower while decoding than over the whole", wrong, n)}
}

// tauAgrees compares the acceptance length that the client sees in its chunks with that of the server's counters.
func tauAgrees(requests []record.Request, o Outside) record.Check {
	const name = checkTau
	if !o.Watched {
		return skipped(name, "the client was not watched: it may have merged chunks itself")
	}
	if o.Tau == nil || o.Concurrency != 1 {
		return skipped(name, "it needs the server's acceptance length, and concurrency 1")
	}
	tokens, gaps, answers := 0.0, 0.0, 0.0
	for _, r := range coldOnes(requests) {
		if of, per, ok := NewView(r).perChunk(); ok {
			tokens, gaps, answers = tokens+of, gaps+per, answers+1
		}
	}
	if gaps == 0 {
		return skipped(name, "no stream has two chunks")
	}
	seen := tokens / gaps
	cut := (*o.Tau - 1) * answers / gaps // the server counts all that its last step accepted, beyond the end of the answer too
	return record.Check{
		Name: name, OK: seen-*o.Tau <= 0.05**o.Tau && *o.Tau-seen <= 0.05**o.Tau+cut,
		Text: fmt.Sprintf("%.3f tokens a chunk at the client, acceptance length %.3f at the server", seen, *o.Tau),
	}
}
