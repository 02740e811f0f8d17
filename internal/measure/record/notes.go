package record

// The notes on a request: things in its answer that were tolerated and are worth knowing. They judge nothing.
const (
	NoteNoDone           = "no_done"           // the stream ended without [DONE]
	NoteUsageFell        = "usage_fell"        // a later usage was smaller than an earlier one; the last one counts
	NoteReasoningOutside = "reasoning_outside" // reasoning tokens were not in completion_tokens and have been added
	NoteTailUnclosed     = "tail_unclosed"     // the last event lacked its closing empty line and was used
	NoteOverMaxTokens    = "over_max_tokens"   // more tokens came than were asked for
	NoteZeroUsage        = "zero_usage"        // usage claimed no tokens although text came
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

// assemble adds fragments to the calls they belong to. A fragment without an index belongs to the last call, or begins
// one when it has a name.
func assemble(calls []ToolCall, fragments []toolDelta) []ToolCall {
	for _, f := range fragments {
		at := len(calls) - 1
		switch {
		case f.Index != nil && *f.Index >= 0 && *f.Index < maxIndex:
			at = *f.Index
		case f.Index == nil && (at < 0 || f.Function.Name != ""):
			at = len(calls)
		}
		for at >= len(calls) {
			calls = append(calls, ToolCall{})
		}
		if at < 0 {
			continue
		}
		c := &calls[at]
		c.ID += f.ID
		c.Name += f.Function.Name
		c.Arguments += f.Function.Arguments
	}
	return calls
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
