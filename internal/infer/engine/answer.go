package engine

import (
	"context"
	"io"
	"sync"
)

// Event is what one round brought to one choice: tokens, the text that became free, or the end.
type Event struct {
	Choice int
	Tokens []int32
	Text   string
	Total  int     // tokens of the choice up to here
	Result *Result // set in the choice's last event, which may carry tokens too
}

// maxPending bounds the events that wait for a slow reader; beyond it a choice's rounds are joined. With that the
// memory of an answer is bounded by its tokens, however slow its reader is.
const maxPending = 64

// Answer is the stream of events of one Submit, all choices in one queue. One goroutine may read it.
type Answer struct {
	done    <-chan struct{} // the caller's context
	cause   func() error
	unwatch func() bool
	ready   chan struct{} // holds one token when there is something to read

	mu      sync.Mutex
	pending []Event
	left    int // choices that have not ended
}

func newAnswer(ctx context.Context, choices int) *Answer {
	return &Answer{done: ctx.Done(), cause: ctx.Err, unwatch: func() bool { return true }, ready: make(chan struct{}, 1), left: choices}
}

// Next waits for the next event. It returns io.EOF after the last choice's end, and the context's error once the
// context that was given to Submit has ended: from then on nothing is handed out.
func (a *Answer) Next() (Event, error) {
	for {
		if a.cancelled() {
			return Event{}, a.cause()
		}
		a.mu.Lock()
		if len(a.pending) > 0 {
			ev := a.pending[0]
			a.pending = a.pending[1:]
			a.mu.Unlock()
			return ev, nil
		}
		left := a.left
		a.mu.Unlock()
		if left == 0 {
			return Event{}, io.EOF
		}
		select {
		case <-a.ready:
		case <-a.done:
		}
	}
}

func (a *Answer) cancelled() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// put hands an event to the reader. It never blocks.
func (a *Answer) put(ev Event) {
	a.mu.Lock()
	if ev.Result != nil {
		if a.left--; a.left == 0 {
			a.unwatch()
		}
	}
	if !a.join(ev) {
		a.pending = append(a.pending, ev)
	}
	if a.cancelled() {
		a.pending = nil // nobody will read them
	}
	a.mu.Unlock()
	select {
	case a.ready <- struct{}{}:
	default:
	}
}

// join appends ev to the choice's newest waiting event when too many wait.
func (a *Answer) join(ev Event) bool {
	if len(a.pending) < maxPending {
		return false
	}
	for i := len(a.pending) - 1; i >= 0; i-- {
		if p := &a.pending[i]; p.Choice == ev.Choice {
			p.Tokens = append(p.Tokens, ev.Tokens...)
			p.Text += ev.Text
			p.Total, p.Result = ev.Total, ev.Result
			return true
		}
	}
	return false
}
