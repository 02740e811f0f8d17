package metric

import (
	"math"
	"testing"

	"treeline/internal/measure/record"
	"treeline/internal/measure/stats"
	"treeline/internal/wire/openai"
)

// One request with every stamp, and what each metric makes of it.
func TestEveryFigure(t *testing.T) {
	r := stream(9, []float64{100, 140, 180}, []int{1, 4, 4})
	r.Sched, r.Call, r.Conn, r.Wrote, r.FirstOut, r.Done = 0, 5e6, 8e6, 10e6, 140e6, 190e6
	r.Usage.PromptTokens = 90
	r.Timings = &openai.Timings{CacheN: 30, PromptMS: 70, PredictedN: 9, PredictedMS: 64, DraftNAccepted: 6}
	want := map[string]float64{
		"ttft_ms": 90, "ttfo_ms": 130, "tpot_ms": 10, "tpot_vllm_ms": 10, "icl_ms": 40, "tokens_per_chunk": 4, "e2e_ms": 170,
		"tail_ms": 10, "connect_ms": 3, "decode_tok_s": 100, "effective_tok_s": 9 / 0.170, "output_tok_s": 50, "run_output_tok_s": 50,
		"total_tok_s": 550, "requests_s": 1 / 0.180, "acceptance_length": 4, "server_ttft_ms": 70, "outside_ttft_ms": 20,
		"server_tpot_ms": 8, "outside_tpot_ms": 2, "prompt_tokens": 90, "cached_tokens": 30, "output_tokens": 9,
		"queue_delay_ms": 5, "ttft_sched_ms": 100, "e2e_sched_ms": 180,
	}
	got := Level([]record.Request{r}, 0)
	for _, m := range All() {
		v, given := want[m.Name]
		s, has := got[m.Name]
		if given != has || math.Abs(s.P50-v) > 1e-6*v {
			t.Errorf("%s: %g (defined %v), want %g (%v)", m.Name, s.P50, has, v, given)
		}
	}
	if _, has := Level([]record.Request{r}, 1)["queue_delay_ms"]; has {
		t.Error("a closed loop has no planned time to be late for")
	}
}

// The bounds of the summaries are those of the rule, and the intervals the order statistics of stats.
func TestQuantilesAndTheirIntervals(t *testing.T) {
	for p, want := range map[float64]int{0.9: MinP90, 0.95: MinP95, 0.99: MinP99, 0.999: MinP999} {
		if got := stats.MinSamples(p, 0.99); got != want {
			t.Errorf("p = %g takes %d values, MLPerf's bound is %d", p, want, got)
		}
	}
	ramp := func(n int) []float64 {
		var v []float64
		for i := range n {
			v = append(v, float64(i+1)) // the value is the rank
		}
		return v
	}
	for _, n := range []int{MinP95 - 1, MinP999 - 1} {
		if s := Summarize(ramp(n)); (s.P95 != nil) != (n >= MinP95) || s.P999 != nil {
			t.Errorf("%d values: p95 %v, p99.9 %v", n, s.P95, s.P999)
		}
	}
	n := MinP999
	s := Summarize(ramp(n))
	for _, q := range []struct {
		p          float64
		at, lo, hi *float64
	}{{0.9, s.P90, s.P90Lo, s.P90Hi}, {0.95, s.P95, s.P95Lo, s.P95Hi}, {0.99, s.P99, s.P99Lo, s.P99Hi}, {0.999, s.P999, s.P999Lo, s.P999Hi}} {
		lo, hi, ok := stats.QuantileRanks(n, q.p, 0.95)
		if !ok || q.at == nil || *q.lo != float64(lo) || *q.hi != float64(hi) || *q.at < *q.lo || *q.at > *q.hi {
			t.Errorf("p = %g: %v in %v to %v, want it between ranks %d and %d", q.p, q.at, q.lo, q.hi, lo, hi)
		}
	}
	gaps := make([]float64, 700)
	var tokens []int
	for i := range gaps {
		gaps[i], tokens = float64(10*i), append(tokens, 1)
	}
	if s := Level([]record.Request{stream(700, gaps, tokens)}, 1)["icl_ms"]; s.P99 == nil || s.Lo != nil || s.P90Lo != nil || s.P99Hi != nil {
		t.Errorf("gaps of one stream are no independent sample, and got an interval: %+v", s)
	}
}
