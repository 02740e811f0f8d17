// Package team runs one function on n persistent workers at once (single program, multiple data) with a barrier
// between the phases. The caller is worker 0.
//
// A forward pass of a small model has over a hundred phases of a few microseconds each, so the barrier spins; channels
// or futexes would cost more than the work. Between calls the workers spin for a moment and then sleep. Nothing
// allocates.
package team

import (
	"sync/atomic"
	"time"
)

// How long a waiting worker spins before it lets others run. Spinning is right only while every worker has a core of
// its own; beyond these bounds the partner has no core, and yielding is what lets it run.
const (
	barrierSpins = 4000                   // pauses of about 20 ns: 80 us
	yields       = 200                    // scheduler yields after that
	nap          = 50 * time.Microsecond  // then sleeps between looks
	idleSpin     = 100 * time.Microsecond // between calls, before a worker goes to sleep
)

// MaxSize is the largest team.
const MaxSize = 64

// Team is a set of workers. Run and Close are called by one goroutine; Barrier by the running workers.
type Team struct {
	size  int
	pause func()
	spins int
	work  func(tid int)
	stop  bool

	_       [64]byte
	phase   atomic.Int64 // number of the current call
	_       [56]byte
	arrived atomic.Int64 // workers at the barrier, over all barriers
	_       [56]byte
	round   atomic.Int64 // barriers passed
	_       [56]byte
	workers []worker
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte
}

// New starts a team of size workers, 1..MaxSize; the caller of Run is one of them. pause is executed while spinning
// (the processor's PAUSE). spin false makes waiting yield at once: right when there are more workers than cores.
func New(size int, spin bool, pause func()) *Team {
	size = min(max(size, 1), MaxSize)
	t := &Team{size: size, pause: pause, workers: make([]worker, size)}
	if spin {
		t.spins = barrierSpins
	}
	for tid := 1; tid < size; tid++ {
		t.workers[tid].wake = make(chan struct{}, 1)
		go t.loop(tid)
	}
	return t
}

// Size is the number of workers.
func (t *Team) Size() int { return t.size }

// Run executes work(0..Size-1) on all workers and returns when all are done.
func (t *Team) Run(work func(tid int)) {
	if t.size == 1 {
		work(0)
		return
	}
	t.work = work
	t.start()
	work(0)
	t.Barrier()
}

// Close ends the workers. The team must be idle and is not used afterwards.
func (t *Team) Close() {
	if t.size > 1 && !t.stop {
		t.stop = true
		t.start()
		t.Barrier()
	}
}

// start begins a call and wakes the sleepers.
func (t *Team) start() {
	t.phase.Add(1)
	for tid := 1; tid < t.size; tid++ {
		if w := &t.workers[tid]; w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

func (t *Team) loop(tid int) {
	for call := int64(1); ; call++ {
		t.await(tid, call)
		if t.stop {
			t.Barrier()
			return
		}
		t.work(tid)
		t.Barrier()
	}
}

// await returns when call number call has begun: spinning first, then asleep.
func (t *Team) await(tid int, call int64) {
	if t.spins > 0 {
		for begin := time.Now(); time.Since(begin) < idleSpin; {
			for range 50 {
				if t.phase.Load() >= call {
					return
				}
				t.pause()
			}
		}
	}
	w := &t.workers[tid]
	w.asleep.Store(true)
	// A call that began in between either sees asleep and sends, or is seen here; whoever clears the flag decides.
	if t.phase.Load() >= call && w.asleep.CompareAndSwap(true, false) {
		return
	}
	<-w.wake
}
