package verdict

import (
	"fmt"
	"slices"
	"strings"

	"treeline/internal/measure/lossless"
	"treeline/internal/measure/record"
)

// gates is what a comparison has to pass. A fatal one makes it invalid, a cap leaves "likely" as the best confidence.
type gates struct {
	fatal    []string
	why      []string
	warnings []record.Warning
	capped   bool
	unnamed  bool // nothing shows the method: the comparison is one of two addresses
}

// fatalCodes are the warnings of a start that leave nothing to compare, with what each means for the comparison.
func fatalCodes() map[string]string {
	return map[string]string{
		record.WarnMethodUnexpected: "the server ran another method than the arm is meant to run",
		record.WarnCountersReset:    "the server's counters went back during the measurement, so it restarted or was reset",
		record.WarnIdentityChanged:  "the server was another one after the load than before",
		record.WarnForeignLoad:      "something else used the machine or the server during the measurement",
		record.WarnClientBound:      "the measuring client was the bottleneck",
		record.WarnCacheHit:         "prompts were answered from the server's prefix cache",
		record.WarnThrottled:        "the machine was throttled",
		record.WarnBuffered:         "the stream was held back on its way, so times between tokens are not the server's",
		record.WarnSynthetic:        "the server accepts drafts without checking them",
		record.WarnInterrupted:      "the measurement was interrupted",
	}
}

// spoils reports whether a fatal warning really touches the decode speed. A client may be too slow for the time to
// the first token and still fine for the rest, and a few lumped streams are left out by themselves.
func spoils(s record.Start, w record.Warning) bool {
	switch w.Code {
	case record.WarnClientBound:
		return !w.FirstTokenOnly()
	case record.WarnBuffered:
		missing := 0
		for _, v := range s.Prompts {
			if !(v.TPOTms > 0) {
				missing++
			}
		}
		return 10*missing > len(s.Prompts)
	}
	return true
}

// canShow lists the server kinds that expose counters of speculation.
func canShow(kind string) bool {
	return slices.Contains([]string{"treeline", "sglang", "vllm", "llamacpp"}, kind)
}

// maxErrorShare is the share of failed requests above which a comparison is invalid.
const maxErrorShare = 0.01

// gate checks everything that limits what may be said about an arm and its baseline.
func gate(base, other arm, e estimate, l Lossless) gates {
	var g gates
	for _, a := range []arm{base, other} {
		g.starts(a)
		g.identity(a)
		g.proof(a)
		g.errors(a)
	}
	if l.Verdict == lossless.Broken && !l.Intended {
		g.invalid(record.WarnLosslessBroken, fmt.Sprintf("the output of %s changed: %s", other.name, l.Sentence))
	}
	g.design(base, other, e)
	g.machines(base, other)
	return g
}

// starts passes on the warnings of the starts; some of them are fatal.
func (g *gates) starts(a arm) {
	fatal := fatalCodes()
	said := map[string]bool{}
	for _, s := range a.starts {
		for _, w := range s.Warnings {
			g.warnings = mergeWarnings(g.warnings, []record.Warning{w})
			if meaning, isFatal := fatal[w.Code]; isFatal && !said[w.Code] && spoils(s, w) {
				said[w.Code] = true
				g.fatal = append(g.fatal, fmt.Sprintf("%s: %s (%s)", a.name, meaning, w.Text))
			}
		}
	}
}

// identity asks whether the starts of an arm are starts of one thing.
func (g *gates) identity(a arm) {
	first := a.starts[0].Target
	for _, s := range a.starts[1:] {
		t := s.Target
		switch {
		case t.Method != first.Method:
			g.invalid(record.WarnIdentityChanged, fmt.Sprintf("%s ran %s in one start and %s in another", a.name, orUnknown(first.Method), orUnknown(t.Method)))
			return
		case t.Model != first.Model:
			g.invalid(record.WarnIdentityChanged, fmt.Sprintf("%s served model %s in one start and %s in another", a.name, orUnknown(first.Model), orUnknown(t.Model)))
			return
		case t.Kind != first.Kind || t.Version != first.Version:
			g.cap(record.WarnIdentityChanged, fmt.Sprintf("%s was %s %s in one start and %s %s in another", a.name, first.Kind, first.Version, t.Kind, t.Version))
			return
		}
	}
}

// proof applies the levels: observed (2) where the server could show it, configured (1) caps, asserted (0) is invalid
// when a method is named, and where nothing can be shown the comparison is one of two addresses.
func (g *gates) proof(a arm) {
	t := a.weakest()
	named := t.Method != "" && t.Method != "unknown"
	switch {
	case t.ProofLevel >= 2 && named:
	case canShow(t.Kind) && t.ProofLevel == 1 && named:
		g.cap(record.WarnMethodUnproven, fmt.Sprintf("%s: %s is configured, but the server's counters were not seen to bear it out (proof level 1 of 3)", a.name, orUnknown(t.Method)))
	case canShow(t.Kind) && named:
		g.invalid(record.WarnMethodUnproven, fmt.Sprintf("%s: nothing shows that the server ran %s, although a %s server can show it (proof level 0)", a.name, t.Method, t.Kind))
	default:
		g.unnamed = true
		g.cap(record.WarnMethodUnproven, fmt.Sprintf("%s: nothing shows which method the server ran; two addresses are compared, not two methods", a.name))
	}
}

