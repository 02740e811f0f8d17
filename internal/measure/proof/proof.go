// Package proof judges which method a server ran while it was measured. A configuration is no proof: what counts is
// that the server's counters moved, or, for plain decoding, that they stood still while tokens were generated.
//
// It only looks at facts that others gathered, and it never averages a server's own ratios.
package proof

import (
	"fmt"
	"math"

	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
)

// The levels of proof.
const (
	Asserted      = 0 // somebody said so
	Configured    = 1 // the server's configuration names the method
	Observed      = 2 // counters moved, or stood still where they must
	Discriminated = 3 // observed, and the parameters are those expected
)

// Facts are what is known about a server over the measured window.
type Facts struct {
	Kind       string
	Configured string // canonical method by configuration, target.MethodUnknown when not told
	Evidence   string // the sentence behind it
	Expected   string // method that the arm is meant to run, "" when nobody said
	Changed    string // how the server after the load differs from the one before, "" not at all
	TellsSpec  bool   // the counters would show speculation

	Before, After target.Counters
	Requests      []record.Request // all requests sent between the two readings
}

// Proof is the judgement.
type Proof struct {
	Method   string
	Level    int
	Evidence []string
	Tau      *float64 // tokens per decode pass, bonus included; nil when it cannot be known
	Counters *record.SpecCounters
	Warnings []record.Warning
	Valid    bool
}

// Judge weighs the facts.
func Judge(f Facts) Proof {
	p := Proof{Method: target.MethodUnknown, Valid: true}
	if f.Configured == "" {
		f.Configured = target.MethodUnknown
	}
	d := target.Delta(f.Before, f.After)
	if f.Changed != "" {
		p.invalid(record.WarnIdentityChanged, f.Changed)
	}
	for _, k := range []target.Counter{target.Generated, target.Drafts, target.Drafted, target.Accepted, target.Passes, target.Verify} {
		if d[k] < 0 {
			p.invalid(record.WarnCountersReset, fmt.Sprintf("the counter of %s fell from %g to %g during the measurement", k, f.Before[k], f.After[k]))
			return p
		}
	}
	t := timings(f.Requests)
	p.counters(d, f.Requests)
	if f.Configured != target.MethodUnknown {
		p.Method, p.Level = f.Configured, Configured
	}
	if f.Evidence != "" {
		p.say("configured: %s", f.Evidence)
	}
	moved := d[target.Drafts]+d[target.Drafted]+d[target.Verify] > 0 || t.drafted > 0
	switch {
	case moved:
		p.speculated(f, d, t)
	case (f.TellsSpec && d[target.Generated] > 0) || (t.requests > 0 && f.Kind == target.LlamaCpp):
		p.stoodStill(f, d, t)
	case f.TellsSpec:
		p.say("the counters of the server stood still: it generated nothing that could show a method")
	default:
		p.say("nothing that this server tells shows whether it speculates")
	}
	p.compare(f)
	p.foreign(f, d)
	return p
}

// speculated: drafts were verified.
func (p *Proof) speculated(f Facts, d target.Counters, t timed) {
	switch f.Configured {
	case target.MethodNone:
		p.Method, p.Level = target.MethodUnknown, Observed
		p.say("the configuration names no method, yet drafts were verified")
	case target.MethodUnknown:
		if f.Expected != "" && f.Expected != target.MethodNone {
			p.Method = f.Expected
			p.say("the server does not name its method; %q is what it was started as", f.Expected)
		}
		p.Level = Observed
	default:
		p.Level = Observed
	}
	if acc, ok := d[target.Accepted]; ok {
		p.say("observed: %g drafts with %g draft tokens, %g of them accepted, while %g tokens were generated", d[target.Drafts], d[target.Drafted], acc, d[target.Generated])
	} else if v := d[target.Verify]; v > 0 {
		p.say("observed: %g verify passes while %g tokens were generated", v, d[target.Generated])
	}
	if t.drafted > 0 {
		p.say("observed: the server's own timings of %d requests sum to %d draft tokens, %d of them accepted", t.requests, t.drafted, t.accepted)
	}
	p.tau(f, d, t)
}

// stoodStill: tokens were generated and nothing was drafted.
func (p *Proof) stoodStill(f Facts, d target.Counters, t timed) {
	p.say("%s", quiet(f, d, t))
	if f.Configured == target.MethodNone {
		p.Level = Observed
		one := 1.0
		p.Tau = &one
		return
	}
	if f.Configured != target.MethodUnknown {
		p.say("%s is configured, but no draft was verified: either nothing was found to draft, or it is off", f.Configured)
	}
}

