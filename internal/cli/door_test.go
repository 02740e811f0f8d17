package cli

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/server"
	"treeline/internal/infer/spec"
	"treeline/internal/infer/spec/lookup"
	"treeline/internal/measure/experiment"
	"treeline/internal/measure/record"
	"treeline/internal/measure/workload"
	"treeline/internal/wire/openai"
)

// serveFake puts our own server over a fake model whose passes take pass each.
func serveFake(t *testing.T, method string, pass time.Duration) string {
	t.Helper()
	r := enginetest.NewRunner()
	r.Delay = func(int) time.Duration { return pass }
	m := server.NewMetrics("fake")
	o := engine.Options{
		EOS: []int32{enginetest.EOS}, Observe: m, MaxQueue: 16,
		NewText: func() engine.Detokenizer { return enginetest.Text{}.NewStream() },
	}
	if method == "NGRAM" {
		o.DraftTokens = 4
		o.NewDrafter = func() spec.Drafter { return lookup.New(lookup.Options{MinMatch: 1, MaxMatch: 4}) }
	}
	e, err := engine.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{Model: "fake", Version: "test", Metrics: m})
	s.Ready(&server.Backend{
		Engine: e, Text: enginetest.Text{},
		Chat: func(ms []openai.Message, _ map[string]any) (string, error) { return string(ms[0].Content), nil },
		Info: server.Info{ModelPath: "fake.gguf", ISA: "go", Method: method, PID: 7, StartUnixNS: 5},
	})
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		e.Close(ctx)
	})
	return h.URL
}

// The two halves meet over HTTP: our client proves which method our server runs, and both clocks agree.
func TestMeasuringOurOwnServer(t *testing.T) {
	for method, want := range map[string]string{"NONE": "none", "NGRAM": "ngram"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			var prompts []workload.Prompt
			for _, text := range strings.Fields("abcabcabcabc thequickthequick hellohello nanananana") {
				prompts = append(prompts, workload.Prompt{ID: text[:3], Category: "test", Text: text})
			}
			dir := t.TempDir()
			b, err := experiment.MeasureStart(t.Context(), experiment.StartOptions{
				URL: serveFake(t, method, 8*time.Millisecond), Prompts: prompts, MaxTokens: 48, IgnoreEOS: true, Warmup: 1, ExpectSpec: want, Dir: dir,
				Client: &record.Client{Certified: true}, IdlePause: time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			// The fake model writes halves of characters, which the server holds back: chunks then are not steps.
			b.Warnings = slices.DeleteFunc(b.Warnings, func(w record.Warning) bool {
				return w.Code == record.WarnIdentity && strings.HasPrefix(w.Text, "tau_agrees")
			})
			if !b.Valid || b.Target.Kind != "treeline" || b.Target.Method != want || b.Target.ProofLevel != 2 || len(b.Warnings) > 0 {
				t.Errorf("valid %v, target %+v, warnings %v", b.Valid, b.Target, b.Warnings)
			}
			c, tau := b.Starts[0].Counters, b.Starts[0].Tau
			if c.Generated != 4*48 || (c.Drafted > 0) != (want == "ngram") || tau == nil || *tau < 1 {
				t.Errorf("counters %+v, tau %v; want 192 tokens generated and drafts with n-grams only", c, tau)
			}
			checkClocks(t, dir)
		})
	}
}

// checkClocks compares the time per token of every request with the server's timings.
func checkClocks(t *testing.T, dir string) {
	t.Helper()
	requests, err := record.Recompute(record.StartFolder(dir, 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		n, _ := r.OutputTokens()
		if r.Timings == nil || r.Timings.PredictedN != n || r.Arrivals()[0].Tokens < 1 {
			t.Errorf("request %d: timings %+v for %d tokens, first arrival %+v", r.ID, r.Timings, n, r.Arrivals()[0])
			continue
		}
		client, own := float64(r.Last-r.First)/1e6, r.Timings.PredictedMS
		t.Logf("request %d: %d tokens in %.2f ms by the client, %.2f ms by the server (%.2f %%)", r.ID, n, client, own, 100*(client/own-1))
	}
}
