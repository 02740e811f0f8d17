package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"treeline/internal/infer/model"
)

// loop owns the model. Each turn admits what may run and makes one forward pass.
func (e *Engine) loop() {
	defer close(e.ended)
	for e.gather() {
		e.round()
	}
	e.closeErr = e.runner.Close()
}

// gather drops who went away, admits who may run, and waits while there is nothing to do. It returns false when the
// engine is closed and empty.
func (e *Engine) gather() bool {
	for {
		e.dropCancelled()
		e.admit()
		if len(e.running) > 0 {
			return true
		}
		e.mu.Lock()
		empty, closed := len(e.queue) == 0, e.closed
		e.mu.Unlock()
		if empty && closed {
			return false
		}
		<-e.wake
	}
}

// dropCancelled ends the requests whose caller has gone, running or waiting, and on an aborting close all of them.
func (e *Engine) dropCancelled() {
	e.mu.Lock()
	abort := e.abort
	var gone []*request
	e.queue = slices.DeleteFunc(e.queue, func(r *request) bool {
		if abort || r.answer.cancelled() {
			gone = append(gone, r)
			return true
		}
		return false
	})
	e.count.Queued = int64(len(e.queue))
	e.count.Aborted += int64(len(gone))
	e.mu.Unlock()
	for _, r := range gone {
		r.answer.put(Event{Choice: r.choice, Result: &Result{PromptTokens: len(r.Prompt), Err: abortCause(abort)}})
	}
	for _, r := range slices.Clone(e.running) {
		if abort || r.answer.cancelled() {
			e.fail(r, abortCause(abort))
		}
	}
}

func abortCause(abort bool) error {
	if abort {
		return ErrClosed
	}
	return context.Canceled
}

// admit moves requests from the queue to the running ones, in order, while there are sequences and memory.
func (e *Engine) admit() {
	for len(e.slots) > 0 {
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.mu.Unlock()
			return
		}
		r := e.queue[0]
		e.mu.Unlock()

		r.limit = e.runner.MaxLen()
		if n := len(r.Prompt) + r.MaxTokens; r.MaxTokens > 0 && n < r.limit {
			r.limit = n
		}
		slot := e.slots[len(e.slots)-1]
		err := e.runner.Reserve(slot, r.limit)
		if err != nil {
			e.runner.Truncate(slot, 0)
			if len(e.running) > 0 {
				return // wait for memory
			}
		}
		e.mu.Lock()
		e.queue = e.queue[1:]
		e.count.Queued = int64(len(e.queue))
		if err == nil {
			e.admitted++
			e.count.Running = int64(e.admitted)
		}
		e.mu.Unlock()
		if err != nil {
			r.answer.put(Event{Choice: r.choice, Result: &Result{PromptTokens: len(r.Prompt), Err: fmt.Errorf("%w (%d tokens): %w", ErrMemory, r.limit, err)}})
			continue
		}
		e.slots = e.slots[:len(e.slots)-1]
		e.start(r, slot)
	}
}

// start prepares an admitted request.
func (e *Engine) start(r *request, slot int) {
	r.slot, r.started = slot, time.Now()
	r.tokens = append(make([]int32, 0, min(r.limit, len(r.Prompt)+256)), r.Prompt...)
	if r.Sample.Penalised() {
		r.counts = map[int32]int{}
	}
	if e.opt.NewText != nil {
		r.text = output{detok: e.opt.NewText(), stops: r.Stop}
	}
	if e.opt.NewDrafter != nil && e.opt.DraftTokens > 0 {
		r.draft = e.opt.NewDrafter()
		r.draft.Append(r.Prompt)
	}
	r.timings.PromptN = len(r.Prompt)
	e.running = append(e.running, r)
}

// round makes one forward pass over everything that runs and hands out what came of it.
func (e *Engine) round() {
	e.plan()
	if err := e.runner.Forward(e.batch); err != nil {
		for _, r := range slices.Clone(e.running) {
			if r.rows > 0 {
				e.fail(r, fmt.Errorf("forward pass over %d rows: %w", len(e.batch), err))
			}
		}
		return
	}
	for _, r := range slices.Clone(e.running) {
		switch {
		case r.rows == 0: // a prompt that had no room in this round
		case r.prefilled < len(r.Prompt):
			e.prefilledMore(r)
		default:
			e.verify(r)
		}
	}
}