func quiet(f Facts, d target.Counters, t timed) string {
	if f.TellsSpec && d[target.Generated] > 0 {
		at := 0.0
		for _, k := range []target.Counter{target.Drafts, target.Verify} {
			at = max(at, f.After[k])
		}
		return fmt.Sprintf("observed: %g tokens were generated while the counter of drafts stood still at %g", d[target.Generated], at)
	}
	return fmt.Sprintf("observed: the server's own timings of %d requests tell %d tokens and no draft", t.requests, t.predicted)
}

// compare sets what was seen against what was meant.
func (p *Proof) compare(f Facts) {
	wrong := f.Expected != "" && p.Method != target.MethodUnknown && p.Method != f.Expected
	surprise := f.Expected == target.MethodNone && p.Method == target.MethodUnknown && p.Level == Observed
	switch {
	case wrong || surprise:
		p.invalid(record.WarnMethodUnexpected, fmt.Sprintf("this arm is meant to run %q and was seen to run %q (proof level %d)", f.Expected, p.Method, p.Level))
	case p.Level < Observed || p.Method == target.MethodUnknown:
		what := "which method ran"
		if f.Expected != "" {
			what = fmt.Sprintf("that %q ran", f.Expected)
		}
		p.warn(record.WarnMethodUnproven, fmt.Sprintf("it could not be shown %s (proof level %d)", what, p.Level))
	}
}

// tau is 1 + accepted/passes, over all decode passes, with or without a draft. Where passes are not told, they follow:
// a request's first token comes from prefill, and every pass emits one token beside those it accepted.
func (p *Proof) tau(f Facts, d target.Counters, t timed) {
	first := d[target.Requests]
	if first == 0 {
		first = float64(answered(f.Requests))
	}
	decode, acc := d[target.Generated]-first, d[target.Accepted]
	if _, told := d[target.Accepted]; !told && t.drafted > 0 {
		decode, acc = float64(t.predicted-t.requests), float64(t.accepted)
	}
	var tau float64
	switch {
	case d[target.Passes] > 0:
		tau = 1 + acc/d[target.Passes]
		p.say("acceptance length 1 + %g/%g = %.3f tokens per decode pass", acc, d[target.Passes], tau)
	case d[target.Verify] > 0:
		tau = decode / d[target.Verify]
		p.say("acceptance length (%g - %g)/%g = %.3f tokens per verify pass", d[target.Generated], first, d[target.Verify], tau)
	case decode-acc > 0:
		tau = 1 + acc/(decode-acc)
		p.say("acceptance length 1 + %g/(%g - %g) = %.3f tokens per decode pass", acc, decode, acc, tau)
	default:
		return
	}
	p.Tau = &tau
	if n := d[target.Drafts]; n > 0 && d[target.Passes] != n {
		p.say("acceptance length of passes that carried a draft: 1 + %g/%g = %.3f", acc, n, 1+acc/n)
	}
}

// counters keeps the differences for the record.
func (p *Proof) counters(d target.Counters, requests []record.Request) {
	if len(d) == 0 {
		return
	}
	p.Counters = &record.SpecCounters{
		Requests: float64(answered(requests)), Generated: d[target.Generated], Drafts: d[target.Drafts], Drafted: d[target.Drafted],
		Accepted: d[target.Accepted], Verify: d[target.Passes] + d[target.Verify],
	}
}

// foreign compares what the server generated with what we received.
func (p *Proof) foreign(f Facts, d target.Counters) {
	got := 0.0
	for i := range f.Requests {
		n, known := f.Requests[i].OutputTokens()
		if !known {
			return // a request that broke or did not tell: the sums cannot agree
		}
		got += float64(n)
	}
	if made, told := d[target.Generated]; told && made > got*1.02+2*float64(len(f.Requests)) {
		p.warn(record.WarnForeignLoad, fmt.Sprintf("the server generated %g tokens during the measurement, we asked for %g of them", made, math.Round(got)))
	}
}

// timed sums the timings that the server sent with requests.
type timed struct{ requests, predicted, drafted, accepted int }

func timings(requests []record.Request) timed {
	var t timed
	for _, r := range requests {
		if r.Timings != nil && r.Timings.PredictedN > 0 {
			t.requests++
			t.predicted += r.Timings.PredictedN
			t.drafted += r.Timings.DraftN
			t.accepted += r.Timings.DraftNAccepted
		}
	}
	return t
}

func answered(requests []record.Request) int {
	n := 0
	for i := range requests {
		if tokens, known := requests[i].OutputTokens(); known && tokens > 0 {
			n++
		}
	}
	return n
}

func (p *Proof) say(format string, a ...any) {
	p.Evidence = append(p.Evidence, fmt.Sprintf(format, a...))
}

func (p *Proof) warn(code, text string) {
	p.Warnings = append(p.Warnings, record.Warning{Code: code, Text: text})
}

func (p *Proof) invalid(code, text string) {
	p.Valid = false
	p.warn(code, text)
}
