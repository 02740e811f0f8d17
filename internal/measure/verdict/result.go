// Package verdict turns server starts into a claim: faster, slower, equivalent or undecided, with an interval, a
// confidence and everything that limits them. It reads record.Start values and gives a Result; it measures nothing.
package verdict

import "treeline/internal/measure/record"

// ResultSchema names the form of Result.
const ResultSchema = "treeline.result/1"

// Verdict is the outcome of one comparison.
type Verdict string

// The verdicts.
const (
	Faster           Verdict = "faster"
	FasterNegligibly Verdict = "faster-negligibly"
	Slower           Verdict = "slower"
	SlowerNegligibly Verdict = "slower-negligibly"
	Equivalent       Verdict = "equivalent"
	Undecided        Verdict = "undecided"
	Invalid          Verdict = "invalid"
)

// Result is the treeline.result/1 object of run, demo and compare.
type Result struct {
	Schema      string           `json:"schema"`
	Arms        []Arm            `json:"arms"`
	Comparisons []Comparison     `json:"comparisons"`
	Lossless    []Lossless       `json:"lossless"`
	Warnings    []record.Warning `json:"warnings"`
	Valid       bool             `json:"valid"`
	Report      string           `json:"report"` // path of the HTML file, "" when none was written
}

// Arm is one server configuration. TokS = 1000 / mean TPOT in ms at concurrency 1; nil unknown.
type Arm struct {
	Name       string   `json:"name"`
	Method     string   `json:"method"`
	ProofLevel int      `json:"proof_level"`
	Evidence   []string `json:"evidence"`
	TokS       *float64 `json:"tok_s"`
	Tau        *float64 `json:"acceptance_length"`
}

// Comparison is Arm against Baseline. Ratio > 1 means Arm is faster. Lo, Hi: unadjusted 95 % interval of the ratio
// over blocks, nil when there are too few starts. MDE is the smallest ratio that would have been detected.
type Comparison struct {
	Baseline       string    `json:"baseline"`
	Arm            string    `json:"arm"`
	Metric         string    `json:"metric"`
	Ratio          *float64  `json:"ratio"`
	Lo             *float64  `json:"lo"`
	Hi             *float64  `json:"hi"`
	Blocks         int       `json:"blocks"`
	Verdict        Verdict   `json:"verdict"`
	Confidence     string    `json:"confidence"` // "certain" | "likely"
	MDE            *float64  `json:"mde"`
	TauRatio       *float64  `json:"tau_ratio"`
	RoundTimeRatio *float64  `json:"round_time_ratio"`
	Sentence       string    `json:"sentence"`
	Why            []string  `json:"why,omitempty"` // what limits the verdict, in words
	BlockRatios    []float64 `json:"block_ratios,omitempty"`
}

// Lossless compares the outputs of two arms with what two starts of the same arm differ by.
type Lossless struct {
	Arm             string `json:"arm"`
	Verdict         string `json:"verdict"` // "consistent" | "not-shown" | "broken"
	Diverged        int    `json:"diverged"`
	ControlDiverged int    `json:"control_diverged"`
	Prompts         int    `json:"prompts"`
}
