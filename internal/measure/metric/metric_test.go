package metric

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"treeline/internal/measure/record"
	"treeline/internal/sharedtest"
	"treeline/internal/wire/openai"
)

var update = flag.Bool("update", false, "rewrite generated documents")

// stream makes a successful request: events at the given ms with the given tokens (0 unknown), each in its own read.
func stream(n int, at []float64, tokens []int) record.Request {
	r := record.Request{OK: true, Level: 1, Usage: &openai.Usage{CompletionTokens: n}, First: -1, FirstOut: -1, Last: -1, Text: "x", Finish: "length"}
	for i, t := range at {
		ns := int64(t * 1e6)
		r.Events = append(r.Events, record.Event{At: ns, Read: int32(i + 1), Kind: record.EventText, Tokens: int32(tokens[i])})
		if r.First < 0 {
			r.First, r.FirstOut = ns, ns
		}
		r.Last, r.Done = ns, ns
	}
	return r
}

// The worked examples on which tools disagree.
func TestGoldenValues(t *testing.T) {
	none := math.NaN()
	tests := []struct {
		name                         string
		r                            record.Request
		ttft, tpot, vllm, icl, chunk float64
	}{
		{"plain decoding", stream(3, []float64{100, 110, 120}, []int{1, 1, 1}), 100, 10, 10, 10, 1},
		{"chunks of 1, 4, 3, 2", stream(10, []float64{100, 130, 160, 190}, []int{1, 4, 3, 2}), 100, 10, 10, 30, 3},
		{"chunks of 5, 5", stream(10, []float64{100, 150}, []int{5, 5}), 100, 10, 50. / 9, 50, 5},
		{"blocks of 12, 9, 11", stream(32, []float64{80, 110, 140}, []int{12, 9, 11}), 80, 3, 60. / 31, 30, 10},
		{"five tokens in three chunks", stream(5, []float64{100, 140, 180}, []int{1, 2, 2}), 100, 20, 20, 40, 2},
		{"one chunk", stream(7, []float64{500}, []int{7}), 500, none, 0, none, none},
		{"one token", stream(1, []float64{500}, []int{1}), 500, none, none, none, none},
		{"first size unknown", stream(10, []float64{100, 150}, []int{0, 0}), 100, 50. / 9, 50. / 9, 50, 9},
		{"sizes unknown but one each", stream(3, []float64{100, 110, 120}, []int{0, 0, 0}), 100, 10, 10, 10, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			levels := Level([]record.Request{tt.r}, 1)
			for name, want := range map[string]float64{"ttft_ms": tt.ttft, "tpot_ms": tt.tpot, "tpot_vllm_ms": tt.vllm, "icl_ms": tt.icl, "tokens_per_chunk": tt.chunk} {
				got, ok := levels[name]
				if ok == math.IsNaN(want) || (ok && math.Abs(got.Mean-want) > 1e-9) {
					t.Errorf("%s = %v (defined %v), want %v", name, got.Mean, ok, want)
				}
			}
		})
	}
}

