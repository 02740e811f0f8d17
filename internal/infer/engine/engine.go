// Package engine is continuous batching: it turns requests of token ids into streams of tokens and text, with one
// loop that owns the model.
//
// Requests join between rounds. A round is one forward pass over one flat batch: chunks of prompts, the newest token
// of every decoding request, and below it that request's draft tree. One verify path serves every speculative method
// and plain decoding (an empty tree): walk from the newest token, draw the noise-coupled token of each row (package
// sample), go on while the draft holds it. A draft can change speed, never output.
//
// The package knows nothing of HTTP. Package server is above it, package model below; only Load, which makes an engine
// of a model file, names an architecture, a tokenizer and a template.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"treeline/internal/infer/model"
	"treeline/internal/infer/sample"
	"treeline/internal/infer/spec"
)

// MaxDraftTokens is the largest draft budget: nodes of a tree, the root not counted.
const MaxDraftTokens = 255

// Detokenizer turns tokens into text, whole characters only. One serves one choice of one request.
type Detokenizer interface {
	Push(id int32) string // the characters that id completes
	Flush() string        // what is left at the end
}

// Options of an engine. Zero values mean what the comments say.
type Options struct {
	MaxRunning    int                 // requests decoded together; 0: as many as the model has sequences
	MaxQueue      int                 // requests that may wait; 0: none
	PrefillTokens int                 // prompt tokens per round while others decode; 0: DefaultPrefillTokens
	EOS           []int32             // tokens that end an answer
	NewText       func() Detokenizer  // nil: no text, no stop strings
	NewDrafter    func() spec.Drafter // nil: plain decoding
	DraftTokens   int                 // most draft nodes of one request in one round, at most MaxDraftTokens
	RoundDrafts   int                 // most draft nodes of a round over all requests, at least one each; 0: DraftTokens
	Observe       Observer            // nil: nobody
}

// DefaultPrefillTokens bounds how long a joining prompt holds up those that decode.
const DefaultPrefillTokens = 64

// Observer is told about latencies as they happen, on the engine's loop: it must be quick. Package server keeps
// histograms with it.
type Observer interface {
	FirstToken(sinceSubmit time.Duration)
	Round(sincePrevious time.Duration, tokens int) // decode rounds after the first token
	Finished(sinceSubmit time.Duration)
}

// Counters are totals since the start, apart from Running and Queued. Acceptance length (tau, the bonus token
// included) is 1 + Accepted/DecodePasses; GenerationTokens = first tokens + DecodePasses + Accepted.
type Counters struct {
	Running, Queued  int64
	PromptTokens     int64 // of prompts whose prefill is done
	GenerationTokens int64
	Requests         int64 // ended, in any way, after they were admitted
	Aborted          int64 // of those and of the queued: the caller went away
	Drafts           int64 // rounds of a request that verified at least one draft node
	DraftTokens      int64 // draft nodes verified
	Accepted         int64 // draft tokens kept; the bonus token of each round is not counted
	DecodePasses     int64 // rounds of a request that emitted tokens in decode, with or without a draft
	DroppedDrafts    int64 // drafts that broke the rules of spec.Tree: a drafter's bug, harmless to the output
}

// Errors of Submit and of results.
var (
	ErrBusy   = errors.New("the server has as many requests as it may; try again later")
	ErrClosed = errors.New("the server is shutting down")
	ErrMemory = errors.New("not enough memory for the keys and values of this request")
)

// Engine runs requests on one model. It is safe for concurrent use.
type Engine struct {
	opt    Options
	runner model.Runner
	eos    map[int32]bool

	mu       sync.Mutex
	queue    []*request
	closed   bool // no more requests
	abort    bool // running ones end too
	admitted int  // running, guarded by mu for Submit's limit
	count    Counters
	wake     chan struct{} // holds one token when there is something new for the loop
	ended    chan struct{} // closed when the loop has returned
	closeErr error         // of the runner, set before ended closes

	// The rest belongs to the loop.
	running []*request
	slots   []int // free sequences
	batch   []model.Node
	path    []int
	sampler sample.Sampler
}

// New starts an engine on r, which it owns from now on: Close closes it.
func New(r model.Runner, o Options) (*Engine, error) {
	if o.MaxRunning <= 0 || o.MaxRunning > min(r.MaxSeqs(), r.MaxNodes()) {
		o.MaxRunning = min(r.MaxSeqs(), r.MaxNodes())
	}
	if o.PrefillTokens <= 0 {
		o.PrefillTokens = DefaultPrefillTokens
	}
	if o.NewDrafter == nil {
		o.DraftTokens = 0
	}
	if o.DraftTokens < 0 || o.DraftTokens > MaxDraftTokens {
		return nil, fmt.Errorf("engine: %d draft tokens, want 0 to %d", o.DraftTokens, MaxDraftTokens)
	}
	if o.RoundDrafts <= 0 {
		o.RoundDrafts = o.DraftTokens
	}
	e := &Engine{
		opt: o, runner: r, eos: map[int32]bool{},
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	for _, id := range o.EOS {
		e.eos[id] = true
	}
	for s := o.MaxRunning - 1; s >= 0; s-- {
		e.slots = append(e.slots, s)
	}
	go e.loop()
	return e, nil
}

// Options returns what the engine runs with, defaults filled in.
func (e *Engine) Options() Options { return e.opt }

// Config describes the model.
func (e *Engine) Config() model.Config { return e.runner.Config() }

// MaxLen is the most tokens that prompt and answer can have together.
func (e *Engine) MaxLen() int { return e.runner.MaxLen() }

// Counters returns one consistent set.
func (e *Engine) Counters() Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// Submit queues the choices of one call, all or none. They end early when ctx does. Errors are ErrBusy, ErrClosed, or
// say what is wrong with a request.
func (e *Engine) Submit(ctx context.Context, choices ...Request) (*Answer, error) {
	for i := range choices {
		if err := e.check(&choices[i]); err != nil {
			return nil, err
		}
	}
	a := newAnswer(ctx, len(choices))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if len(e.queue)+e.admitted+len(choices) > e.opt.MaxRunning+e.opt.MaxQueue {
		return nil, ErrBusy
	}
	now := time.Now()
	for i := range choices {
		e.queue = append(e.queue, &request{Request: choices[i], answer: a, choice: i, submitted: now})
	}
	e.count.Queued = int64(len(e.queue))
	a.unwatch = context.AfterFunc(ctx, e.poke)
	e.poke()
	return a, nil
}

// Capacity is how many choices can be running or waiting at once.
func (e *Engine) Capacity() int { return e.opt.MaxRunning + e.opt.MaxQueue }

func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Close refuses new requests, lets those that were accepted finish until ctx ends, then ends them, and closes the
// model. It returns the model's error.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.poke()
	select {
	case <-e.ended:
	case <-ctx.Done():
		e.mu.Lock()
		e.abort = true
		e.mu.Unlock()
		e.poke()
		<-e.ended
	}
	return e.closeErr
}
