package cli

import (
	"fmt"
	"strings"
	"time"

	"treeline/internal/measure/experiment"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
	"treeline/internal/term"
)

// narrator tells an experiment as it goes: one line for each start, and what a block says by itself. The line of the
// running start moves.
type narrator struct {
	*term.Progress
	baseline string
	arms     []string
	width    int // of the longest arm name
	block    int
	starts   map[string]*record.Start // of the block, by arm
	began    time.Time                // of the running start
}

func newNarrator(env *Env, p plan.Plan) *narrator {
	n := &narrator{Progress: env.progress(), baseline: p.Baseline, starts: map[string]*record.Start{}}
	for _, a := range p.Arms {
		n.arms = append(n.arms, a.Name)
		n.width = max(n.width, len(a.Name))
	}
	return n
}

// Event tells one step.
func (n *narrator) Event(e experiment.Event) {
	if e.Block != n.block {
		n.block = e.Block
		clear(n.starts)
		n.Line("block %d of %d", e.Block, e.Blocks)
	}
	switch e.Kind {
	case experiment.EventStart:
		n.began = time.Now()
		n.moving("  %-*s  starting the server", n.width, e.Arm)
	case experiment.EventReady:
		n.moving("  %-*s  ready after %.1f s; warming up", n.width, e.Arm, time.Since(n.began).Seconds())
	case experiment.EventWaiting:
		n.moving("  %-*s  waiting for an idle machine: %s", n.width, e.Arm, e.Text)
	case experiment.EventBusy:
		n.Line("  %-*s  the machine is not idle: %s; going on", n.width, e.Arm, e.Text)
	case experiment.EventRequest:
		n.moving("  %-*s  %d of %d requests", n.width, e.Arm, e.Done, e.Total)
	case experiment.EventSetAside:
		n.Line("  %-*s  set aside and measured again: %s", n.width, e.Arm, e.Text)
	case experiment.EventMeasured:
		n.Line("  %-*s  %s", n.width, e.Arm, n.figures(e)+fmt.Sprintf("  (%.1f s)", time.Since(n.began).Seconds()))
	case experiment.EventKept:
		n.Line("  %-*s  %s", n.width, e.Arm, n.figures(e)+"  (from the earlier run)")
	}
}

// figures are those of one start: speed, what the counters say, and the block's ratio once both sides are known.
func (n *narrator) figures(e experiment.Event) string {
	n.starts[e.Arm] = e.Measured
	parts := []string{fmt.Sprintf("%6.1f tok/s", e.TokS)}
	s := e.Measured
	switch c := s.Counters; {
	case s.Target.ProofLevel < 2:
		parts = append(parts, s.Target.Method+" (not proven by counters)")
	case c != nil && c.Drafts > 0:
		parts = append(parts, fmt.Sprintf("%.0f of %.0f draft tokens accepted", c.Accepted, c.Drafted))
	default:
		parts = append(parts, "no drafts")
	}
	if s.Tau != nil {
		parts = append(parts, fmt.Sprintf("%.2f tokens per round", *s.Tau))
	}
	if r := s.Requests; r != nil && r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d requests FAILED", r.Failed, r.Sent))
	}
	base := n.starts[n.baseline]
	for _, arm := range n.arms {
		s := n.starts[arm]
		if base == nil || s == nil || arm == n.baseline || (arm != e.Arm && e.Arm != n.baseline) {
			continue
		}
		if ratio := experiment.PairedRatio(base, s); ratio > 0 {
			parts = append(parts, fmt.Sprintf("%s/%s %.2fx in this block", arm, n.baseline, ratio))
		}
	}
	return strings.Join(parts, ", ")
}

// moving sets the line of the running start.
func (n *narrator) moving(format string, args ...any) { n.Set(fmt.Sprintf(format, args...)) }
