package record

// OutputTokens is N, the number of generated tokens, reasoning included, as the server's usage tells it. known is false
// without usage, and when usage claims zero tokens although text came: N is never guessed from text or chunks.
//
// OpenAI counts reasoning inside completion_tokens; xAI reports it outside. Which one it was follows from the total.
func (r *Request) OutputTokens() (n int, known bool) {
	u := r.Usage
	if u == nil || (u.CompletionTokens == 0 && r.Text+r.Reasoning != "") {
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

// Arrival is what one read brought: all generating events that it completed. Servers that verify several draft tokens
// at once send them as several events in one read (llama.cpp) or as one event (vLLM, SGLang); an arrival is the same
// in both cases, and is what the metrics call a chunk.
type Arrival struct {
	At     int64
	Events int
	Tokens int // 0 when unknown
}

// Arrivals groups the generating events by the read that completed them.
func (r *Request) Arrivals() []Arrival {
	var out []Arrival
	last, known := -1, true
	for _, e := range r.Events {
		if !e.Kind.Generates() {
			continue
		}
		if e.Read != last || len(out) == 0 {
			out = append(out, Arrival{At: e.At})
			last, known = e.Read, true
		}
		a := &out[len(out)-1]
		a.Events++
		known = known && e.Tokens > 0
		a.Tokens += e.Tokens
		if !known {
			a.Tokens = 0
		}
	}
	r.inferTokens(out)
	return out
}

// inferTokens fills in arrivals' token counts that follow by arithmetic: with as many generating events as tokens,
// every event carries exactly one; the end token of a stopped answer is counted by some servers and sent by none.
func (r *Request) inferTokens(arrivals []Arrival) {
	n, ok := r.OutputTokens()
	events := 0
	for _, a := range arrivals {
		events += a.Events
	}
	if !ok || events == 0 || (n != events && !(r.Finish == "stop" && n == events+1)) {
		return
	}
	for i := range arrivals {
		if arrivals[i].Tokens == 0 {
			arrivals[i].Tokens = arrivals[i].Events
		}
	}
}
