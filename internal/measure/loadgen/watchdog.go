package loadgen

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog calls bark when nothing has been seen for the limit. Seeing costs one store: the timer is not moved at each
// read, it looks when it fires how much of the limit is left.
type watchdog struct {
	now   func() int64
	limit time.Duration
	bark  func()
	last  atomic.Int64

	mu    sync.Mutex
	timer *time.Timer // nil when stopped
}

func newWatchdog(limit time.Duration, now func() int64, bark func()) *watchdog {
	w := &watchdog{now: now, limit: limit, bark: bark}
	w.last.Store(now())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// seen tells that something arrived.
func (w *watchdog) seen(at int64) { w.last.Store(at) }

func (w *watchdog) look() {
	left := w.limit - time.Duration(w.now()-w.last.Load())
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.timer == nil:
	case left <= 0:
		w.bark()
	default:
		w.timer.Reset(left)
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
