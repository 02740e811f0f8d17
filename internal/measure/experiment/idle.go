package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"treeline/internal/host"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
)

// idleWindow is the time over which the use of the machine is averaged before a start. At 100 ticks a second it
// resolves one per cent of two cores.
const idleWindow = 500 * time.Millisecond

// waitIdle waits until other programs leave the machine alone, at most as long as the plan says, and reports whether
// they did. The experiment goes on in any case: what counts is the load during the measurement. On systems that do not
// tell CPU use, and in plans that allow any load, it returns at once.
func waitIdle(ctx context.Context, idle plan.Idle, notify func(kind EventKind, text string)) (quiet bool, err error) {
	if idle.MaxForeign >= 1 {
		return true, nil
	}
	for began := time.Now(); ; {
		before, err := host.ReadCPU(os.Getpid())
		if err != nil {
			return true, nil
		}
		if err := sleep(ctx, idleWindow); err != nil {
			return false, err
		}
		after, err := host.ReadCPU(os.Getpid())
		if err != nil {
			return true, nil
		}
		load := after.Since(before)
		if disturbance(load) <= idle.MaxForeign {
			return true, nil
		}
		if time.Since(began) >= idle.Wait {
			notify(EventBusy, loadText(load, idle))
			return false, nil
		}
		notify(EventWaiting, loadText(load, idle))
	}
}

// disturbance is the share of the machine that was not ours: other programs' and what the hypervisor took.
func disturbance(l host.Load) float64 { return l.Foreign + l.Steal }

func loadText(l host.Load, idle plan.Idle) string {
	text := fmt.Sprintf("other programs took %.0f %% of this machine's processors", 100*l.Foreign)
	if l.Steal >= 0.01 {
		text += fmt.Sprintf(", and its host %.0f %%", 100*l.Steal)
	}
	return text + fmt.Sprintf(" (limit %.0f %%)", 100*idle.MaxForeign)
}

// loadWatch compares the use of the machine before and after a measurement.
type loadWatch struct {
	before host.CPUTimes
	err    error
}

func watchLoad() loadWatch {
	t, err := host.ReadCPU(os.Getpid())
	return loadWatch{t, err}
}

// warning says that the machine was disturbed since the watch began, or that nobody could tell; nil when it was quiet.
// Our own process tree, the server under test included, is never foreign.
func (w loadWatch) warning(s step, idle plan.Idle) *record.Warning {
	after, err := host.ReadCPU(os.Getpid())
	if err = errors.Join(w.err, err); err != nil {
		return &record.Warning{Code: record.WarnIdleUnknown, Text: "use of the processors by other programs is not known: " + host.ErrNoCPUTimes.Error()}
	}
	if load := after.Since(w.before); disturbance(load) > idle.MaxForeign {
		return &record.Warning{Code: record.WarnForeignLoad, Text: fmt.Sprintf("start %d, %s: %s", s.order, s.arm.Name, loadText(load, idle))}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
