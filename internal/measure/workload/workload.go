// Package workload holds what is asked of a server: the built-in prompt set (8 categories of 16, written for this
// project) and prompts from a user's file.
package workload

// Prompt is one user message. ID is stable across versions; Category groups prompts whose speed behaves alike
// (speculation pays differently in each).
type Prompt struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Text     string `json:"text"`
}
