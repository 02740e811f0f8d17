// Package team runs one function on n persistent workers at once (single program, multiple data) with a barrier
// between the phases. The caller is worker 0.
//
// A forward pass of a small model has over a hundred phases of a few microseconds each, so waiting spins first;
// channels or futexes would cost more than the work. A partner that does not come soon has lost its core to another
// process or has none, and then the waiting worker goes to sleep as a goroutine, so that the partner can run in its
// place. Nothing allocates.
package team

import (
	"sync/atomic"
	"time"
)

const (
	barrierSpin = 40 * time.Microsecond  // at a barrier; balanced workers differ by less
	idleSpin    = 100 * time.Microsecond // between calls: a decoding loop is back within that time
	yields      = 10                     // scheduler yields between spinning and sleeping
	minSpin     = 4                      // pauses, when spinning has been in vain
)

// MaxSize is the largest team.
const MaxSize = 64

// Team is a set of workers. Run and Close are called by one goroutine; Barrier by the running workers.
type Team struct {
	size  int
	pause func()
	spin  int // pauses of barrierSpin
	idle  int // pauses of idleSpin
	work  func(tid int)
	stop  bool

	_        [64]byte
	phase    atomic.Int64 // number of the current call
	_        [56]byte
	arrived  atomic.Int64 // workers at the barrier, over all barriers
	_        [56]byte
	round    atomic.Int64 // barriers passed
	sleepers atomic.Int64
	_        [48]byte
	workers  []worker
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
	spin   int // pauses to spend at the next barrier
	_      [40]byte
}

// New starts a team of size workers, 1..MaxSize; the caller of Run is one of them. pause is executed while spinning
// (the processor's PAUSE). spin false makes waiting yield at once: right when there are more workers than cores.
func New(size int, spin bool, pause func()) *Team {
	size = min(max(size, 1), MaxSize)
	t := &Team{size: size, pause: pause, workers: make([]worker, size)}
	if spin && size > 1 {
		t.spin, t.idle = t.pauses(barrierSpin), t.pauses(idleSpin)
	}
	for tid := range t.workers {
		t.workers[tid].wake = make(chan struct{}, 1)
		t.workers[tid].spin = t.spin
		if tid > 0 {
			go t.loop(tid)
		}
	}
	return t
}

// pauses is how many pauses take d: between 20 and 70 ns each, depending on the processor.
func (t *Team) pauses(d time.Duration) int {
	const n = 200
	best := time.Hour
	for range 3 {
		begin := time.Now()
		for range n {
			t.pause()
		}
		best = min(best, time.Since(begin))
	}
	return max(minSpin, int(d*n/max(best, 1)))
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
	t.phase.Add(1)
	t.wakeAll()
	work(0)
	t.Barrier(0)
}

// Close ends the workers. The team must be idle and is not used afterwards.
func (t *Team) Close() {
	if t.size > 1 && !t.stop {
		t.stop = true
		t.phase.Add(1)
		t.wakeAll()
		t.Barrier(0)
	}
}

func (t *Team) loop(tid int) {
	for call := int64(1); ; call++ {
		t.wait(tid, &t.phase, call, t.idle)
		if t.stop {
			t.Barrier(tid)
			return
		}
		t.work(tid)
		t.Barrier(tid)
	}
}
