// Package workload holds what is asked of a server: the built-in prompt set (8 categories of 16, written for this
// project) and prompts from a user's file. It knows nothing of HTTP, of arrival times or of chat templates; a Prompt
// becomes a request in the load generator.
package workload

// Prompt is one user message. ID is stable across versions; Category groups prompts whose speed behaves alike
// (speculation pays differently in each).
type Prompt struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Text     string `json:"text"`
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
