package team

import (
	"runtime"
	"time"
)

// Barrier returns when all workers of the running call have called it. Everything written before it is visible to all
// after it.
func (t *Team) Barrier() {
	if t.size == 1 {
		return
	}
	// The round can't advance before this worker has arrived, so reading it first is safe.
	round := t.round.Load()
	if n := t.arrived.Add(1); n == int64(t.size)*(round+1) {
		t.round.Store(round + 1)
		return
	}
	for range t.spins {
		if t.round.Load() != round {
			return
		}
		t.pause()
	}
	for i := 0; t.round.Load() == round; i++ {
		if i < yields {
			runtime.Gosched()
		} else {
			time.Sleep(nap)
		}
	}
}