func (g *gates) errors(a arm) {
	sent, failed := 0, 0
	for _, s := range a.starts {
		if s.Requests != nil {
			sent, failed = sent+s.Requests.Sent, failed+s.Requests.Failed
		}
	}
	if sent > 0 && float64(failed) > maxErrorShare*float64(sent) {
		g.invalid(record.WarnRequestsFailed, fmt.Sprintf("%s: %d of %d requests failed, more than 1 %%", a.name, failed, sent))
	}
}

// design says what the way the starts were laid out allows.
func (g *gates) design(base, other arm, e estimate) {
	for _, a := range []arm{base, other} {
		if a.pooled > 0 {
			g.warn(record.WarnSameStart, fmt.Sprintf("%s: %d measurement(s) were of a server process already measured and count as no start of their own", a.name, a.pooled))
		}
	}
	if e.blocks < minStarts {
		g.why = append(g.why, fmt.Sprintf("%d server start(s) of %s and %d of %s: at least %d of each are needed, because a restart alone can change the speed by several percent",
			len(base.starts), base.name, len(other.starts), other.name, minStarts))
		g.capped = true
	}
	if e.prompts == 0 {
		g.invalid(record.WarnNoCommonPrompts, "no prompt has a speed in every start of both arms, so nothing can be paired")
	}
	if e.dropped > 0 && e.prompts > 0 {
		g.warn(record.WarnPromptsDropped, fmt.Sprintf("%s against %s: %d prompt(s) lack a speed in some start and were left out", other.name, base.name, e.dropped))
	}
	if e.incomplete > 0 {
		g.warn(record.WarnIncompleteBlock, fmt.Sprintf("%s against %s: %d start(s) were left out because their block lacks the other arm", other.name, base.name, e.incomplete))
	}
	if !e.interleaved {
		g.cap(record.WarnConfoundedTime, fmt.Sprintf("the starts of %s and %s did not alternate, so anything that changed between the two times is part of the ratio", base.name, other.name))
	}
	if e.lengths > 0 {
		g.warn(record.WarnLengthMismatch, fmt.Sprintf("%s against %s: the answers to %d of %d prompts differ in length by more than 5 %%, so only time per token is compared", other.name, base.name, e.lengths, e.prompts))
	}
	if e.oneOrder {
		g.warn(record.WarnOrderUnbalanced, fmt.Sprintf("%s and %s ran in the same order in every block, so a steady drift is part of the ratio", base.name, other.name))
	}
}

// machines asks whether both arms ran on one machine.
func (g *gates) machines(base, other arm) {
	keys := map[string]bool{}
	for _, a := range []arm{base, other} {
		for _, s := range a.starts {
			if key := machineKey(s); key != "" {
				keys[key] = true
			}
		}
	}
	if len(keys) > 1 {
		g.cap(record.WarnConfoundedHost, fmt.Sprintf("%s ran on %s and %s on %s, so the ratio is one of machines too", base.name, machineText(base), other.name, machineText(other)))
	}
}

// machineText names the machines of an arm so that two of them can be told apart.
func machineText(a arm) string {
	var out []string
	for _, f := range a.machines() {
		text := fmt.Sprintf("%s, %d cores", f.CPU, f.Cores)
		if len(f.GPUs) > 0 {
			text += ", " + strings.Join(f.GPUs, ", ")
		}
		out = append(out, fmt.Sprintf("%s [%s]", text, f.Machine))
	}
	var hosts []string
	for _, s := range a.starts {
		if key := machineKey(s); key != "" && s.URL != "" && !slices.Contains(hosts, s.URL) {
			hosts = append(hosts, s.URL)
		}
	}
	if len(hosts) > 0 {
		return strings.Join(out, " and ") + " at " + strings.Join(hosts, ", ")
	}
	return strings.Join(out, " and ")
}

func (g *gates) warn(code, text string) {
	g.warnings = mergeWarnings(g.warnings, []record.Warning{{Code: code, Text: text}})
}

func (g *gates) cap(code, text string) {
	g.capped = true
	g.why = append(g.why, text)
	g.warn(code, text)
}

func (g *gates) invalid(code, text string) {
	g.fatal = append(g.fatal, text)
	g.warn(code, text)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// compareOutputs runs the lossless check on two arms. A change of model alters the output by intention.
func compareOutputs(base, other arm, altering bool) Lossless {
	c := lossless.Check(base.starts, other.starts)
	intended := altering || base.starts[0].Target.Model != other.starts[0].Target.Model
	return Lossless{
		Arm: other.name, Baseline: base.name, Verdict: c.Verdict, Diverged: c.Diverged, ControlDiverged: c.ControlDiverged, Prompts: c.Prompts,
		SelfDiverged: c.SelfDiverged, ControlPairs: c.ControlPairs, FirstPosition: c.First, Degenerate: c.Degenerate,
		Intended: intended, DivergedOn: c.On, Sentence: c.Sentence,
	}
}
