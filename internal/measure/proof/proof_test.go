package proof

import (
	"math"
	"strings"
	"testing"

	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
	"treeline/internal/wire/openai"
)

// sent makes n answered requests of tokens each.
func sent(n, tokens int) []record.Request {
	out := make([]record.Request, n)
	for i := range out {
		out[i] = record.Request{OK: true, Usage: &openai.Usage{CompletionTokens: tokens}, Text: "x"}
	}
	return out
}

func withTimings(rs []record.Request, drafted, accepted int) []record.Request {
	for i := range rs {
		rs[i].Timings = &openai.Timings{PredictedN: rs[i].Usage.CompletionTokens, DraftN: drafted, DraftNAccepted: accepted}
	}
	return rs
}

type c = target.Counters

func TestJudge(t *testing.T) {
	none := math.NaN()
	tests := []struct {
		name   string
		f      Facts
		method string
		level  int
		tau    float64
		codes  string
		valid  bool
		says   string // must be in the evidence or warnings
	}{
		{
			"our server with n-grams",
			Facts{
				Kind: target.Treeline, Configured: "ngram", Expected: "ngram", TellsSpec: true, Requests: sent(4, 128),
				Before: c{target.Generated: 100, target.Drafts: 10, target.Drafted: 50, target.Accepted: 20, target.Passes: 80},
				After:  c{target.Generated: 612, target.Drafts: 150, target.Drafted: 670, target.Accepted: 151, target.Passes: 461},
			},
			"ngram", Observed, 1 + 131./381, "", true, "140 drafts with 620 draft tokens, 131 of them accepted",
		},
		{
			"our server, plain",
			Facts{
				Kind: target.Treeline, Configured: "none", Expected: "none", TellsSpec: true, Requests: sent(4, 128),
				Before: c{target.Generated: 100, target.Drafts: 0, target.Passes: 80}, After: c{target.Generated: 612, target.Drafts: 0, target.Passes: 588},
			},
			"none", Observed, 1, "", true, "512 tokens were generated while the counter of drafts stood still at 0",
		},
		{
			"plain by configuration, no counters",
			Facts{Kind: target.SGLang, Configured: "none", Expected: "none", Requests: sent(4, 128)},
			"none", Configured, none, record.WarnMethodUnproven, true, "proof level 1",
		},
		{
			"plain, and counters that did not see our tokens",
			Facts{Kind: target.SGLang, Configured: "none", TellsSpec: true, Requests: sent(4, 128), Before: c{target.Generated: 5}, After: c{target.Generated: 5}},
			"none", Configured, none, record.WarnMethodUnproven, true, "",
		},
		{
			"configured but idle",
			Facts{Kind: target.Treeline, Configured: "ngram", Expected: "ngram", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512, target.Drafts: 0}},
			"ngram", Configured, none, record.WarnMethodUnproven, true, "no draft was verified",
		},
		{
			"baseline that speculates",
			Facts{Kind: target.Treeline, Configured: "none", Expected: "none", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512, target.Drafts: 9, target.Drafted: 30, target.Accepted: 3, target.Passes: 505}},
			"unknown", Observed, 1 + 3./505, record.WarnMethodUnexpected, false, "names no method, yet drafts were verified",
		},
		{
			"another method than meant",
			Facts{Kind: target.SGLang, Configured: "nextn", Expected: "dflash", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512, target.Verify: 200, target.Requests: 4}},
			"nextn", Observed, 508. / 200, record.WarnMethodUnexpected, false, `meant to run "dflash"`,
		},
		{
			"speculation meant and off",
			Facts{Kind: target.LlamaCpp, Configured: "none", Expected: "ngram", TellsSpec: true, Requests: sent(1, 128), Before: c{}, After: c{target.Generated: 128, target.Drafts: 0}},
			"none", Observed, 1, record.WarnMethodUnexpected, false, "",
		},
		{
			"vLLM does not name its method",
			Facts{Kind: target.VLLM, Configured: "unknown", Expected: "ngram", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512, target.Requests: 4, target.Drafts: 51, target.Drafted: 255, target.Accepted: 97}},
			"ngram", Observed, 1 + 97./(508-97), "", true, "1 + 97/51 = 2.902",
		},
		{
			"vLLM, and nobody said what it is",
			Facts{Kind: target.VLLM, Configured: "unknown", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512, target.Drafts: 51, target.Accepted: 97}},
			"unknown", Observed, 1 + 97./(508-97), record.WarnMethodUnproven, true, "",
		},
		{
			"llama.cpp without metrics, by its timings",
			Facts{Kind: target.LlamaCpp, Configured: "ngram", Requests: withTimings(sent(2, 128), 45, 4)},
			"ngram", Observed, 1 + 8./246, "", true, "90 draft tokens, 8 of them accepted",
		},
		{
			"llama.cpp without metrics, plain",
			Facts{Kind: target.LlamaCpp, Configured: "none", Requests: withTimings(sent(2, 128), 0, 0)},
			"none", Observed, 1, "", true, "256 tokens and no draft",
		},
		{
			"nothing to see",
			Facts{Kind: target.Generic, Requests: sent(2, 128)},
			"unknown", Asserted, none, record.WarnMethodUnproven, true, "",
		},
		{
			"a counter fell",
			Facts{Kind: target.Treeline, Configured: "ngram", TellsSpec: true, Requests: sent(4, 128), Before: c{target.Generated: 900, target.Drafts: 9}, After: c{target.Generated: 512, target.Drafts: 100}},
			"unknown", Asserted, none, record.WarnCountersReset, false, "fell from 900 to 512",
		},
		{
			"another server afterwards",
			Facts{Kind: target.Treeline, Configured: "none", Changed: "pid 1 became pid 2", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 512}},
			"none", Observed, 1, record.WarnIdentityChanged, false, "pid 2",
		},
		{
			"somebody else's tokens",
			Facts{Kind: target.Treeline, Configured: "none", TellsSpec: true, Requests: sent(4, 128), Before: c{}, After: c{target.Generated: 700}},
			"none", Observed, 1, record.WarnForeignLoad, true, "generated 700 tokens",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Judge(tt.f)
			tau := math.NaN()
			if p.Tau != nil {
				tau = *p.Tau
			}
			var codes []string
			text := strings.Join(p.Evidence, "\n")
			for _, w := range p.Warnings {
				codes = append(codes, w.Code)
				text += "\n" + w.Text
			}
			if p.Method != tt.method || p.Level != tt.level || p.Valid != tt.valid || strings.Join(codes, ",") != tt.codes {
				t.Errorf("got method %s, level %d, valid %v, codes %v\nwant %s, %d, %v, %s\n%s", p.Method, p.Level, p.Valid, codes, tt.method, tt.level, tt.valid, tt.codes, text)
			}
			if math.IsNaN(tau) != math.IsNaN(tt.tau) || math.Abs(tau-tt.tau) > 1e-9 {
				t.Errorf("tau %v, want %v", tau, tt.tau)
			}
			if !strings.Contains(text, tt.says) {
				t.Errorf("nothing says %q in:\n%s", tt.says, text)
			}
		})
	}
}
