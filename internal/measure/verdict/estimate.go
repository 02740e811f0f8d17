package verdict

import (
	"math"
	"slices"

	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

// estimate is the effect of an arm on the log of time per output token, positive when the arm is faster.
type estimate struct {
	effect      float64  // NaN when no prompt was measured in every start
	t           *stats.T // nil below minStarts
	within      *stats.Interval
	blocks      int // blocks with both arms; starts of the smaller side when not interleaved
	incomplete  int // starts left out because their block lacks the other arm
	interleaved bool
	oneOrder    bool // every block ran the arms in the same order
	prompts     int
	dropped     int // prompts measured in some start but not in all
	lengths     int // prompts whose answers differ in length between the arms
	blockRatios []float64
	baseTokS    []float64
	armTokS     []float64
	categories  []Category
}

// newEstimate compares two arms on the prompts that every start of both measured.
func newEstimate(base, other arm) estimate {
	a, b, incomplete := inBlocks(base.starts, other.starts)
	e := estimate{effect: math.NaN(), categories: []Category{}, interleaved: len(a) > 0 && alternates(a, b), incomplete: incomplete}
	if !e.interleaved { // two groups of starts
		a, b, e.incomplete = single(base.starts), single(other.starts), 0
	}
	e.blocks = min(len(a), len(b))
	var prompts []record.PromptValue
	prompts, e.dropped = commonPrompts(slices.Concat(slices.Concat(a...), slices.Concat(b...)))
	e.prompts = len(prompts)
	if len(prompts) == 0 || e.blocks == 0 {
		return e
	}
	all := func(record.PromptValue) bool { return true }
	logA, logB := logSpeeds(a, prompts, all), logSpeeds(b, prompts, all)
	e.baseTokS, e.armTokS = exps(logA), exps(logB)
	e.effect, e.t = effectOf(logA, logB, e.interleaved)
	if e.interleaved {
		for i := range logA {
			e.blockRatios = append(e.blockRatios, math.Exp(logB[i]-logA[i]))
		}
		e.oneOrder = oneOrder(a, b)
	}
	if e.t == nil {
		e.within = withinStarts(a, b, prompts)
	}
	e.lengths = differentLengths(a, b, prompts)
	e.categories = byCategory(a, b, prompts, e.interleaved)
	return e
}

// effectOf is the mean difference of log speeds, with its t statistics from minStarts values a side on: over pairs
// when the starts came in blocks, over two groups (Welch) when they did not, because a pairing made up afterwards
// would be arbitrary.
func effectOf(logA, logB []float64, paired bool) (float64, *stats.T) {
	if !paired {
		effect := stats.Mean(logB) - stats.Mean(logA)
		if min(len(logA), len(logB)) < minStarts {
			return effect, nil
		}
		t, err := stats.Welch(logA, logB)
		if err != nil {
			return effect, nil
		}
		return effect, &t
	}
	d := make([]float64, len(logA))
	for i := range d {
		d[i] = logB[i] - logA[i]
	}
	if len(d) < minStarts {
		return stats.Mean(d), nil
	}
	t, err := stats.OneSample(d)
	if err != nil {
		return stats.Mean(d), nil
	}
	return t.Mean, &t
}

// commonPrompts lists the prompts with a TPOT in every start, and counts those that have one in some only.
func commonPrompts(starts []record.Start) (common []record.PromptValue, dropped int) {
	count := map[string]int{}
	var order []record.PromptValue
	for _, s := range starts {
		for _, v := range s.Prompts {
			if !(v.TPOTms > 0) {
				continue
			}
			if count[v.Prompt] == 0 {
				order = append(order, v)
			}
			count[v.Prompt]++
		}
	}
	for _, v := range order {
		if count[v.Prompt] >= len(starts) {
			common = append(common, v)
		} else {
			dropped++
		}
	}
	return common, dropped
}

// logSpeeds is, per block, the log of tokens per second: minus the log geometric mean of TPOT over those prompts that
// keep accepts.
func logSpeeds(blocks [][]record.Start, prompts []record.PromptValue, keep func(record.PromptValue) bool) []float64 {
	wanted := map[string]bool{}
	for _, p := range prompts {
		wanted[p.Prompt] = keep(p)
	}
	out := make([]float64, len(blocks))
	for i, block := range blocks {
		var tpots []float64
		for _, s := range block {
			for _, v := range s.Prompts {
				if wanted[v.Prompt] && v.TPOTms > 0 {
					tpots = append(tpots, v.TPOTms/1000)
				}
			}
		}
		out[i] = -stats.LogGeoMean(tpots)
	}
	return out
}

// withinStarts is the interval of the effect over prompts within the given starts.
func withinStarts(a, b [][]record.Start, prompts []record.PromptValue) *stats.Interval {
	logTPOT := func(v record.PromptValue) float64 { return math.Log(v.TPOTms) }
	meanA, meanB := promptMeans(a, logTPOT), promptMeans(b, logTPOT)
	d := make([]float64, len(prompts))
	for i, p := range prompts {
		d[i] = meanA[p.Prompt] - meanB[p.Prompt]
	}
	t, err := stats.OneSample(d)
	if err != nil {
		return nil
	}
	interval := t.Interval(1 - alpha)
	return &interval
}

// promptMeans is the mean of a value of each prompt over all starts that have a speed for it.
func promptMeans(blocks [][]record.Start, value func(record.PromptValue) float64) map[string]float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, block := range blocks {
		for _, s := range block {
			for _, v := range s.Prompts {
				if v.TPOTms > 0 {
					sum[v.Prompt] += value(v)
					n[v.Prompt]++
				}
			}
		}
	}
	for prompt := range sum {
		sum[prompt] /= n[prompt]
	}
	return sum
}

// byCategory repeats the comparison on the prompts of each category.
func byCategory(a, b [][]record.Start, prompts []record.PromptValue, paired bool) []Category {
	var names []string
	counts := map[string]int{}
	for _, p := range prompts {
		if counts[p.Category] == 0 {
			names = append(names, p.Category)
		}
		counts[p.Category]++
	}
	slices.Sort(names)
	var out []Category
	for _, name := range names {
		in := func(p record.PromptValue) bool { return p.Category == name }
		logA, logB := logSpeeds(a, prompts, in), logSpeeds(b, prompts, in)
		effect, t := effectOf(logA, logB, paired)
		c := Category{
			Name: name, Prompts: counts[name], Ratio: math.Exp(effect),
			BaselineTokS: math.Exp(stats.Mean(logA)), ArmTokS: math.Exp(stats.Mean(logB)),
		}
		if t != nil {
			interval := t.Interval(1 - alpha)
			c.Lo, c.Hi = number(math.Exp(interval.Lo)), number(math.Exp(interval.Hi))
		}
		out = append(out, c)
	}
	return out
}

// differentLengths counts the prompts whose mean number of output tokens differs by more than 5 % between the arms.
func differentLengths(a, b [][]record.Start, prompts []record.PromptValue) int {
	tokens := func(v record.PromptValue) float64 { return float64(v.Tokens) }
	meanA, meanB := promptMeans(a, tokens), promptMeans(b, tokens)
	n := 0
	for _, p := range prompts {
		if x, y := meanA[p.Prompt], meanB[p.Prompt]; math.Abs(x-y) > 0.05*math.Max(x, y) {
			n++
		}
	}
	return n
}

func exps(logs []float64) []float64 {
	out := make([]float64, len(logs))
	for i, x := range logs {
		out[i] = math.Exp(x)
	}
	return out
}
