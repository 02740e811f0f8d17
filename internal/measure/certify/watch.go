package certify

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
)

// The sentinel: one stream of forty small events a second, asked for two seconds at a time. More would tell more and
// disturb more: an event out of an idle process costs the sender 100 to 200 microseconds of processor time on a virtual
// machine, whatever is sent, so that this one costs about half a per cent of a core there.
const (
	sentinelGap    = 25 * time.Millisecond
	sentinelEvents = 80
)

// Watch is a sentinel stream beside a load: what it sees of the client's lag is what the load's streams met.
type Watch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	clock  *Clock
	before Pauses
	cpu    reading

	mu     sync.Mutex
	lags   []int64
	failed error
}

// StartWatch begins to watch this process by a clock.
func StartWatch(ctx context.Context, clock *Clock) *Watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, clock: clock, before: readPauses(), cpu: clock.readCPU()}
	w.done.Go(func() {
		epoch := time.Now()
		c := loadgen.NewClient(loadgen.ClientOptions{Base: clock.URL, Epoch: epoch})
		defer c.Close()
		for ctx.Err() == nil {
			s, err := watchStream(ctx, c, simserver.ClockRequest{Events: sentinelEvents, Gap: sentinelGap, Bytes: 90})
			events, _ := read(s, epoch.UnixNano())
			w.mu.Lock()
			w.lags = append(w.lags, lagsOf(events)...)
			if err != nil && ctx.Err() == nil {
				w.failed = err
				cancel()
			}
			w.mu.Unlock()
		}
	})
	return w
}

// Stop ends the watch and tells what it saw. An error says why the client was not watched: the clock failed, the load
// was over before its first event, or the wall clock was set meanwhile.
func (w *Watch) Stop() (during record.ClientDuring, err error) {
	w.cancel()
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failed != nil:
		return during, w.failed
	case len(w.lags) == 0:
		return during, ErrShort
	case slices.Min(w.lags) < -clockSlack:
		return during, ErrClock
	}
	l, gc := Summarize(w.lags), readPauses().since(w.before)
	return record.ClientDuring{
		StampLagP50MS: l.P50, StampLagP99MS: l.P99, StampLagMaxMS: l.Max, N: l.N,
		GCPauses: gc.N, GCPauseTotalMS: gc.TotalMS, GCPauseMaxMS: gc.MaxMS, CPU: w.clock.readCPU().since(w.cpu).Record(),
	}, nil
}

// ErrShort says that a load was over before the first event of the sentinel.
var ErrShort = errors.New("the load was too short to be watched")

// between is the geometric mean.
func between(a, b float64) float64 { return math.Sqrt(a * b) }
