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
