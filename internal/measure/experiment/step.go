package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"treeline/internal/measure/launch"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

const (
	// stopGrace is how long a server may take to end by itself. Servers drain; nothing is in flight when we stop one.
	stopGrace = 10 * time.Second
	// repeats is how often a start that was disturbed from outside is measured again; a run repeats at most as many
	// starts as it has blocks. The choice looks at the disturbance only, never at the figures, so it does not bias them.
	repeats = 1
)

// runner is an experiment in progress.
type runner struct {
	RunOptions
	epoch time.Time
	again int  // starts that were measured again
	busy  bool // the machine did not become idle before the last start
}

// step is one start of the plan.
type step struct {
	block, order int
	arm          plan.Arm
}

func (r *runner) notify(kind EventKind, s step, fill func(*Event)) {
	e := Event{Kind: kind, Block: s.block, Blocks: len(r.Plan.Order), Start: s.order, Starts: r.Plan.Starts(), Arm: s.arm.Name}
	if fill != nil {
		fill(&e)
	}
	r.Notify(e)
}

// start measures one start of the plan, a second time when it was disturbed, and keeps it on disk. A start that an
// earlier run finished is taken from there.
func (r *runner) start(ctx context.Context, s step) (*record.Start, error) {
	folder := record.StartFolder(r.Dir, s.order, s.arm.Name)
	if done, err := finished(folder); err != nil {
		return nil, err
	} else if done != nil {
		r.notify(EventKept, s, func(e *Event) { e.Measured, e.TokS = done, speed(done) })
		return done, nil
	}
	for attempt := 0; ; attempt++ {
		if err := setAside(r.Dir, folder); err != nil {
			return nil, err
		}
		measured, err := r.attempt(ctx, s, folder)
		if err != nil {
			return nil, err
		}
		if w := disturbed(measured); w != "" && attempt < repeats && r.again < len(r.Plan.Order) && !r.busy {
			r.again++
			r.Client = nil // it may have been tested at a bad moment too
			r.notify(EventSetAside, s, func(e *Event) { e.Text = w })
			continue
		}
		if err := writeJSON(filepath.Join(folder, StartFile), measured); err != nil {
			return nil, err
		}
		r.notify(EventMeasured, s, func(e *Event) { e.Measured, e.TokS = measured, speed(measured) })
		return measured, nil
	}
}

// attempt starts a fresh server, measures it and stops it.
func (r *runner) attempt(ctx context.Context, s step, folder string) (*record.Start, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.notify(EventStart, s, nil)
	port := s.arm.Port
	var err error
	if port == 0 {
		port, err = launch.FreePort()
	} else {
		err = launch.CheckPort(port)
	}
	if err != nil {
		return nil, err
	}
	server, err := launch.Start(launch.Command{Args: r.command(s.arm, port, s.order), Env: filledIn(s.arm.Env, port, s.order), Log: filepath.Join(folder, ServerLogFile)})
	if err != nil {
		return nil, err
	}
	defer server.Stop(stopGrace)
	base := "http://127.0.0.1:" + strconv.Itoa(port)
	if err := server.WaitReady(ctx, base, s.arm.ReadyTimeout); err != nil {
		return nil, err
	}
	r.notify(EventReady, s, nil)
	if err := r.quiet(ctx, s); err != nil {
		return nil, err
	}
	watch := watchLoad()
	b, err := MeasureStart(ctx, r.options(s, base))
	if died := death(ctx, server, b); died != nil && ctx.Err() == nil {
		return nil, errors.Join(died, err)
	}
	if err = errors.Join(err, failure(b)); err != nil {
		return nil, err
	}
	if b.Client.Certified {
		r.Client = &b.Client
	}
	measured := &b.Starts[0]
	measured.Requests = &b.Requests
	if w := watch.warning(s, r.Plan.Idle); w != nil {
		measured.Warnings = append(measured.Warnings, *w)
	}
	return measured, nil
}

// quiet waits for an idle machine. A machine that was busy to the end of one wait is not waited for again, and starts
// are not repeated on it: that would take long and change nothing.
func (r *runner) quiet(ctx context.Context, s step) error {
	idle := r.Plan.Idle
	if r.busy {
		idle.Wait = 0
	}
	quiet, err := waitIdle(ctx, idle, func(kind EventKind, text string) { r.notify(kind, s, func(e *Event) { e.Text = text }) })
	r.busy = !quiet
	return err
}

