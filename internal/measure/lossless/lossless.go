// Package lossless judges whether a change altered what a model writes. It never asks "equal or not": two starts of
// one server can differ by themselves, so the divergence between the arms is held against the divergence between two
// starts of the baseline (the control). Pure functions over outputs; it neither asks servers nor judges speed.
package lossless

import (
	"fmt"

	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

// The verdicts.
const (
	// Consistent: no more divergence than the baseline shows against itself.
	Consistent = "consistent"
	// NotShown: something diverged, or could not be looked at, and the data can't tell why.
	NotShown = "not-shown"
	// Broken: more divergence than the control explains, or output that degenerated.
	Broken = "broken"
)

// minPrompts is the number of prompts below which a divergence is not called broken: a bootstrap over fewer is not
// worth its name.
const minPrompts = 5

// resamples and seed of the bootstrap. A fixed seed makes a verdict a function of its data.
const (
	resamples = 4000
	seed      = 1
)

// Result says how the outputs of an arm relate to those of the baseline. The three divergence counts are expected
// numbers of prompts on which one start differs from another, rounded; any divergence at all counts as one at least.
// That makes them comparable however many starts there were.
type Result struct {
	Verdict         string
	Prompts         int      // compared
	Diverged        int      // baseline against arm
	ControlDiverged int      // baseline against itself
	SelfDiverged    int      // arm against itself
	ControlPairs    int      // pairs of baseline starts behind the control; 0 means there was none
	First           *int     // smallest position of a first difference, in characters; nil when none diverged
	Median          *int     // median position of the first differences
	Degenerate      int      // prompts on which the arm degenerates more than the baseline
	On              []string // prompts that diverged in more than half of the pairs, most divergent first
	Excess          *stats.Interval
	Sentence        string
}

// Check compares the outputs of the starts of baseline and arm, prompt by prompt. A prompt counts when every start
// recorded an output for it.
func Check(baseline, arm []record.Start) Result {
	prompts, a, b := outputs(baseline, arm)
	r := Result{Prompts: len(prompts), ControlPairs: len(a) * (len(a) - 1) / 2}
	if len(prompts) == 0 {
		r.Verdict, r.Sentence = NotShown, "The outputs were not compared: no prompt has a recorded output in every start."
		return r
	}
	var between, control, self, excess, degenerate []float64
	var positions []int
	for p := range prompts {
		share, at := divergence(column(a, p), column(b, p))
		within, _ := divergenceWithin(column(a, p))
		own, _ := divergenceWithin(column(b, p))
		between, control, self = append(between, share), append(control, within), append(self, own)
		excess = append(excess, share-within)
		degenerate = append(degenerate, degenerateShare(column(b, p))-degenerateShare(column(a, p)))
		positions = append(positions, at...)
	}
	r.Diverged, r.ControlDiverged, r.SelfDiverged = expected(between), expected(control), expected(self)
	r.On = mostDivergent(prompts, between)
	r.First, r.Median = firstAndMedian(positions)
	for _, d := range degenerate {
		if d > 0.5 {
			r.Degenerate++
		}
	}
	if interval, ok := stats.BootstrapMean(excess, 0.95, resamples, seed); ok {
		r.Excess = &interval
	}
	r.Verdict = judge(r, rises(degenerate))
	r.Sentence = sentence(r)
	return r
}

// judge applies the rule of docs/methods.md.
func judge(r Result, degenerates bool) string {
	switch {
	case r.Diverged == 0:
		return Consistent // nothing to explain, with or without a control
	case r.Prompts >= minPrompts && degenerates:
		return Broken
	case r.ControlPairs == 0:
		return NotShown // no way to know what two starts of the baseline differ by
	case r.Prompts >= minPrompts && r.Excess != nil && r.Excess.Lo > 0:
		return Broken
	case r.ControlDiverged == 0 || r.Prompts < minPrompts:
		return NotShown // too few divergences to alarm, yet the control shows none
	}
	return Consistent
}

// rises reports whether per-prompt differences have a mean above zero beyond chance.
func rises(differences []float64) bool {
	interval, ok := stats.BootstrapMean(differences, 0.95, resamples, seed)
	return ok && interval.Lo > 0
}

func sentence(r Result) string {
	share := func(n int) string { return fmt.Sprintf("%d of %d prompts", n, r.Prompts) }
	versus := fmt.Sprintf("baseline against arm differ on %s, two starts of the baseline on %s", share(r.Diverged), share(r.ControlDiverged))
	if r.ControlPairs == 0 {
		versus = fmt.Sprintf("baseline against arm differ on %s; there is no second start of the baseline to hold that against", share(r.Diverged))
	}
	switch {
	case r.Diverged == 0:
		return fmt.Sprintf("Consistent with lossless: the outputs are identical on all %d prompts.", r.Prompts)
	case r.Verdict == Consistent:
		return "Consistent with lossless: " + versus + "."
	case r.Verdict == NotShown:
		return "Lossless not shown: " + versus + "."
	case r.Degenerate > 0:
		return fmt.Sprintf("Not lossless: the arm's output degenerates on %s; %s.", share(r.Degenerate), versus)
	}
	return fmt.Sprintf("Not lossless: %s, the earliest difference at character %d.", versus, *r.First)
}
