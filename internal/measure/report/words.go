package report

import (
	"fmt"
	"slices"

	"treeline/internal/measure/verdict"
)

// term explains a word of the page.
type term struct{ Word, Meaning string }

func glossary() []term {
	return []term{
		{"block", "one fresh server start of every arm, measured close together in time; the unit that is counted"},
		{"interval", "95 % confidence interval of the ratio over blocks, by Student's t on the logarithms"},
		{"tok/s", "1000 divided by the mean time per output token in ms, one request at a time, first token left out"},
		{"tokens per round", "acceptance length: 1 + accepted draft tokens per verification, by the server's own counters"},
		{"round speed", "how fast one draft-and-verify round of the arm is, against one round of the baseline"},
		{"detectable", "the smallest true difference that four of five such experiments would have seen"},
		{"certain, likely", "likely when something the statistics can't see, such as another time or machine, is part of the ratio"},
		{"proof level", "0 asserted, 1 configured, 2 observed in the server's counters, 3 observed with matching parameters"},
	}
}

func proofName(level int) string {
	names := []string{"asserted", "configured", "observed", "discriminated"}
	if level < 0 || level >= len(names) {
		return "unknown"
	}
	return names[level]
}

// tone is the class of colour of a verdict.
func tone(v verdict.Verdict) string {
	switch v {
	case verdict.Faster, verdict.FasterNegligibly:
		return "good"
	case verdict.Slower, verdict.SlowerNegligibly:
		return "bad"
	case verdict.Invalid:
		return "invalid"
	}
	return "open"
}

func plainWord(v verdict.Verdict) string {
	switch v {
	case verdict.FasterNegligibly:
		return "negligibly faster"
	case verdict.SlowerNegligibly:
		return "negligibly slower"
	}
	return string(v)
}

// notShown lists what a reader might take from the page although nothing on it says so.
func notShown(r verdict.Result) []string {
	var out []string
	single := slices.ContainsFunc(r.Comparisons, func(c verdict.Comparison) bool { return c.SingleRequest })
	if single {
		return append(out,
			"That either speed would be the same in the next request, or after the next restart.",
			"Which method the server ran, and whether the output stayed the same.",
			"Decode speed: the time to the first token is part of these figures.",
			"Speed with several requests at a time.")
	}
	out = append(out,
		"Speed with several requests at a time: all figures are for one request at a time, and speculation pays less under load.",
		"Time to the first token and the length of the prompt: the ratio is one of decode speed.",
		"Other prompts: the interval covers new server starts, not new prompts, and the categories differ.")
	one := map[string]bool{}
	for _, a := range r.Arms {
		for _, m := range a.Machines {
			one[m.Machine] = true
		}
	}
	if len(one) == 1 {
		out = append(out, "Other machines: all starts ran on one.")
	}
	if slices.ContainsFunc(r.Arms, func(a verdict.Arm) bool { return a.ProofLevel < 3 }) {
		out = append(out, "That the parameters of the method (draft length, budget) were the intended ones: that needs proof level 3.")
	}
	for _, l := range r.Lossless {
		switch {
		case l.Intended:
			out = append(out, fmt.Sprintf("Whether the output of %s is as good: it is meant to differ, and quality was not measured.", l.Arm))
		case l.Verdict == "not-shown":
			out = append(out, fmt.Sprintf("That the output of %s is unchanged.", l.Arm))
		default:
			out = append(out, fmt.Sprintf("The output of %s on other prompts, lengths and temperatures than these.", l.Arm))
		}
	}
	return out
}
