package record

// The notes on a request: things in its answer that were tolerated and are worth knowing. They judge nothing.
const (
	NoteNoDone           = "no_done"           // the stream ended without [DONE]
	NoteUsageFell        = "usage_fell"        // a later usage was smaller than an earlier one; the last one counts
	NoteReasoningOutside = "reasoning_outside" // reasoning tokens were not in completion_tokens and have been added
	NoteTailUnclosed     = "tail_unclosed"     // the last event lacked its closing empty line and was used
	NoteOverMaxTokens    = "over_max_tokens"   // more tokens came than were asked for
	NoteZeroUsage        = "zero_usage"        // usage claimed no tokens, or fewer, although output came
	NoteEmptyAnswer      = "empty_answer"      // finished without a token
	NoteCompressed       = "compressed"        // the body came compressed although identity was asked for
	NoteNotStreamed      = "not_streamed"      // one JSON answer came although a stream was asked for
)

// ToolCall is a tool call of an answer, put together from its fragments.
type ToolCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// maxIndex bounds the indexes of choices and of tool calls that are believed.
const maxIndex = 1000

// assembler puts tool calls together. A fragment without an index belongs to the call that was last spoken of, or begins
// one when it brings an id or a name of its own.
type assembler struct {
	calls  []ToolCall
	active int // the call last spoken of
}

func (a *assembler) add(fragments []toolDelta) {
	for _, f := range fragments {
		switch {
		case f.Index != nil && *f.Index >= 0 && *f.Index < maxIndex:
			a.active = *f.Index
		case f.Index == nil && a.begins(f):
			a.active = len(a.calls)
		case len(a.calls) == 0:
			continue // an index that is not believed
		}
		for a.active >= len(a.calls) {
			a.calls = append(a.calls, ToolCall{})
		}
		c := &a.calls[a.active]
		if f.ID != "" { // whole, and repeated by some servers in every fragment
			c.ID = f.ID
		}
		if f.Function.Name != c.Name {
			c.Name += f.Function.Name
		}
		c.Arguments += f.Function.Arguments
	}
}

// begins reports whether a fragment without an index is the first of its call.
func (a *assembler) begins(f toolDelta) bool {
	if len(a.calls) == 0 {
		return true
	}
	if f.ID != "" {
		return f.ID != a.calls[a.active].ID
	}
	return f.Function.Name != ""
}

// noteTokens notes what is odd about the number of tokens.
func (r *Request) noteTokens() {
	n, known := r.OutputTokens()
	switch {
	case r.Usage != nil && !known:
		r.note(NoteZeroUsage)
	case known && n > r.Usage.CompletionTokens:
		r.note(NoteReasoningOutside)
	}
	if known && r.MaxTokens > 0 && n > r.MaxTokens {
		r.note(NoteOverMaxTokens)
	}
	if known && n == 0 {
		r.note(NoteEmptyAnswer)
	}
}
