package team

import (
	"runtime"
	"sync/atomic"
)

// Barrier returns when all workers of the running call have called it. Everything written before it is visible to all
// after it. tid is the number of the calling worker.
func (t *Team) Barrier(tid int) {
	if t.size == 1 {
		return
	}
	// The round can't end before this worker has arrived, so reading it first is safe.
	round := t.round.Load()
	if n := t.arrived.Add(1); n == int64(t.size)*(round+1) {
		t.round.Store(round + 1)
		t.wakeAll()
		return
	}
	w := &t.workers[tid]
	if t.wait(tid, &t.round, round+1, w.spin) {
		w.spin = min(2*w.spin, t.spin)
	} else {
		w.spin = min(max(w.spin/2, minSpin), t.spin) // the partner has no core now: give it this one sooner
	}
}

// wait returns when counter has reached value: after at most so many pauses, some yields, and then asleep. It tells
// whether spinning was enough.
func (t *Team) wait(tid int, counter *atomic.Int64, value int64, pauses int) bool {
	for range pauses {
		if counter.Load() >= value {
			return true
		}
		t.pause()
	}
	for range yields {
		if counter.Load() >= value {
			return false
		}
		runtime.Gosched()
	}
	w := &t.workers[tid]
	t.sleepers.Add(1)
	for counter.Load() < value {
		w.asleep.Store(true)
		// Whoever moved the counter in between either sees the sleeper and wakes it, or is seen here; who clears the
		// flag decides. A late waker of an earlier barrier may come instead, hence the loop.
		if counter.Load() < value || !w.asleep.CompareAndSwap(true, false) {
			<-w.wake
		}
	}
	t.sleepers.Add(-1)
	return false
}

// wakeAll wakes the workers that sleep.
func (t *Team) wakeAll() {
	if t.sleepers.Load() == 0 {
		return
	}
	for tid := range t.workers {
		if w := &t.workers[tid]; w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}
