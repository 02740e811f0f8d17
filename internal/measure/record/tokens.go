package record

import "slices"

// OutputTokens is N, the number of generated tokens, reasoning included, as the server's usage tells it. known is false
// without usage, and when usage is negative or claims zero tokens although output came: N is never guessed from text or
// chunks.
//
// OpenAI counts reasoning inside completion_tokens; xAI reports it outside. Which one it was follows from the total.
func (r *Request) OutputTokens() (n int, known bool) {
	u := r.Usage
	if u == nil || u.CompletionTokens < 0 || (u.CompletionTokens == 0 && r.said()) {
		return 0, false
	}
	n = u.CompletionTokens
	if d := u.CompletionTokensDetails; d != nil && d.ReasoningTokens != nil {
		if outside := n + *d.ReasoningTokens; *d.ReasoningTokens > 0 && u.TotalTokens == u.PromptTokens+outside {
			n = outside
		}
	}
	return n, true
}

// said reports whether the answer holds any output.
func (r *Request) said() bool {
	return r.Text != "" || r.Reasoning != "" || len(r.Tools) > 0 || slices.ContainsFunc(r.Others, func(s string) bool { return s != "" })
}

// CachedTokens is the number of prompt tokens that the server took from a cache; known is false when it does not say.
func (r *Request) CachedTokens() (n int, known bool) {
	if r.Usage != nil && r.Usage.PromptTokensDetails != nil && r.Usage.PromptTokensDetails.CachedTokens != nil {
		return *r.Usage.PromptTokensDetails.CachedTokens, true
	}
	if r.Timings != nil {
		return r.Timings.CacheN, true
	}
	return 0, false
}

// Arrival is what came at once: all generating events of one read, and of reads that follow so soon that they belong to
// the same step: within 5 ms, and within a quarter of the stream's mean gap between events where that is less.
// Servers that verify several draft tokens together send them as one event (vLLM, SGLang) or as several in quick
// succession, which the network cuts into reads as it likes (llama.cpp). An arrival is the same in all cases, and is
// what the metrics call a chunk.
type Arrival struct {
	At     int64 // of the first read
	Events int
	Tokens int // 0 when unknown
}

// Arrivals groups the generating events.
func (r *Request) Arrivals() []Arrival {
	var out []Arrival
	last, read, gap := int64(0), int32(0), r.burstGap()
	known, one, all := true, r.oneEach(), r.allTold()
	for _, e := range r.Events {
		if !e.Kind.Generates() {
			continue
		}
		if len(out) == 0 || (e.Read != read && e.At-last >= gap) {
			out = append(out, Arrival{At: e.At})
			known = true
		}
		last, read = e.At, e.Read
		a := &out[len(out)-1]
		a.Events++
		tokens := int(e.Tokens)
		if one {
			tokens = 1
		}
		known = known && (tokens > 0 || all)
		a.Tokens += tokens
		if !known {
			a.Tokens = 0
		}
	}
	return out
}

// oneEach reports whether every generating event carries exactly one token, because nothing tells their sizes and
// there are as many of them as tokens.
func (r *Request) oneEach() bool {
	n, ok := r.OutputTokens()
	events := 0
	for _, e := range r.Events {
		if e.Kind.Generates() {
			events++
			ok = ok && e.Tokens <= 1
		}
	}
	return ok && n == events && !r.allTold()
}

// allTold reports whether the sizes of all events are known, those of zero as well, because they add up to N.
func (r *Request) allTold() bool {
	n, ok := r.OutputTokens()
	sum := 0
	for _, e := range r.Events {
		if e.Kind.Generates() {
			sum += int(e.Tokens)
		}
	}
	return ok && sum == n
}

// burstGap is the longest pause inside a burst, in nanoseconds.
func (r *Request) burstGap() int64 {
	const most = 5e6
	first, last, events := int64(0), int64(0), int64(0)
	for _, e := range r.Events {
		if e.Kind.Generates() {
			if events == 0 {
				first = e.At
			}
			last = e.At
			events++
		}
	}
	if events < 2 {
		return most
	}
	return min(most, (last-first)/(events-1)/4)
}
