package certify

import (
	"context"
	"fmt"
	"time"

	"treeline/internal/measure/arrival"
	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
)

// Schedule sends requests in an open loop with Poisson arrivals, as many a second as planned, each answered by one
// event of the clock, and returns how late they left: the time from the planned moment to the start of the request.
func Schedule(ctx context.Context, clock *Clock, perS float64, length time.Duration) (Lags, error) {
	c := loadgen.NewClient(loadgen.ClientOptions{Base: clock.URL, Epoch: time.Now()})
	defer c.Close()
	var late []int64
	plan := loadgen.Plan{Schedule: arrival.Law{Rate: perS}.Schedule(1, 0, length), Job: func(i int) (loadgen.Job, error) {
		return loadgen.Job{Request: record.Request{ID: i + 1}, Body: []byte(`{"events":1,"gap_ns":0}`)}, nil
	}}
	err := loadgen.Run(ctx, c, plan, func(r *record.Request, _ *record.Stream) error {
		late = append(late, r.Call-r.Sched)
		return nil
	})
	if err != nil {
		return Lags{}, fmt.Errorf("certify the client's schedule: %w", err)
	}
	return Summarize(late), nil
}