// plan lays out the batch: roots of decoding requests always, then a bounded share for prompts, then drafts.
func (e *Engine) plan() {
	e.batch = e.batch[:0]
	decoding := 0
	for _, r := range e.running {
		r.rows = 0
		if r.prefilled == len(r.Prompt) {
			decoding++
		}
	}
	room := e.runner.MaxNodes() - decoding
	prompt := room
	if decoding > 0 {
		prompt = min(room, e.opt.PrefillTokens)
	}
	for _, r := range e.running {
		if n := min(len(r.Prompt)-r.prefilled, prompt); n > 0 {
			e.addPrompt(r, n)
			prompt -= n
			room -= n
		}
	}
	if decoding == 0 {
		return
	}
	share := 0
	if e.opt.DraftTokens > 0 {
		share = min(e.opt.DraftTokens, max(1, e.opt.RoundDrafts/decoding))
	}
	for _, r := range e.running {
		if r.rows == 0 && r.prefilled == len(r.Prompt) {
			room -= e.addDecode(r, min(share, room))
		}
	}
}

// addPrompt adds the next n prompt tokens as a chain. Logits are wanted of the prompt's last token only.
func (e *Engine) addPrompt(r *request, n int) {
	r.base, r.rows = len(e.batch), n
	for i := range n {
		parent := -1
		if i > 0 {
			parent = len(e.batch) - 1
		}
		pos := r.prefilled + i
		e.batch = append(e.batch, model.Node{Seq: r.slot, Token: r.Prompt[pos], Pos: pos, Parent: parent, Want: pos == len(r.Prompt)-1})
	}
}

// addDecode adds the newest token (the root) and the draft tree below it; it returns the number of draft nodes.
func (e *Engine) addDecode(r *request, budget int) int {
	r.tree.Reset()
	// A draft deeper than the tokens that may still be emitted, less the one that the pass itself brings, is wasted.
	if budget = min(budget, r.limit-len(r.tokens)-1); budget > 0 && r.draft != nil {
		r.draft.Propose(&r.tree, budget)
		if err := r.tree.Check(budget, e.runner.Config().Vocab); err != nil {
			r.tree.Reset()
			e.mu.Lock()
			e.count.DroppedDrafts++
			e.mu.Unlock()
		}
	}
	root, pos := len(e.batch), len(r.tokens)-1
	r.base, r.rows = root, 1+r.tree.Len()
	e.batch = append(e.batch, model.Node{Seq: r.slot, Token: r.tokens[pos], Pos: pos, Parent: -1, Want: true})
	for i, t := range r.tree.Token {
		up := root + 1 + r.tree.Parent[i] // parent -1 is the root
		e.batch = append(e.batch, model.Node{Seq: r.slot, Token: t, Pos: e.batch[up].Pos + 1, Parent: up, Want: true})
	}
	return r.tree.Len()
}

// fail ends a running request without a finish reason.
func (e *Engine) fail(r *request, err error) {
	res := e.release(r, abortedBy(err))
	res.Err = err
	r.answer.put(Event{Choice: r.choice, Total: r.generated(), Result: res})
}

func abortedBy(err error) int64 {
	if err == context.Canceled || err == ErrClosed {
		return 1
	}
	return 0
}

// release gives back the request's sequence and memory and completes the counters, before anybody is told.
func (e *Engine) release(r *request, aborted int64) *Result {
	e.runner.Truncate(r.slot, 0)
	e.slots = append(e.slots, r.slot)
	e.running = slices.DeleteFunc(e.running, func(o *request) bool { return o == r })
	e.mu.Lock()
	e.admitted--
	e.count.Running = int64(e.admitted)
	e.count.Requests++
	e.count.Aborted += aborted
	e.mu.Unlock()
	r.timings.PredictedN = r.generated()
	if !r.first.IsZero() {
		r.timings.PromptMS = ms(r.first.Sub(r.started))
		r.timings.PredictedMS = ms(r.last.Sub(r.first))
	}
	return &Result{
		FinishReason: r.finish, StopString: r.stop, PromptTokens: len(r.Prompt), CompletionTokens: r.generated(),
		Timings: r.timings, QueueMS: ms(r.started.Sub(r.submitted)),
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
