package record

import (
	"encoding/json"
	"fmt"
	"strings"

	"treeline/internal/wire/openai"
)

// chunk is what we read of one stream event or of a whole answer, over all servers we know. It is more tolerant than
// the API's own types: a member of the wrong type is skipped and the rest is kept; of a member that comes twice the
// last one wins, and null takes nothing back.
type chunk struct {
	Object  *string         `json:"object"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *openai.Usage   `json:"usage"`
	Timings *openai.Timings `json:"timings"`
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"` // SGLang's errors are flat: {"object":"error","message":...}
	Detail  json.RawMessage `json:"detail"`  // FastAPI's errors

	// llama.cpp's native /completion stream has no choices.
	Content *string `json:"content"`
	Tokens  []int32 `json:"tokens"`
	Stop    bool    `json:"stop"`
}

type choice struct {
	Index    int     `json:"index"`
	Delta    *delta  `json:"delta"`
	Message  *delta  `json:"message"`
	Text     string  `json:"text"`
	Finish   string  `json:"finish_reason"`
	TokenIDs []int32 `json:"token_ids"`
}

type delta struct {
	Role             string                  `json:"role"`
	Content          string                  `json:"content"`
	Refusal          string                  `json:"refusal"`
	ReasoningContent string                  `json:"reasoning_content"`
	Reasoning        string                  `json:"reasoning"`
	ReasoningDetails []struct{ Text string } `json:"reasoning_details"`
	ToolCalls        []toolDelta             `json:"tool_calls"`
}

// toolDelta is a fragment of a tool call. One without an index belongs to the call that was last spoken of.
type toolDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// parts are the pieces of text that a choice carries.
func (c choice) parts() (text, reasoning string, tool bool) {
	d := c.Delta
	if d == nil {
		d = c.Message
	}
	if d == nil {
		return c.Text, "", false
	}
	text = c.Text + d.Content + d.Refusal
	reasoning = d.ReasoningContent
	if reasoning == "" { // TensorRT-LLM sends both names with the same text: it counts once
		reasoning = d.Reasoning
	}
	if reasoning == "" {
		for _, part := range d.ReasoningDetails {
			reasoning += part.Text
		}
	}
	return text, reasoning, len(d.ToolCalls) > 0
}

// tools are the fragments of tool calls that a choice carries.
func (c choice) tools() []toolDelta {
	switch {
	case c.Delta != nil:
		return c.Delta.ToolCalls
	case c.Message != nil:
		return c.Message.ToolCalls
	}
	return nil
}

// failure returns the error message that a chunk or body carries, "" when it carries none.
func (c chunk) failure() string {
	if m := errorText(c.Error); m != "" {
		return m
	}
	if c.Object != nil && *c.Object == "error" {
		if m := errorText(c.Message); m != "" {
			return m
		}
		return "error object without a message"
	}
	if c.Choices == nil && len(c.Detail) > 0 {
		return errorText(c.Detail)
	}
	return ""
}

// errorText makes one line of an error member, which is a string, an object with a message, or anything else.
func errorText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "false" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var object struct {
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message+object.Detail != "" {
		return object.Message + object.Detail
	}
	var faults []struct { // FastAPI's validation
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &faults) == nil && len(faults) > 0 && faults[0].Msg != "" {
		var all []string
		for _, f := range faults {
			all = append(all, strings.TrimSpace(f.Msg+" "+strings.Trim(fmt.Sprint(f.Loc), "[]")))
		}
		return strings.Join(all, "; ")
	}
	return Excerpt(raw)
}

// ErrorMessage finds the message in the body of a refused request, whatever server sent it.
func ErrorMessage(body []byte) string {
	if c, err := decodeChunk(body); err == nil {
		if m := c.failure(); m != "" {
			return m
		}
	}
	return Excerpt(body)
}

// Excerpt is the beginning of a body on one line, for messages to people.
func Excerpt(b []byte) string {
	const most = 160
	s := strings.Join(strings.Fields(string(b[:min(len(b), 4*most)])), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
