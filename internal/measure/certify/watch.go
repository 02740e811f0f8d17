package certify

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
)

// The sentinel: one stream of a hundred small events a second, which costs less than half a per cent of a core on
// either side, asked for two seconds at a time.
const (
	sentinelGap    = 10 * time.Millisecond
	sentinelEvents = 200
)

// Watch is a sentinel stream beside a load: what it sees of the client's lag is what the load's streams met.
type Watch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	before Pauses

	mu   sync.Mutex
	lags []int64
}

// StartWatch begins to watch this process by a clock.
func StartWatch(ctx context.Context, clock *Clock) *Watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, before: readPauses()}
	w.done.Go(func() {
		epoch := time.Now()
		c := loadgen.NewClient(loadgen.ClientOptions{Base: clock.URL, Epoch: epoch})
		defer c.Close()
		for ctx.Err() == nil {
			s, _ := watchStream(ctx, c, simserver.ClockRequest{Events: sentinelEvents, Gap: sentinelGap, Bytes: 90})
			if s == nil || s.Status != 200 {
				return // no lags from here on, which the number of events shows
			}
			events, _ := read(s, epoch.UnixNano())
			w.mu.Lock()
			w.lags = append(w.lags, lagsOf(events)...)
			w.mu.Unlock()
		}
	})
	return w
}

// Stop ends the watch and tells what it saw. ok is false when it saw too little to tell, or when the wall clock was set
// meanwhile.
func (w *Watch) Stop() (during record.ClientDuring, ok bool) {
	w.cancel()
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	pauses := readPauses().since(w.before)
	if len(w.lags) == 0 || slices.Min(w.lags) < -clockSlack {
		return during, false
	}
	l := summarize(w.lags)
	return record.ClientDuring{StampLagP50MS: l.P50, StampLagP99MS: l.P99, StampLagMaxMS: l.Max, N: l.N, GCPauses: pauses.N, GCPauseMaxMS: pauses.MaxMS}, true
}

// between is the geometric mean.
func between(a, b float64) float64 { return math.Sqrt(a * b) }
