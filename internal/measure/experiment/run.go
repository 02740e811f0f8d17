package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
	"treeline/internal/measure/report"
	"treeline/internal/measure/verdict"
)

// RunOptions say how a plan is carried out.
type RunOptions struct {
	Plan        plan.Plan
	PlanText    []byte           // the plan's own text, kept in the folder
	Dir         string           // run folder
	Executable  string           // this program: `Executable serve MODEL ...` starts our own server
	Resume      bool             // Dir holds a run of this plan; starts that are finished there are kept
	Fingerprint host.Fingerprint // of this machine; the zero value collects it
	Client      *record.Client   // certificate of this client; nil makes the test in the first start
	Clock       *certify.Clock   // certifies this client and watches it; nil does neither
	Text        string           // a line of the report: what was run
	Notify      func(Event)      // told of every step, nil is nobody
}

// RunResult is what an experiment yielded.
type RunResult struct {
	Result   verdict.Result
	Starts   []record.Start // in the order of the run
	PlanHash string
	Planned  int // starts that the plan asks for
}

// Run carries out a plan: block by block, a fresh server for every arm in the block's order, each measured alone; then
// the verdict, and the report. Everything finished is on disk at every moment. When ctx ends, or a start fails, the
// servers are stopped and what is finished so far is returned beside the error, without a verdict.
func Run(ctx context.Context, o RunOptions) (*RunResult, error) {
	o.Fingerprint = fingerprintOf(o.Fingerprint)
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if err := checkModels(o.Plan); err != nil {
		return nil, err
	}
	hash, err := openFolder(o)
	if err != nil {
		return nil, err
	}
	r := &runner{RunOptions: o, epoch: time.Now()}
	out := &RunResult{PlanHash: hash, Planned: o.Plan.Starts()}
	order := 0
	for b, row := range o.Plan.Order {
		for _, name := range row {
			order++
			s, err := r.start(ctx, step{block: b + 1, order: order, arm: o.Plan.Arm(name)})
			if err != nil {
				return out, r.explain(ctx, err, b+1, order, name)
			}
			out.Starts = append(out.Starts, *s)
		}
	}
	out.Result, err = r.judge(out.Starts)
	return out, err
}

// checkModels finds missing model files before anything is started. What is no path is the name of a model, which our
// server looks up itself.
func checkModels(p plan.Plan) error {
	for _, a := range p.Arms {
		if !filepath.IsAbs(a.Model) {
			continue
		}
		if _, err := os.Stat(a.Model); err != nil {
			return fmt.Errorf("model of arm %s: %w", a.Name, err)
		}
	}
	return nil
}

// explain says where in the run an error happened, and that nothing finished is lost.
func (r *runner) explain(ctx context.Context, err error, block, order int, arm string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped in block %d of %d, start %d of %d: %w", block, len(r.Plan.Order), order, r.Plan.Starts(), context.Cause(ctx))
	}
	return fmt.Errorf("block %d of %d, arm %s (start %d of %d): %w", block, len(r.Plan.Order), arm, order, r.Plan.Starts(), err)
}

// judge computes the verdict from the starts and writes result.json and the report.
func (r *runner) judge(starts []record.Start) (verdict.Result, error) {
	result, err := verdict.Compare(starts, verdict.Options{Baseline: r.Plan.Baseline, Margin: r.Plan.Margin})
	if err != nil {
		return result, err
	}
	result.Warnings = append(result.Warnings, tunedUnequally(r.Plan)...)
	result.Report = filepath.Join(r.Dir, ReportFile)
	title := "Treeline: " + r.Plan.Name
	if r.Plan.Name == "" {
		title = ""
	}
	made := time.Now().Format("2006-01-02 15:04 MST") + " on " + r.Fingerprint.Summary()
	var text bytes.Buffer
	if err := report.JSON(&text, result); err != nil {
		return result, err
	}
	return result, errors.Join(
		replaceFile(filepath.Join(r.Dir, report.ResultFile), text.Bytes()),
		report.WriteHTML(result.Report, result, report.Options{Title: title, Made: made, Text: r.Text}),
	)
}

// tunedUnequally warns of arms whose parameters were searched for beside a baseline, or others, left as they come.
func tunedUnequally(p plan.Plan) []record.Warning {
	base := p.Arm(p.Baseline)
	var out []record.Warning
	for _, name := range p.Others() {
		if a := p.Arm(name); a.Tuned != base.Tuned && a.Method != "none" && base.Method != "none" {
			out = append(out, record.Warning{
				Code: record.WarnUnequalTuning,
				Text: fmt.Sprintf("of %s and %s only one was tuned on this machine: the difference may be that of the tuning", p.Baseline, name),
			})
		}
	}
	return out
}
