package verdict

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"treeline/internal/host"
	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
)

// arm is the starts of one name. Measurements of one and the same server process have been pooled into one start.
type arm struct {
	name   string
	starts []record.Start
	pooled int // measurements that turned out to be of a start already seen
}

// groupArms collects starts by arm, in order of first appearance.
func groupArms(starts []record.Start) []arm {
	var arms []arm
	for _, s := range starts {
		i := slices.IndexFunc(arms, func(a arm) bool { return a.name == s.Arm })
		if i < 0 {
			i = len(arms)
			arms = append(arms, arm{name: s.Arm})
		}
		arms[i].add(s)
	}
	return arms
}

// add appends a start, or pools it with an earlier measurement of the same server process: restarts carry variance of
// their own, and measuring one process ten times does not show it.
func (a *arm) add(s record.Start) {
	for i, old := range a.starts {
		if s.ServerStart != "" && s.ServerStart == old.ServerStart && s.URL == old.URL && machineKey(s) == machineKey(old) {
			a.starts[i] = pool(old, s)
			a.pooled++
			return
		}
	}
	a.starts = append(a.starts, s)
}

// pool joins two measurements of one server process: geometric means where both have a prompt.
func pool(a, b record.Start) record.Start {
	out := a
	out.Warnings = append(slices.Clone(a.Warnings), b.Warnings...)
	out.Prompts = slices.Clone(a.Prompts)
	for _, v := range b.Prompts {
		i := slices.IndexFunc(out.Prompts, func(w record.PromptValue) bool { return w.Prompt == v.Prompt })
		if i < 0 {
			out.Prompts = append(out.Prompts, v)
			continue
		}
		if out.Prompts[i].TPOTms > 0 && v.TPOTms > 0 {
			out.Prompts[i].TPOTms = math.Sqrt(out.Prompts[i].TPOTms * v.TPOTms)
		}
	}
	if a.Requests != nil && b.Requests != nil {
		sum := record.Counts{
			Sent: a.Requests.Sent + b.Requests.Sent, OK: a.Requests.OK + b.Requests.OK,
			Failed: a.Requests.Failed + b.Requests.Failed, Excluded: a.Requests.Excluded + b.Requests.Excluded,
		}
		out.Requests = &sum
	}
	return out
}

// tau is the geometric mean of the acceptance length over starts. A server proven to run without speculation yields
// one token a round by definition. nil when a start does not tell.
func (a arm) tau() *float64 {
	var taus []float64
	for _, s := range a.starts {
		switch {
		case s.Tau != nil:
			taus = append(taus, *s.Tau)
		case s.Target.Method == "none" && s.Target.ProofLevel >= 2:
			taus = append(taus, 1)
		default:
			return nil
		}
	}
	return number(stats.GeoMean(taus))
}

// weakest is the target of the start that was proven least.
func (a arm) weakest() record.Target {
	weakest := a.starts[0].Target
	for _, s := range a.starts {
		if s.Target.ProofLevel < weakest.ProofLevel {
			weakest = s.Target
		}
	}
	return weakest
}

// machines lists the different machines that the starts were measured on.
func (a arm) machines() []host.Fingerprint {
	var out []host.Fingerprint
	for _, s := range a.starts {
		known := s.Fingerprint.Machine != ""
		if known && !slices.ContainsFunc(out, func(f host.Fingerprint) bool {
			return f.Machine == s.Fingerprint.Machine && slices.Equal(f.GPUs, s.Fingerprint.GPUs)
		}) {
			out = append(out, s.Fingerprint)
		}
	}
	return out
}

// machineKey names the machine that a start ran on: the fingerprint is that of the client's machine, so the host of a
// server elsewhere belongs to it. "" when the fingerprint is unknown.
func machineKey(s record.Start) string {
	if s.Fingerprint.Machine == "" {
		return ""
	}
	key := s.Fingerprint.Machine + " " + strings.Join(s.Fingerprint.GPUs, ",")
	if u, err := url.Parse(s.URL); err == nil && !loopback(u.Hostname()) {
		key += " " + u.Hostname()
	}
	return key
}

func loopback(name string) bool {
	return name == "" || name == "localhost" || name == "::1" || strings.HasPrefix(name, "127.")
}

// describe gives the arm as a result shows it.
func describe(a arm) Arm {
	t := a.weakest()
	first := a.starts[0]
	out := Arm{
		Name: a.name, Method: orUnknown(t.Method), ProofLevel: t.ProofLevel, Evidence: t.Evidence, Tau: a.tau(), Starts: len(a.starts),
		Server: strings.TrimSpace(t.Kind + " " + t.Version), Model: t.Model, URL: first.URL, Machines: a.machines(),
	}
	if out.Evidence == nil {
		out.Evidence = []string{}
	}
	var tpots []float64
	for _, s := range a.starts {
		for _, v := range s.Prompts {
			if v.TPOTms > 0 {
				tpots = append(tpots, v.TPOTms)
			}
		}
	}
	out.TokS = number(1000 / stats.Mean(tpots))
	return out
}
