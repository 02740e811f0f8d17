// Package verdict turns server starts into a claim: faster, slower, equivalent or undecided, with an interval, a
// confidence and everything that limits them. It reads record.Start values and gives a Result; it measures nothing.
package verdict

import (
	"treeline/internal/host"
	"treeline/internal/measure/record"
)

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

// The two degrees of confidence.
const (
	Certain = "certain"
	Likely  = "likely"
)

// Arm is one server configuration. TokS = 1000 / mean TPOT in ms at concurrency 1; nil unknown. Method and ProofLevel
// are those of the start that was proven least. Tau is the geometric mean over starts.
type Arm struct {
	Name       string             `json:"name"`
	Method     string             `json:"method"`
	ProofLevel int                `json:"proof_level"`
	Evidence   []string           `json:"evidence"`
	TokS       *float64           `json:"tok_s"`
	Tau        *float64           `json:"acceptance_length"`
	Starts     int                `json:"starts"`           // server starts behind the figures
	Server     string             `json:"server,omitempty"` // kind and version
	Model      string             `json:"model,omitempty"`
	URL        string             `json:"url,omitempty"`
	Machines   []host.Fingerprint `json:"machines,omitempty"` // one entry for each different machine
}

// Comparison is Arm against Baseline. Ratio > 1 means Arm is faster. Lo, Hi: unadjusted 95 % interval of the ratio
// over blocks, nil when there are too few starts. MDE is the smallest ratio above 1 that would have been detected in
// four of five repetitions of this experiment. TauRatio x RoundTimeRatio = Ratio: how much more each round yields, and
// how much faster (above 1) or slower each round runs; both nil when an acceptance length is unknown.
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
	Why            []string  `json:"why,omitempty"`          // what limits the verdict, in words
	BlockRatios    []float64 `json:"block_ratios,omitempty"` // one per block; nil when starts were not interleaved

	P             *float64   `json:"p"`                        // two-sided p value of "no difference", adjusted by Holm over the comparisons
	PEquivalent   *float64   `json:"p_equivalent"`             // p value of "differs by more than the margin" (TOST)
	Margin        float64    `json:"margin"`                   // 0.02: differences below 2 % are negligible
	BlocksNeeded  *int       `json:"blocks_needed"`            // more blocks that would settle an undecided verdict; nil otherwise
	WithinLo      *float64   `json:"within_lo"`                // interval over prompts within these starts; says nothing about other
	WithinHi      *float64   `json:"within_hi"`                // starts and is given only where Lo and Hi can't be
	Prompts       int        `json:"prompts"`                  // prompts measured in every start of both arms
	Starts        [2]int     `json:"starts"`                   // server starts of baseline and arm
	Interleaved   bool       `json:"interleaved"`              // the starts of the arms alternated
	Categories    []Category `json:"categories"`               // exploratory, never a verdict
	BaselineTokS  []float64  `json:"baseline_tok_s"`           // 1000 / geometric mean TPOT of each start of the baseline
	ArmTokS       []float64  `json:"arm_tok_s"`                // and of the arm; block by block when interleaved
	SingleRequest bool       `json:"single_request,omitempty"` // from two probes
}

// Category is a comparison on the prompts of one category. Its interval is not adjusted for the number of categories.
type Category struct {
	Name         string   `json:"category"`
	Prompts      int      `json:"prompts"`
	BaselineTokS float64  `json:"baseline_tok_s"` // 1000 / geometric mean TPOT
	ArmTokS      float64  `json:"arm_tok_s"`
	Ratio        float64  `json:"ratio"`
	Lo           *float64 `json:"lo"`
	Hi           *float64 `json:"hi"`
}

// Lossless compares the outputs of two arms with what two starts of the same arm differ by.
type Lossless struct {
	Arm             string `json:"arm"`
	Verdict         string `json:"verdict"` // "consistent" | "not-shown" | "broken"
	Diverged        int    `json:"diverged"`
	ControlDiverged int    `json:"control_diverged"`
	Prompts         int    `json:"prompts"`

	Baseline      string   `json:"baseline"`
	SelfDiverged  int      `json:"self_diverged"`         // the arm against itself
	ControlPairs  int      `json:"control_pairs"`         // pairs of baseline starts behind ControlDiverged
	FirstPosition *int     `json:"first_position"`        // earliest difference, in characters
	Degenerate    int      `json:"degenerate"`            // prompts on which only the arm degenerates
	Intended      bool     `json:"intended,omitempty"`    // the change is meant to alter the output
	DivergedOn    []string `json:"diverged_on,omitempty"` // prompts, most divergent first
	Sentence      string   `json:"sentence"`
}
