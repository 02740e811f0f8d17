package verdict

import (
	"fmt"
	"math"

	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

// DefaultMargin is the relative difference in speed below which nobody should care.
const DefaultMargin = 0.02

// alpha is the level of every test, power what a detectable effect and a number of blocks are computed for, and
// minStarts the number of starts a side below which there is no verdict.
const (
	alpha     = 0.05
	power     = 0.8
	minStarts = 3
)

// Options of a comparison; zero values are the defaults.
type Options struct {
	Baseline string  // arm that the others are compared with; "" is the arm of the first start
	Margin   float64 // of equivalence, 0 means DefaultMargin
	Altering bool    // the change is meant to alter the output (quantisation, another model): divergence is no alarm
}

// Compare judges every arm in starts against the baseline on time per output token. Starts with a Block from 1 belong
// to one interleaved experiment and are compared block by block; starts without (Block 0) are compared as two groups.
// It fails only when there is nothing to compare; everything that limits a verdict is in the result.
func Compare(starts []record.Start, o Options) (Result, error) {
	if o.Margin == 0 {
		o.Margin = DefaultMargin
	}
	arms := groupArms(starts)
	base, others, err := chooseBaseline(arms, o.Baseline)
	if err != nil {
		return Result{}, err
	}
	r := newResult()
	r.Arms = append(r.Arms, describe(base))
	estimates := make([]estimate, len(others))
	for i, other := range others {
		r.Arms = append(r.Arms, describe(other))
		estimates[i] = newEstimate(base, other)
	}
	adjusted := holm(estimates)
	for i, other := range others {
		l := compareOutputs(base, other, o.Altering)
		g := gate(base, other, estimates[i], l)
		c := conclude(base, other, estimates[i], adjusted[i], g, o)
		r.Comparisons = append(r.Comparisons, c)
		r.Lossless = append(r.Lossless, l)
		r.Warnings = mergeWarnings(r.Warnings, g.warnings)
		r.Valid = r.Valid && c.Verdict != Invalid
	}
	return r, nil
}

// newResult is a valid result without comparisons, and without nulls where its JSON has lists.
func newResult() Result {
	return Result{Schema: ResultSchema, Valid: true, Comparisons: []Comparison{}, Lossless: []Lossless{}, Warnings: []record.Warning{}}
}

// conclude turns an estimate, its adjusted p value and the gates into a comparison with a sentence.
func conclude(base, other arm, e estimate, p *float64, g gates, o Options) Comparison {
	c := Comparison{
		Baseline: base.name, Arm: other.name, Metric: "tpot_ms", Margin: o.Margin,
		Blocks: e.blocks, Prompts: e.prompts, Starts: [2]int{len(base.starts), len(other.starts)}, Interleaved: e.interleaved,
		BlockRatios: e.blockRatios, BaselineTokS: e.baseTokS, ArmTokS: e.armTokS, Categories: e.categories,
		Verdict: Undecided, Confidence: Likely, Why: g.why,
	}
	if !math.IsNaN(e.effect) {
		c.Ratio = number(math.Exp(e.effect))
		c.TauRatio, c.RoundTimeRatio = decompose(base, other, e.effect)
	}
	if e.within != nil {
		c.WithinLo, c.WithinHi = number(math.Exp(e.within.Lo)), number(math.Exp(e.within.Hi))
	}
	if e.t != nil {
		interval := e.t.Interval(1 - alpha)
		c.Lo, c.Hi = number(math.Exp(interval.Lo)), number(math.Exp(interval.Hi))
		c.P, c.PEquivalent = p, number(e.t.TOST(math.Log1p(o.Margin)))
		c.MDE = number(math.Exp(e.t.DetectableEffect(alpha, power)))
		c.Verdict = word(e.effect, *p, *c.PEquivalent)
	}
	switch {
	case len(g.fatal) > 0:
		c.Verdict, c.Why = Invalid, append(append([]string{}, g.fatal...), c.Why...)
	case c.Verdict == Undecided:
		c.BlocksNeeded = blocksNeeded(e, o.Margin)
	case !g.capped:
		c.Confidence = Certain
	}
	c.Sentence = sentence(base, other, c, g)
	return c
}

// word is the rule of the verdict: significance by the adjusted p value, negligibility by the equivalence test.
func word(effect, p, pEquivalent float64) Verdict {
	significant, equivalent := p <= alpha, pEquivalent <= alpha
	switch {
	case significant && equivalent && effect > 0:
		return FasterNegligibly
	case significant && equivalent:
		return SlowerNegligibly
	case significant && effect > 0:
		return Faster
	case significant:
		return Slower
	case equivalent:
		return Equivalent
	}
	return Undecided
}

// holm adjusts the p values of those estimates that have one; all of them are primary comparisons.
func holm(estimates []estimate) []*float64 {
	var ps []float64
	for _, e := range estimates {
		if e.t != nil {
			ps = append(ps, e.t.P())
		}
	}
	adjusted := stats.Holm(ps)
	out := make([]*float64, len(estimates))
	for i, e := range estimates {
		if e.t != nil {
			out[i], adjusted = &adjusted[0], adjusted[1:]
		}
	}
	return out
}

// blocksNeeded is the number of further blocks that would decide: enough to see an effect as large as the one seen,
// or as the margin when what was seen is smaller. Below three starts there is no standard deviation to go by and the
// answer is what is missing to three.
func blocksNeeded(e estimate, margin float64) *int {
	if e.t == nil {
		missing := max(1, minStarts-e.blocks)
		return &missing
	}
	sd := e.t.SE * math.Sqrt(float64(e.blocks))
	need := stats.BlocksNeeded(sd, math.Max(math.Abs(e.effect), math.Log1p(margin)), alpha, power)
	more := max(1, need-e.blocks)
	return &more
}

// decompose splits the ratio into tokens per round and time per round: ratio = tau_B/tau_A x t_A/t_B.
func decompose(base, other arm, effect float64) (tauRatio, roundTimeRatio *float64) {
	a, b := base.tau(), other.tau()
	if a == nil || b == nil {
		return nil, nil
	}
	return number(*b / *a), number(math.Exp(effect) / (*b / *a))
}

func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func mergeWarnings(all, more []record.Warning) []record.Warning {
	for _, w := range more {
		seen := false
		for _, old := range all {
			seen = seen || old == w
		}
		if !seen {
			all = append(all, w)
		}
	}
	return all
}

func chooseBaseline(arms []arm, name string) (base arm, others []arm, err error) {
	if len(arms) < 2 {
		return arm{}, nil, fmt.Errorf("compare: %d arm(s) with measured starts; two are needed, a baseline and one to compare with it", len(arms))
	}
	at := 0
	if name != "" {
		at = -1
		for i, a := range arms {
			if a.name == name {
				at = i
			}
		}
		if at < 0 {
			return arm{}, nil, fmt.Errorf("compare: no start belongs to the baseline arm %q", name)
		}
	}
	for i, a := range arms {
		if i != at {
			others = append(others, a)
		}
	}
	return arms[at], others, nil
}
