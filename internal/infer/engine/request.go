package engine

import (
	"fmt"
	"time"

	"treeline/internal/infer/sample"
	"treeline/internal/infer/spec"
	"treeline/internal/wire/openai"
)

// Request is one choice to generate.
type Request struct {
	Prompt    []int32
	MaxTokens int // 0: until the context is full
	MinTokens int // before that many, end-of-sequence tokens are not drawn and stop strings not looked for
	IgnoreEOS bool
	Stop      []string // none empty
	Sample    sample.Params
}

// Finish reasons. A request that failed or was cancelled has none.
const (
	FinishStop   = "stop"   // end of sequence or a stop string
	FinishLength = "length" // MaxTokens or the end of the context
)

// Result is what is known of a choice when it has ended.
type Result struct {
	FinishReason     string
	StopString       string // the stop string that ended it, "" otherwise
	PromptTokens     int
	CompletionTokens int // the end-of-sequence token counts, as do tokens whose text fell to a stop string
	// Timings: PromptMS from admission to the first token, PredictedMS from the first token to the last, so that
	// PredictedMS/(PredictedN-1) is the time per output token that a client can measure. Waiting is in neither.
	Timings openai.Timings
	QueueMS float64 // from Submit to admission
	Err     error   // why it failed
}

// PromptError says that a prompt leaves no room for an answer.
type PromptError struct{ Tokens, Context int }

// Error implements error.
func (e *PromptError) Error() string {
	return fmt.Sprintf("the prompt has %d tokens; the context holds %d with at least one token of answer: shorten the prompt or serve with a larger --ctx-size", e.Tokens, e.Context)
}

// check refuses what the loop could not run.
func (e *Engine) check(r *Request) error {
	if len(r.Prompt) == 0 {
		return fmt.Errorf("the prompt is empty")
	}
	if n, limit := len(r.Prompt), e.runner.MaxLen(); n >= limit {
		return &PromptError{n, limit}
	}
	vocab := e.runner.Config().Vocab
	for i, t := range r.Prompt {
		if t < 0 || int(t) >= vocab {
			return fmt.Errorf("prompt token %d is %d; this model's tokens are 0 to %d", i, t, vocab-1)
		}
	}
	if r.MaxTokens < 0 || r.MinTokens < 0 {
		return fmt.Errorf("max_tokens %d and min_tokens %d must not be negative", r.MaxTokens, r.MinTokens)
	}
	return nil
}

// request is a Request under way. It belongs to the loop once it is admitted.
type request struct {
	Request
	answer *Answer
	choice int

	slot      int     // sequence of the model
	tokens    []int32 // prompt and what was generated; all but the newest are committed while decoding
	prefilled int     // prompt tokens committed
	limit     int     // len(tokens) at which the answer ends
	counts    map[int32]int
	draft     spec.Drafter
	tree      spec.Tree
	text      output

	base, rows int // this round's part of the batch
	fresh      int // len(tokens) before this round

	submitted, started, first, last time.Time
	timings                         openai.Timings
	finish, stop                    string
}

// generated is the number of tokens of the answer.
func (r *request) generated() int { return len(r.tokens) - len(r.Prompt) }

// point is where the next token stands.
func (e *Engine) point(r *request) sample.Point {
	at := sample.Point{Pos: len(r.tokens), Counts: r.counts}
	if !r.IgnoreEOS && r.generated() < r.MinTokens {
		at.Banned = e.opt.EOS
	}
	return at
}

// take appends one token to the answer and sets finish when it is the last. It returns the text that may go out.
func (e *Engine) take(r *request, token int32) string {
	r.tokens = append(r.tokens, token)
	if r.counts != nil {
		r.counts[token]++
	}
	if e.eos[token] && !r.IgnoreEOS {
		r.finish = FinishStop
		text, _ := r.text.end(true)
		return text
	}
	text, stop := r.text.push(token, r.generated() >= r.MinTokens)
	if stop != "" {
		r.finish, r.stop = FinishStop, stop
		return text
	}
	if len(r.tokens) >= r.limit {
		r.finish = FinishLength
		rest, stop := r.text.end(r.generated() >= r.MinTokens)
		if stop != "" {
			r.finish, r.stop = FinishStop, stop
		}
		return text + rest
	}
	return text
}
