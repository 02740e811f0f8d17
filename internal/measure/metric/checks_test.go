package metric

import (
	"strings"
	"testing"

	"treeline/internal/measure/record"
	"treeline/internal/wire/openai"
)

// load is 100 sound requests one after another, three tokens each.
func load() []record.Request {
	var out []record.Request
	for i := range 100 {
		r := stream(3, []float64{100, 110, 120}, []int{1, 1, 1})
		shift := int64(i) * 150e6
		for j := range r.Events {
			r.Events[j].At += shift
		}
		r.Wrote, r.First, r.FirstOut, r.Last, r.Done = shift, r.First+shift, r.FirstOut+shift, r.Last+shift, r.Last+shift+5e6
		r.Level = 1
		out = append(out, r)
	}
	return out
}

// Every check holds for sound requests, and fails when what it compares is made to contradict.
func TestChecks(t *testing.T) {
	generated, tau := 300.0, 1.0
	sound := Outside{Concurrency: 1, Generated: &generated, Sole: true, Watched: true, Tau: &tau, RTTms: 0.1}
	for _, c := range Checks(load(), sound) {
		if !c.OK || c.Skipped != "" || c.Text == "" {
			t.Errorf("sound requests: %+v", c)
		}
	}
	other, three := 330.0, 3.0
	tests := map[string]func([]record.Request, *Outside){
		"little": func(r []record.Request, o *Outside) {
			o.Concurrency, r[0].Done = 2, 15e9 // one place was held all the time, and the other did the work
		},
		"tokens_counted": func(_ []record.Request, o *Outside) { o.Generated = &other },
		"chunks_add_up": func(r []record.Request, _ *Outside) {
			for i := range 4 {
				r[i].Events = r[i].Events[:2]
			}
		},
		"ttft_above_rtt":         func(_ []record.Request, o *Outside) { o.RTTms = 150 },
		"decode_above_effective": func(r []record.Request, _ *Outside) { r[3].Wrote = r[3].First + 5e6 },
		"tau_agrees":             func(_ []record.Request, o *Outside) { o.Tau = &three },
	}
	for name, spoil := range tests {
		requests, o := load(), sound
		spoil(requests, &o)
		found := false
		for _, w := range Failed(Checks(requests, o)) {
			found = found || (w.Code == record.WarnIdentity && strings.HasPrefix(w.Text, name+": ") && strings.Contains(w.Text, ". Usually "))
		}
		if !found {
			t.Errorf("%s does not fail when it should: %+v", name, Checks(requests, o))
		}
	}
	for _, c := range Checks(nil, Outside{}) {
		if c.Skipped == "" {
			t.Errorf("of nothing: %+v, want it skipped", c)
		}
	}
}

func TestGoodput(t *testing.T) {
	requests := load()
	requests[0].OK = false
	requests[1].Wrote -= 200e6 // its first token took 300 ms
	requests[2].Censored, requests[2].OK = true, false
	slos, err := ParseSLOs("ttft:200 tpot:50")
	if err != nil {
		t.Fatal(err)
	}
	g := Goodput(requests, slos)
	if g.Of != 99 || g.Met != 97 || g.Share < 0.97 || g.Share > 0.98 || g.PerS <= 0 || g.SLOs["ttft_ms"] != 200 {
		t.Errorf("%+v, want 97 of 99: one failed, one was late, one does not count", g)
	}
	last := record.Request{Wrote: 15e9, Done: 100e9, ErrorClass: record.ClassTimeout}
	if late := Goodput(append(requests, last), slos); late.PerS < 0.96 || late.PerS > 0.98 {
		t.Errorf("97 met in 100 s, the last of which were spent on one that failed: %g a second", late.PerS)
	}
	one := stream(1, []float64{100}, []int{1})
	if !meets(&one, slos) {
		t.Error("an answer of one token has no time per token to be too long")
	}
	whole := record.Request{OK: true, First: -1, Wrote: 1, Done: 2, Usage: &openai.Usage{CompletionTokens: 5}}
	if meets(&whole, slos) {
		t.Error("an answer in one piece has no known time to first token")
	}
	for _, bad := range []string{"", "x=1", "ttft_ms", "ttft_ms=NaN", "ttft_ms=-1", "ttft=1,ttft:2", "icl_ms=3"} {
		if _, err := ParseSLOs(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// 300 tokens, 1 ms each up to position 128, 2 ms each after it.
func TestBands(t *testing.T) {
	var at []float64
	var tokens []int
	now := 10.0
	for i := range 300 {
		at, tokens = append(at, now), append(tokens, 1)
		now++
		if i >= 127 {
			now++
		}
	}
	r := stream(300, at, tokens)
	r.Usage.PromptTokens = 900
	got := ByPosition([]record.Request{r})
	if len(got) != 3 || got[0].TPOTms.P50 != 1 || got[1].From != 128 || got[1].To != 256 || got[1].TPOTms.P50 != 2 || got[2].TPOTms.P50 != 2 {
		t.Errorf("by position: %+v", got)
	}
	if got := ByContext([]record.Request{r}); len(got) != 2 || got[0].To != 1024 || got[0].TPOTms.P50 != 1 {
		t.Errorf("by context: %+v", got)
	}
	if got := ByPosition([]record.Request{r}); got[0].Spread != 0 {
		t.Errorf("sizes are told, and %d requests are called spread", got[0].Spread)
	}
	guessed := stream(300, at[:100], make([]int, 100))
	guessed.Usage.PromptTokens = 0
	if got := ByPosition([]record.Request{guessed}); len(got) != 3 || got[0].Spread != 1 {
		t.Errorf("three tokens an event, untold: %+v, want them spread over three bands and flagged", got)
	}
	if got := ByContext([]record.Request{guessed}); got != nil {
		t.Errorf("the depth of the context is unknown: %+v", got)
	}
	short := stream(3, []float64{1, 2, 3}, []int{1, 1, 1})
	if got := ByPosition([]record.Request{short}); got != nil {
		t.Errorf("one band is the overall figure: %+v", got)
	}
}

// The mean of a rate is all tokens over all time: 10 tokens in 1 s and 10 in 9 s are 2 a second, not 5.6.
func TestMeanOfRates(t *testing.T) {
	fast, slow := stream(11, []float64{0, 1000}, []int{1, 10}), stream(11, []float64{0, 9000}, []int{1, 10})
	got := Level([]record.Request{fast, slow}, 1)["decode_tok_s"]
	if got.Mean != 2 || got.N != 2 {
		t.Errorf("mean %g of %d, want 2 of 2", got.Mean, got.N)
	}
	single, double := stream(100, make([]float64, 100), make([]int, 100)), stream(3, []float64{0, 50}, []int{1, 2})
	for i := range single.Events {
		at := int64(i) * 50e6
		single.Events[i].At, single.Events[i].Tokens, single.Last = at, 1, at
	}
	if got := Level([]record.Request{single, double}, 1)["tokens_per_chunk"]; got.Mean != 1.01 || got.P50 != 1.5 {
		t.Errorf("99 chunks of one token and one of two: mean %g, median of the requests %g, want 1.01 and 1.5", got.Mean, got.P50)
	}
}

// A peak counts tokens, not chunks.
func TestPeakWeighsTokens(t *testing.T) {
	r := stream(40, []float64{0, 100, 200, 1500, 2500}, []int{10, 10, 10, 5, 5})
	r.Wrote, r.Done = 0, 2500e6
	if got := Level([]record.Request{r}, 1)["peak_output_tok_s"]; got.P50 != 30 {
		t.Errorf("peak %g tokens/s, want 30", got.P50)
	}
}