// death tells how the server died during the measurement, nil when it lives. After failed requests it waits a moment:
// a broken connection is seen before the end of the process behind it.
func death(ctx context.Context, server *launch.Server, b *record.Bench) error {
	if b == nil || b.Requests.Failed > 0 {
		select {
		case <-server.Exited():
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return server.ExitError()
}

func failure(b *record.Bench) error {
	if b == nil {
		return nil
	}
	return Failure(b)
}

// command is the argument vector of an arm's server. Our own server is this program.
func (r *runner) command(a plan.Arm, port, order int) []string {
	if a.Model != "" {
		return append([]string{
			r.Executable, "serve", a.Model, "--host", "127.0.0.1", "--port", strconv.Itoa(port),
			"--speculative-algorithm", strings.ToUpper(a.Method),
		}, a.Flags...)
	}
	return filledIn(a.Command, port, order)
}

// filledIn replaces "{port}" and "{start}", the number of the start in the run, in words.
func filledIn(words []string, port, order int) []string {
	out := slices.Clone(words)
	for i := range out {
		out[i] = strings.NewReplacer("{port}", strconv.Itoa(port), "{start}", strconv.Itoa(order)).Replace(out[i])
	}
	return out
}

// options of the measurement of one start. Concurrency is 1: that is where speed is compared.
func (r *runner) options(s step, base string) StartOptions {
	p, w := r.Plan, r.Plan.Workload
	o := StartOptions{
		URL: base, Model: s.arm.RequestModel, ServerKind: s.arm.Server, Arm: s.arm.Name, Block: s.block, Order: s.order,
		Prompts: p.Prompts, Concurrency: []int{1}, Requests: w.Trials * len(p.Prompts), Warmup: w.Warmup,
		MaxTokens: w.MaxTokens, Temperature: w.Temperature, IgnoreEOS: w.IgnoreEOS, ExpectSpec: s.arm.Method,
		Dir: r.Dir, Epoch: r.epoch, Seed: int64(p.Seed), Fingerprint: r.Fingerprint, Client: r.Client, Clock: r.Clock, IdlePause: idlePause(s.arm), Idle: w.StallTimeout,
		Progress: func(done, total int) { r.notify(EventRequest, s, func(e *Event) { e.Done, e.Total = done, total }) },
	}
	if o.ExpectSpec == "unknown" {
		o.ExpectSpec = ""
	}
	return o
}

// idlePause is the time between two readings of a server's load. Our own server's gauges are those of the moment;
// others refresh theirs now and then.
func idlePause(a plan.Arm) time.Duration {
	if a.Server == "treeline" {
		return 200 * time.Millisecond
	}
	return time.Second
}

// disturbed tells by what a start was disturbed from outside, "" when it was not. A client that can't keep up at
// concurrency 1, or gets the stream of a server beside it in lumps, is one that others kept from running.
func disturbed(s *record.Start) string {
	for _, w := range s.Warnings {
		switch {
		case w.Code == record.WarnForeignLoad, w.Code == record.WarnBuffered,
			w.Code == record.WarnClientBound && !w.FirstTokenOnly():
			return w.Text
		}
	}
	return ""
}

// speed is 1000 / mean TPOT over prompts, in tokens per second.
func speed(s *record.Start) float64 {
	var tpots []float64
	for _, v := range s.Prompts {
		if v.TPOTms > 0 {
			tpots = append(tpots, v.TPOTms)
		}
	}
	if len(tpots) == 0 {
		return 0
	}
	return 1000 / stats.Mean(tpots)
}

// PairedRatio is how much faster arm decodes than base in two starts: the geometric mean over the prompts that have a
// speed in both, as the verdict takes it for a block. 0 when there is none.
func PairedRatio(base, arm *record.Start) float64 {
	speeds := map[string]float64{}
	for _, v := range base.Prompts {
		speeds[v.Prompt] = v.TPOTms
	}
	var ratios []float64
	for _, v := range arm.Prompts {
		if b := speeds[v.Prompt]; b > 0 && v.TPOTms > 0 {
			ratios = append(ratios, b/v.TPOTms)
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	return stats.GeoMean(ratios)
}