func TestFirstEventSizeIsFlagged(t *testing.T) {
	codes := func(r record.Request) string {
		var out []string
		for _, w := range Warnings([]record.Request{r}) {
			out = append(out, w.Code)
		}
		return strings.Join(out, ",")
	}
	noUsage := stream(4, []float64{1, 2}, []int{0, 0})
	noUsage.Usage = nil
	cached := stream(2, []float64{1, 2}, []int{1, 1})
	cached.Usage.PromptTokens, cached.Timings = 46, &openai.Timings{CacheN: 45}
	shares := cached
	shares.Shares = true
	shared := stream(2, []float64{1, 2}, []int{1, 1})
	shared.Usage.PromptTokens, shared.Timings = 146, &openai.Timings{CacheN: 30}
	lump := stream(40, make([]float64, 40), make([]int, 40))
	for i := range lump.Events {
		lump.Events[i].Read = 1
	}
	fast := make([]float64, 100) // 10000 tokens a second are no lump
	for i := range fast {
		fast[i] = float64(i) / 10
	}
	for _, tt := range []struct {
		name string
		r    record.Request
		want string
	}{
		{"unknown", stream(10, []float64{100, 150}, []int{0, 0}), record.WarnFirstEventSize},
		{"known by arithmetic", stream(3, []float64{1, 2, 3}, []int{0, 0, 0}), ""},
		{"usage missing", noUsage, record.WarnUsageMissing},
		{"repeated prompt", cached, record.WarnCacheHit},
		{"repeated beginning, on purpose", shares, ""},
		{"shared template only", shared, ""},
		{"very fast", stream(100, fast, make([]int, 100)), ""},
		{"held back", lump, record.WarnBuffered},
	} {
		if got := codes(tt.r); got != tt.want {
			t.Errorf("%s: got warnings %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	ramp := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(n - i)
		}
		return v
	}
	for _, tt := range []struct {
		n            int
		p90, p99, lo bool
	}{{5, false, false, false}, {6, false, false, true}, {63, false, false, true}, {64, true, false, true}, {661, true, false, true}, {662, true, true, true}} {
		s := Summarize(ramp(tt.n))
		if (s.P90 != nil) != tt.p90 || (s.P99 != nil) != tt.p99 || (s.Lo != nil) != tt.lo || (s.Hi != nil) != tt.lo {
			t.Errorf("n = %d: p90 %v, p99 %v, lo %v; want given %v, %v, %v", tt.n, s.P90, s.P99, s.Lo, tt.p90, tt.p99, tt.lo)
		}
	}
	s := Summarize(ramp(10))
	if s.Mean != 5.5 || s.P50 != 5.5 || *s.Lo != 2 || *s.Hi != 9 {
		t.Errorf("1..10: %+v, lo %v, hi %v; want mean and median 5.5, 2 and 9", s, *s.Lo, *s.Hi)
	}
}

func TestThroughputCountsTheSteadyWindow(t *testing.T) {
	// Two slots, four requests of ten tokens, one every 100 ms; a request lasts one second.
	var rs []record.Request
	for i := range 4 {
		start := float64(i/2) * 1000
		at, tokens := make([]float64, 10), make([]int, 10)
		for j := range at {
			at[j], tokens[j] = start+float64(j+1)*100, 1
		}
		r := stream(10, at, tokens)
		r.Wrote = int64(start * 1e6)
		rs = append(rs, r)
	}
	got := Level(rs, 2)["output_tok_s"]
	if math.Abs(got.Mean-20) > 1e-9 {
		t.Errorf("two slots of 10 tokens a second: %v tok/s, want 20", got.Mean)
	}
	rs[3].Usage = nil
	if _, ok := Level(rs, 2)["output_tok_s"]; ok {
		t.Error("a request without usage: a throughput was given nevertheless")
	}
	single := stream(4, []float64{100, 200, 300, 400}, []int{0, 0, 0, 0})
	if got := Level([]record.Request{single}, 1)["output_tok_s"].Mean; math.Abs(got-10) > 1e-9 {
		t.Errorf("4 tokens in 0.4 s: %v tok/s, want 10", got)
	}
}

func TestAcceptanceLength(t *testing.T) {
	timed := func(n, accepted int) record.Request {
		r := stream(n, []float64{1, 2}, []int{1, n - 1})
		r.Timings = &openai.Timings{PredictedN: n, DraftNAccepted: accepted}
		return r
	}
	for _, tt := range []struct {
		r    record.Request
		want float64
	}{
		{timed(128, 0), 1},
		{timed(128, 4), 1 + 4./123},
		{timed(101, 50), 2},
		{stream(10, []float64{100, 130, 160, 190}, []int{1, 4, 3, 2}), 3},
	} {
		got := Level([]record.Request{tt.r}, 1)["acceptance_length"].Mean
		if math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}

func TestCountAndPrompts(t *testing.T) {
	a := stream(3, []float64{100, 110, 120}, []int{1, 1, 1})
	a.Prompt, a.Category = "p", "code"
	b := stream(3, []float64{100, 120, 140}, []int{1, 1, 1})
	b.Prompt, b.Trial, b.Text = "p", 1, "other"
	bad := record.Request{Prompt: "q", ErrorClass: record.ClassTimeout}
	unknown := stream(0, []float64{5}, []int{0})
	unknown.Prompt, unknown.Usage = "r", nil
	warm := record.Request{Warmup: true}
	rs := []record.Request{warm, a, b, bad, unknown}
	want := record.Counts{Sent: 4, OK: 2, Failed: 1, Excluded: 1, Errors: map[string]int{record.ClassTimeout: 1}}
	if diff := cmp.Diff(want, Count(rs)); diff != "" {
		t.Errorf("Count (-want +got):\n%s", diff)
	}
	values := []record.PromptValue{
		{Prompt: "p", Category: "code", TPOTms: 15, TTFTms: 100, E2Ems: 130, Tokens: 3, Text: "x"},
		{Prompt: "r", TTFTms: 5, E2Ems: 5, Text: "x"},
	}
	if diff := cmp.Diff(values, Prompts(rs), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("Prompts (-want +got):\n%s", diff)
	}
}

const intro = `# Metrics

This page is generated from the table in internal/measure/metric; ` + "`go test ./internal/measure/metric -update`" + ` rewrites it.

Stamps are nanoseconds on one monotonic clock, taken when a read returns and before anything is parsed: t_sched planned
send time (t_call in a closed loop), t_call our code starts the request, t_wrote its last byte is handed to the kernel,
t_first first event with output, t_out first event of the answer itself, t_last last event with output, t_done [DONE] or
the end. N is the number of output tokens by usage, E the number of arrivals (what one read completed, with reads that follow
so soon that they belong to the same step), n_first the tokens of the first arrival. t_conn is when a connection was there, N_in the
tokens of the prompt by usage, N_cached those of them that the server took from its prefix cache. prompt_ms, predicted_ms and
predicted_n are the server's own timings of a request; accepted are the draft tokens that it accepted.

Every metric is summarised within one server start: mean, p50, p90 (from 64 values on), p95 (130), p99 (662), p99.9
(6636), the number of values n, and the 95 % intervals of the quantiles by order statistics (lo and hi of p50 from 6 values
on, p90_lo and so on). The least numbers are the bound of MLPerf's early-stopping rule at 0.99. Figures that a sample is
too small for are null or left out. These intervals say how well this start is known, not how much the next start will
differ. Requests whose prompt the server had in its prefix cache are left out where others are cold.

The mean of a ratio (tokens a second, a chunk or a pass) is the sum over the sum, not the mean of the ratios. Headline metrics are shown by default, the others with --all-metrics and in
the JSON.

## Goodput

--slo ttft_ms=200,tpot_ms=50 counts the successful requests that met all limits: a second over the whole level (from the first
request written to the last one over, failed or not), and as a share of those sent. A failed request meets nothing; one whose
answer was a single token meets any limit on the time per token; any other limit on a metric that a request does not have (it
was not streamed, or came in one lump, or was all reasoning) is not met. Requests in flight when the time was up do not count.

## By position and context

by_position gives tpot_ms of the tokens 0 to 128, to 256, to 512 and so on of the answers, by_context of the depths 0 to 1024,
to 2048 and so on, prompt and answer together. A request counts in a band in which it has at least 8 tokens. The time of a
gap is that of the tokens that ended it. Where a stream does not tell how many those were, its tokens are spread evenly over its
events; spread says how many requests of a band that concerns. A single band is left out: it is tpot_ms.

## Checks

Identities that hold in every sound measurement; one that fails raises identity_failed. They are tried on the level of the
top figures, from its requests and what is stored beside them (round trip, counters), so report --recompute tries them anew.
One that cannot be tried says why.

`

func TestMetricsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(intro)
	for _, c := range Identities() {
		fmt.Fprintf(&b, "* %s: %s. Where it fails, usually %s.\n", c.Name, c.Holds, c.Fails)
	}
	b.WriteString("\n# The metrics\n\n")
	for _, m := range All() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n* unit: %s\n* better: %s\n* formula: %s\n* source: %s\n", m.Name, m.About, m.Unit, m.Better, m.Formula, m.Source)
		if m.OpenOnly {
			b.WriteString("* only under an open loop (--rate)\n")
		}
		b.WriteString("\n")
	}
	path := filepath.Join(sharedtest.Root(t), "docs", "metrics.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("docs/metrics.md is not up to date; run with -update (-table +file):\n%s", diff)
	}
}

func TestCappedLoadIsTold(t *testing.T) {
	r := record.Request{OK: true, Capped: true, First: 1, Last: 2}
	for _, w := range Warnings([]record.Request{r}) {
		if w.Code == record.WarnCapped {
			return
		}
	}
	t.Error("no warning of a capped load")
}
