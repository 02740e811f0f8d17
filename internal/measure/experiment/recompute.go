package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"treeline/internal/measure/metric"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
	"treeline/internal/measure/report"
	"treeline/internal/measure/target"
	"treeline/internal/measure/verdict"
)

// Recomputed is what the raw streams of a run folder come to.
type Recomputed struct {
	Finished report.Finished
	Requests []record.Request // of all starts, in the order in which they ended, warm-up included
	NoStream int              // of these, the ones whose streams are gone: they stand as their lines have them
	Compared int              // figures set against what the run itself had stored
	Differs  []string         // those that came out differently
}

// Recompute computes every figure of a run folder anew from its raw streams and compares it with what the run stored. A
// folder whose bench was killed has no result: it gets one from what was finished, marked interrupted and invalid. What
// is no matter of the streams (identity, proof, certificate) is taken over.
func Recompute(dir string) (Recomputed, error) {
	if err := record.CheckFolder(dir); err != nil {
		return Recomputed{}, fmt.Errorf("recompute %s: %w", dir, err)
	}
	folders, err := record.StartFolders(dir)
	if err != nil {
		return Recomputed{}, fmt.Errorf("recompute %s: %w; is it a run folder?", dir, err)
	}
	var out Recomputed
	var starts []record.Start
	byFolder := map[string][]record.Request{}
	for _, folder := range folders {
		requests, err := record.Recompute(folder)
		if err != nil {
			return out, err
		}
		byFolder[folder] = requests
		out.Requests = append(out.Requests, requests...)
		for i := range requests {
			if requests[i].FromLine {
				out.NoStream++
			}
		}
		s, err := finished(folder)
		if err != nil {
			return out, err
		}
		if s != nil {
			out.start(filepath.Base(folder), s, requests)
			starts = append(starts, *s)
		}
	}
	if n := len(out.Requests); n > 0 && out.NoStream == n {
		return out, fmt.Errorf("recompute %s: its raw streams are gone; without --recompute report shows the figures that the run stored", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, plan.LockFile)); err == nil {
		return out, out.verdict(dir, starts)
	}
	return out, out.bench(dir, folders, byFolder)
}

// start replaces the figures of a start by those of its streams.
func (o *Recomputed) start(name string, s *record.Start, requests []record.Request) {
	counts := metric.Count(requests)
	prompts := metric.Prompts(requests)
	o.compare(name+": requests", s.Requests, &counts)
	o.compare(name+": figures of prompts", s.Prompts, prompts)
	s.Requests, s.Prompts = &counts, prompts
}

// verdict judges the recomputed starts anew.
func (o *Recomputed) verdict(dir string, starts []record.Start) error {
	baseline, margin, err := plan.ReadLockRule(dir)
	if err != nil {
		return err
	}
	result, err := verdict.Compare(starts, verdict.Options{Baseline: baseline, Margin: margin})
	if err != nil {
		return fmt.Errorf("recompute %s: %w", dir, err)
	}
	o.Finished.Result = &result
	stored, err := report.Read(dir)
	if err != nil || stored.Result == nil {
		return nil // the run did not finish: the verdict is over what there is
	}
	o.compare("comparisons", stored.Result.Comparisons, result.Comparisons)
	o.compare("arms", stored.Result.Arms, result.Arms)
	o.compare("lossless", stored.Result.Lossless, result.Lossless)
	result.Warnings, result.Report = stored.Result.Warnings, stored.Result.Report
	return nil
}

// bench computes the object of a bench folder. Its figures are those of the newest start that was stored; a later folder
// belongs to one that was killed while it was added, and is in no figure.
func (o *Recomputed) bench(dir string, folders []string, of map[string][]record.Request) error {
	stored, err := record.ReadBench(dir)
	if errors.Is(err, fs.ErrNotExist) {
		o.Finished.Bench, err = interrupted(dir, folders, of[newest(folders)])
		return err
	}
	if err != nil {
		return err
	}
	b := *stored
	b.Starts = slices.Clone(stored.Starts)
	requests := of[newest(folders)]
	for i := range b.Starts {
		s := &b.Starts[i]
		folder := record.StartFolder(dir, s.Order, s.Arm)
		own, known := of[folder]
		if !known {
			return fmt.Errorf("recompute %s: %s of the baseline is not there", dir, folder)
		}
		o.start(filepath.Base(folder), s, own)
		requests = own
	}
	levels := []level{{Concurrency: topLevel(requests)}}
	if len(stored.Levels) > 0 {
		levels = nil
		for _, l := range stored.Levels {
			levels = append(levels, level{l.Concurrency, l.Rate})
		}
	}
	var slos []metric.SLO
	if stored.Goodput != nil {
		for name, limit := range stored.Goodput.SLOs {
			slos = append(slos, metric.SLO{Metric: name, Limit: limit})
		}
	}
	top, concurrency := fillLevels(&b, requests, levels, slos)
	if n := len(b.Starts); n > 0 && stored.Checks != nil {
		s := b.Starts[n-1]
		b.Checks = metric.Checks(top, outside(&s, stored.Client, stored.RTT, concurrency, len(levels)))
		o.compare("checks", stored.Checks, b.Checks)
	}
	o.compare("goodput", stored.Goodput, b.Goodput)
	o.compare("figures by position and context", [2][]record.Band{stored.ByPosition, stored.ByContext}, [2][]record.Band{b.ByPosition, b.ByContext})
	o.compare("requests", stored.Requests, b.Requests)
	o.compare("metrics", stored.Metrics, b.Metrics)
	o.compare("levels", stored.Levels, b.Levels)
	o.Finished.Bench = &b
	return nil
}

func newest(folders []string) string {
	if len(folders) == 0 {
		return ""
	}
	return folders[len(folders)-1]
}

func topLevel(requests []record.Request) int {
	for _, r := range requests {
		if !r.Warmup {
			return r.Level
		}
	}
	return 1
}

// interrupted makes the object of a bench that was killed.
func interrupted(dir string, folders []string, requests []record.Request) (*record.Bench, error) {
	if len(folders) == 0 {
		return nil, fmt.Errorf("recompute %s: no start was begun", dir)
	}
	var identity struct {
		Server target.Server `json:"server"`
	}
	text, err := os.ReadFile(filepath.Join(newest(folders), record.IdentityFile))
	if err == nil {
		err = json.Unmarshal(text, &identity)
	}
	if err != nil {
		return nil, fmt.Errorf("recompute %s: read identity: %w", dir, err)
	}
	s := identity.Server
	b := &record.Bench{
		Schema: record.BenchSchema, Metrics: map[string]record.Summary{},
		Target: record.Target{Kind: s.Kind, Version: s.Version, Model: s.Model, Method: target.MethodUnknown},
	}
	var levels []level
	seen := map[int]bool{}
	for _, r := range requests {
		if !r.Warmup && !seen[r.Level] {
			seen[r.Level] = true
			levels = append(levels, level{Concurrency: r.Level})
		}
	}
	fillLevels(b, requests, levels, nil)
	stop := record.Warning{Code: record.WarnInterrupted, Text: fmt.Sprintf("the run ended before its time; %d requests were finished", b.Requests.Sent)}
	b.Warnings = append([]record.Warning{stop}, metric.Warnings(requests)...)
	return b, nil
}

// compare sets a recomputed figure against the stored one, bit for bit.
func (o *Recomputed) compare(what string, stored, again any) {
	a, errA := json.Marshal(stored)
	b, errB := json.Marshal(again)
	o.Compared++
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		o.Differs = append(o.Differs, what)
	}
}
