// Package openai holds the request, response and chunk types of the OpenAI HTTP API that both halves speak:
// the measuring half writes requests and reads answers, the serving half does the reverse.
//
// It is not a client and not a server. Types are tolerant: what other servers add (reasoning text, timings,
// token ids) is here where we use it, and unknown members are ignored.
package openai

import (
	"encoding/json"
	"errors"
	"strings"
)

// Message is one turn of a chat. Content is a string or a list of text parts; both decode to plain text.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
	Name    string  `json:"name,omitempty"`
}

// Content is a message's text. It decodes from a JSON string, null, or an array of {"type":"text","text":...} parts
// and encodes as a string.
type Content string

// UnmarshalJSON accepts a string, null, or text parts; any other part type is an error that names it.
func (c *Content) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err == nil {
		if s != nil {
			*c = Content(*s)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("content must be a string or a list of text parts")
	}
	var sb strings.Builder
	for _, p := range parts {
		if p.Type != "text" && p.Type != "input_text" {
			return errors.New("content part of type " + p.Type + " is not supported; send text")
		}
		sb.WriteString(p.Text)
	}
	*c = Content(sb.String())
	return nil
}

// StringList decodes from one JSON string, null, or an array of strings (the API's "stop").
type StringList []string

// UnmarshalJSON accepts a string, null, or an array of strings.
func (l *StringList) UnmarshalJSON(b []byte) error {
	var one *string
	if err := json.Unmarshal(b, &one); err == nil {
		*l = nil
		if one != nil {
			*l = StringList{*one}
		}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return errors.New("must be a string or a list of strings")
	}
	*l = many
	return nil
}

// StreamOptions is the stream_options member of a request.
type StreamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

// Sampling is what chat and plain completion requests share. Pointers tell "absent" from zero.
type Sampling struct {
	Model            string             `json:"model"`
	MaxTokens        *int               `json:"max_tokens,omitempty"`
	Temperature      *float64           `json:"temperature,omitempty"`
	TopP             *float64           `json:"top_p,omitempty"`
	TopK             *int               `json:"top_k,omitempty"`
	MinP             *float64           `json:"min_p,omitempty"`
	N                *int               `json:"n,omitempty"`
	Seed             *int64             `json:"seed,omitempty"`
	Stop             StringList         `json:"stop,omitempty"`
	Stream           bool               `json:"stream,omitempty"`
	StreamOptions    *StreamOptions     `json:"stream_options,omitempty"`
	IgnoreEOS        bool               `json:"ignore_eos,omitempty"`
	MinTokens        *int               `json:"min_tokens,omitempty"`
	PresencePenalty  *float64           `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64           `json:"frequency_penalty,omitempty"`
	LogitBias        map[string]float64 `json:"logit_bias,omitempty"`
	User             string             `json:"user,omitempty"`
}

// ChatRequest is the body of POST /v1/chat/completions.
type ChatRequest struct {
	Sampling
	Messages            []Message      `json:"messages"`
	MaxCompletionTokens *int           `json:"max_completion_tokens,omitempty"`
	Logprobs            *bool          `json:"logprobs,omitempty"`
	ChatTemplateKwargs  map[string]any `json:"chat_template_kwargs,omitempty"`
}

// CompletionRequest is the body of POST /v1/completions. Prompt is a string, a list of strings, a list of token ids,
// or a list of such lists; it stays raw because each server supports another subset.
type CompletionRequest struct {
	Sampling
	Prompt json.RawMessage `json:"prompt"`
	Echo   bool            `json:"echo,omitempty"`
}

// Usage counts tokens. Cached and reasoning counts are nil when the server does not say.
type Usage struct {
	PromptTokens            int                `json:"prompt_tokens"`
	CompletionTokens        int                `json:"completion_tokens"`
	TotalTokens             int                `json:"total_tokens"`
	PromptTokensDetails     *PromptDetails     `json:"prompt_tokens_details,omitempty"`
	CompletionTokensDetails *CompletionDetails `json:"completion_tokens_details,omitempty"`
}

// PromptDetails splits Usage.PromptTokens.
type PromptDetails struct {
	CachedTokens *int `json:"cached_tokens,omitempty"`
}

// CompletionDetails splits Usage.CompletionTokens.
type CompletionDetails struct {
	ReasoningTokens *int `json:"reasoning_tokens,omitempty"`
}

// Delta is the increment that one stream chunk carries for one choice, or the whole message of an answer.
type Delta struct {
	Role             string          `json:"role,omitempty"`
	Content          *string         `json:"content,omitempty"`
	ReasoningContent *string         `json:"reasoning_content,omitempty"`
	Reasoning        *string         `json:"reasoning,omitempty"`
	ToolCalls        json.RawMessage `json:"tool_calls,omitempty"`
}

// Choice is one alternative of an answer or of a chunk. Delta is set in chat chunks, Message in chat answers,
// Text in plain completions.
type Choice struct {
	Index        int     `json:"index"`
	Delta        *Delta  `json:"delta,omitempty"`
	Message      *Delta  `json:"message,omitempty"`
	Text         *string `json:"text,omitempty"`
	FinishReason *string `json:"finish_reason"`
	TokenIDs     []int32 `json:"token_ids,omitempty"`
}

// Timings is the per-request clock of the server itself, in llama.cpp's form; Treeline's server sends the same
// members. Milliseconds. DraftN counts drafted, DraftNAccepted accepted draft tokens, VerifyN target verify passes.
type Timings struct {
	CacheN         int     `json:"cache_n"`
	PromptN        int     `json:"prompt_n"`
	PromptMS       float64 `json:"prompt_ms"`
	PredictedN     int     `json:"predicted_n"`
	PredictedMS    float64 `json:"predicted_ms"`
	DraftN         int     `json:"draft_n,omitempty"`
	DraftNAccepted int     `json:"draft_n_accepted,omitempty"`
	VerifyN        int     `json:"verify_n,omitempty"`
}

// Response is an answer or a stream chunk; Object tells which.
type Response struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint,omitempty"`
	Choices           []Choice        `json:"choices"`
	Usage             *Usage          `json:"usage,omitempty"`
	Timings           *Timings        `json:"timings,omitempty"`
	Seed              *int64          `json:"seed,omitempty"` // Treeline: the seed of the answer, also when it was drawn by the server
	Error             json.RawMessage `json:"error,omitempty"`
}

// Error is the body {"error":{...}} of a refused request.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}

// ModelList answers GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// Model is one entry of a ModelList. OwnedBy tells the kind of server (Treeline answers "treeline").
type Model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"`
}
