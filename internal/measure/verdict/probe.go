package verdict

import (
	"fmt"
	"math"
	"strings"

	"treeline/internal/measure/record"
)

// Probe is what `treeline probe --json` prints: one request, timed as a whole.
type Probe struct {
	Name             string  `json:"-"` // of the file
	Seconds          float64 `json:"seconds"`
	CompletionTokens int     `json:"completion_tokens"`
	TokS             float64 `json:"tok_s"` // CompletionTokens / Seconds, time to the first token included
	FinishReason     string  `json:"finish_reason"`
	Model            string  `json:"model"`
	URL              string  `json:"url"`
	Server           struct {
		Kind       string   `json:"kind"`
		Version    string   `json:"version"`
		Method     string   `json:"method"`
		ProofLevel int      `json:"proof_level"`
		Evidence   []string `json:"evidence"`
	} `json:"server"`
}

// Check reports a probe whose figures can't be those of one request.
func (p Probe) Check() error {
	switch {
	case !(p.Seconds > 0) || p.CompletionTokens <= 0 || !(p.TokS > 0):
		return fmt.Errorf("probe %s holds no speed (seconds %v, completion_tokens %d, tok_s %v): the request failed or the server gave no usage; repeat the probe",
			p.Name, p.Seconds, p.CompletionTokens, p.TokS)
	case math.Abs(p.TokS*p.Seconds/float64(p.CompletionTokens)-1) > 0.01:
		return fmt.Errorf("probe %s contradicts itself: %d tokens in %v s are not %v tok/s", p.Name, p.CompletionTokens, p.Seconds, p.TokS)
	}
	return nil
}

// CompareProbes gives the ratio of single requests. The verdict is always undecided: one request a side has no
// variance to hold a difference against, whatever its size.
func CompareProbes(base Probe, others []Probe) (Result, error) {
	r := newResult()
	for _, p := range append([]Probe{base}, others...) {
		if err := p.Check(); err != nil {
			return Result{}, fmt.Errorf("compare: %w", err)
		}
		r.Arms = append(r.Arms, p.arm())
	}
	for _, p := range others {
		ratio := p.TokS / base.TokS
		c := Comparison{
			Baseline: base.Name, Arm: p.Name, Metric: "tok_s", Ratio: &ratio, Verdict: Undecided, Confidence: Likely, Margin: DefaultMargin,
			Starts: [2]int{1, 1}, Prompts: 1, SingleRequest: true, Categories: []Category{},
			BaselineTokS: []float64{base.TokS}, ArmTokS: []float64{p.TokS},
		}
		missing := minStarts
		c.BlocksNeeded = &missing
		c.Why, c.Sentence = probeReasons(base, p), probeSentence(base, p, ratio)
		r.Comparisons = append(r.Comparisons, c)
		text := fmt.Sprintf("%s and %s were not taken in turn, so anything that changed between them is part of the ratio", base.Name, p.Name)
		r.Warnings = mergeWarnings(r.Warnings, []record.Warning{{Code: record.WarnConfoundedTime, Text: text}})
	}
	return r, nil
}

func (p Probe) arm() Arm {
	tokS := p.TokS
	method := p.Server.Method
	if method == "" {
		method = "unknown"
	}
	return Arm{
		Name: p.Name, Method: method, ProofLevel: p.Server.ProofLevel, Evidence: append([]string{}, p.Server.Evidence...), TokS: &tokS,
		Starts: 1, Model: p.Model, URL: p.URL, Server: strings.TrimSpace(p.Server.Kind + " " + p.Server.Version),
	}
}

func probeSentence(base, p Probe, ratio float64) string {
	return fmt.Sprintf("Undecided: %s measured %s the speed of %s (%.4g against %.4g tok/s), but in one request a side, which can't tell the change from the luck of a start.",
		p.Name, Times(ratio), base.Name, p.TokS, base.TokS)
}

// probeReasons lists what two probes leave open, the specific first.
func probeReasons(base, p Probe) []string {
	why := []string{
		"one request on each side: there is no spread to hold the difference against, and a restart alone can change the speed by several percent",
		"the two were not taken in turn, so warm-up, load, driver and temperature may differ",
		"a probe does not say which machine the server ran on, so the ratio may be one of machines",
		"the time to the first token is part of the figure, so it is not the decode speed",
	}
	for _, q := range []Probe{base, p} {
		if q.Server.ProofLevel < 2 {
			why = append(why, fmt.Sprintf("nothing shows that the server behind %s ran %s", q.Name, q.arm().Method))
		}
	}
	if base.CompletionTokens != p.CompletionTokens {
		why = append(why, fmt.Sprintf("the answers have different lengths (%d and %d tokens), which weighs the time to the first token differently", base.CompletionTokens, p.CompletionTokens))
	}
	if base.Model != p.Model {
		why = append(why, fmt.Sprintf("the models differ (%q and %q)", base.Model, p.Model))
	}
	return append(why, "to decide it: measure both services with bench, at least 3 fresh server starts of each, taken in turn")
}
