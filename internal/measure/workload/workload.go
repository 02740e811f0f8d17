// Package workload holds what is asked of a server: the built-in prompt set (8 categories of 16, written for this
// project) and prompts from a user's file. It knows nothing of HTTP, of arrival times or of chat templates; a Prompt
// becomes a request in the load generator.
package workload

import "slices"

// Prompt is what one request asks: a user message, or a conversation that ends with one. ID is stable across versions;
// Category groups prompts whose speed behaves alike (speculation pays differently in each).
type Prompt struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Text     string `json:"text"` // of the last message
	// Make writes the text where prompts are too many and too long to be held at once: those of a trace. Nil means Text.
	Make func() string `json:"-"`
	// Before are the messages before it: a system prompt, earlier turns.
	Before []Message `json:"before,omitempty"`
	// MaxTokens is the length of the answer to ask for, 0 when the load decides.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Tokens is how long the prompt is meant to be, 0 when nobody says. The server's usage tells how long it is.
	Tokens int `json:"tokens,omitempty"`
	// Shares says that the prompt begins like others on purpose: finding its beginning in a cache is part of the load.
	Shares bool `json:"shares,omitempty"`
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Messages is the whole conversation. A mark is put at its very beginning when there is one: a repeated prompt then
// finds nothing in a server's prefix cache.
func (p Prompt) Messages(mark string) []Message {
	text := p.Text
	if p.Make != nil {
		text = p.Make()
	}
	all := append(slices.Clone(p.Before), Message{Role: "user", Content: text})
	all[0].Content = mark + all[0].Content
	return all
}

// The categories of the built-in set. Rewriting, extraction and long-context prompts carry the text that they ask
// about, so that drafts copied from the prompt can pay there; the others leave a drafter to its own knowledge.
const (
	Code        = "code"
	Maths       = "maths"
	Chat        = "chat"
	Rewriting   = "rewriting"
	Extraction  = "extraction"
	Reasoning   = "reasoning"
	Translation = "translation"
	LongContext = "longcontext"
)

// Categories returns the categories of the built-in set in the order in which BuiltIn lists them.
func Categories() []string {
	return []string{Code, Maths, Chat, Rewriting, Extraction, Reasoning, Translation, LongContext}
}
