package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"treeline/internal/measure/record"
)

// SLO is a limit that a request must not exceed: a service level objective. Limit is in the unit of the metric.
type SLO struct {
	Metric string
	Limit  float64
}

// sloMetrics are those that a limit can be set on: times of single requests.
func sloMetrics() []string {
	return []string{"ttft_ms", "ttfo_ms", "tpot_ms", "e2e_ms", "ttft_sched_ms", "e2e_sched_ms"}
}

// ParseSLOs reads limits such as "ttft_ms=200,tpot_ms=50"; "ttft:200 tpot:50", as vLLM's benchmark has it, means the same.
func ParseSLOs(text string) ([]SLO, error) {
	var out []SLO
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, value, ok := strings.Cut(strings.Replace(word, ":", "=", 1), "=")
		if !strings.HasSuffix(name, "_ms") {
			name += "_ms"
		}
		if name == "e2el_ms" {
			name = "e2e_ms"
		}
		limit, err := strconv.ParseFloat(value, 64)
		switch {
		case !ok || !slices.Contains(sloMetrics(), name):
			return nil, fmt.Errorf("%q: give limits such as ttft_ms=200,tpot_ms=50; limits can be set on %s", word, strings.Join(sloMetrics(), ", "))
		case err != nil || !(limit > 0) || math.IsInf(limit, 0):
			return nil, fmt.Errorf("%q: the limit must be milliseconds above 0", word)
		case slices.ContainsFunc(out, func(s SLO) bool { return s.Metric == name }):
			return nil, fmt.Errorf("%q: there is a limit on %s already", word, name)
		}
		out = append(out, SLO{name, limit})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no limit: give some such as ttft_ms=200,tpot_ms=50")
	}
	return out, nil
}

// Goodput counts the requests that met all limits: a second over the whole level, and as a share of those sent. A failed
// request meets nothing. A successful one without a time per token (its answer had one token) meets any limit on that;
// one without a time to first token (it was not streamed, or came in one lump) does not.
func Goodput(requests []record.Request, slos []SLO) *record.Goodput {
	g := &record.Goodput{SLOs: map[string]float64{}}
	for _, s := range slos {
		g.SLOs[s.Metric] = s.Limit
	}
	var sent []*record.Request // failed ones as well: the time that they took is the level's
	for i := range requests {
		r := &requests[i]
		if r.Warmup {
			continue
		}
		sent = append(sent, r)
		if r.Censored {
			continue
		}
		g.Of++
		if meets(r, slos) {
			g.Met++
		}
	}
	if g.Of > 0 {
		g.Share = float64(g.Met) / float64(g.Of)
	}
	if from, to, ok := steadyWindow(sent, 1); ok {
		g.PerS = float64(g.Met) / (float64(to-from) / 1e9)
	}
	return g
}

func meets(r *record.Request, slos []SLO) bool {
	if !r.OK {
		return false
	}
	v := NewView(r)
	for _, m := range All() {
		i := slices.IndexFunc(slos, func(s SLO) bool { return s.Metric == m.Name })
		if i < 0 {
			continue
		}
		got := m.Of(v)
		if len(got) == 0 && m.Name == "tpot_ms" && v.First >= 0 && !v.Lumped {
			continue
		}
		if len(got) == 0 || got[0] > slos[i].Limit {
			return false
		}
	}
	return true
}
