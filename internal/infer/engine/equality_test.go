package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/sample"
	"treeline/internal/infer/spec"
)

func drawRequest(t *rapid.T, i int) Request {
	l := func(s string) string { return fmt.Sprintf("%s %d", s, i) }
	req := Request{
		Prompt:    rapid.SliceOfN(rapid.Int32Range(1, enginetest.VocabSize-1), 1, 60).Draw(t, l("prompt")),
		MaxTokens: rapid.SampledFrom([]int{0, 1, 2, 7, 30, 60}).Draw(t, l("max_tokens")),
		MinTokens: rapid.SampledFrom([]int{0, 0, 0, 3, 20}).Draw(t, l("min_tokens")),
		IgnoreEOS: rapid.Bool().Draw(t, l("ignore_eos")),
		Sample: sample.Params{
			Temperature: rapid.SampledFrom([]float64{0, 0, 0.3, 0.8, 1.5}).Draw(t, l("temperature")),
			TopK:        rapid.SampledFrom([]int{0, 0, 5}).Draw(t, l("top_k")),
			TopP:        rapid.SampledFrom([]float64{1, 1, 0.8}).Draw(t, l("top_p")),
			MinP:        rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(t, l("min_p")),
			Seed:        rapid.Uint64().Draw(t, l("seed")),
		},
	}
	if rapid.IntRange(0, 2).Draw(t, l("penalise")) == 0 {
		req.Sample.Presence = rapid.Float64Range(-1, 1).Draw(t, l("presence"))
		req.Sample.Frequency = rapid.Float64Range(-0.5, 0.5).Draw(t, l("frequency"))
	}
	if rapid.IntRange(0, 3).Draw(t, l("bias")) == 0 {
		req.Sample.Bias = []sample.Bias{{ID: 5, Value: 2}, {ID: 0, Value: -1}}
	}
	if req.MinTokens == 0 && rapid.Bool().Draw(t, l("stops")) {
		req.Stop = rapid.SliceOfN(rapid.SampledFrom([]string{"ab", "the a", "é", "END", "e", " and", "\n", "aba", "q€", "."}), 1, 3).Draw(t, l("stop"))
	}
	return req
}

// TestSpeculationIsPlainDecoding is the law of the engine: whatever the drafter, the batch, the chunking and the
// others do, each request gives exactly what plain decoding of it alone gives.
func TestSpeculationIsPlainDecoding(t *testing.T) {
	var total Counters
	rounds := 20 // of 100 random batches each
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		rapid.Check(t, func(rt *rapid.T) { equalityRun(t, rt, &total) })
	}
	if total.Accepted == 0 || total.DraftTokens == total.Accepted {
		t.Errorf("the drafts were never right or never wrong: %+v", total)
	}
	t.Logf("%d tokens, %d drafted, %d accepted", total.GenerationTokens, total.DraftTokens, total.Accepted)
}

// equalityRun runs one random batch of requests on one engine.
func equalityRun(t *testing.T, rt *rapid.T, total *Counters) {
	n := rapid.IntRange(1, 10).Draw(rt, "requests")
	reqs, wants := make([]Request, n), make([]want, n)
	for i := range reqs {
		reqs[i] = drawRequest(rt, i)
		r := enginetest.NewRunner()
		r.MaxTokens = 160
		wants[i] = oracle(t, r, reqs[i], []int32{enginetest.EOS})
	}
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "rng"), 0))
	var next sync.Mutex // the drafters of one engine are made in the order of admission, which is that of Submit
	made := 0
	order := make([]int, 0, n)
	drafters := map[string]func() spec.Drafter{
		"none":           nil,
		"ngram":          lookupDrafter(0),
		"ngram, guarded": lookupDrafter(0.3),
		"random trees":   func() spec.Drafter { return randomTrees{rand.New(rand.NewPCG(rng.Uint64(), 1))} },
		"broken":         func() spec.Drafter { return broken{rand.New(rand.NewPCG(rng.Uint64(), 1))} },
		"foresight": func() spec.Drafter {
			next.Lock()
			defer next.Unlock()
			i := order[made]
			made++
			return &foresight{r: rand.New(rand.NewPCG(rng.Uint64(), 1)), all: append(slices.Clone(reqs[i].Prompt), wants[i].tokens...)}
		},
	}
	name := rapid.SampledFrom([]string{"none", "ngram", "ngram", "ngram, guarded", "random trees", "foresight", "foresight", "broken"}).Draw(rt, "drafter")
	r := enginetest.NewRunner()
	r.MaxTokens = 160
	r.Seqs = rapid.SampledFrom([]int{1, 2, 8}).Draw(rt, "sequences")
	r.Nodes = rapid.SampledFrom([]int{8, 17, 128}).Draw(rt, "rows")
	r.MemoryTokens = rapid.SampledFrom([]int{0, 200, 400}).Draw(rt, "memory")
	e, err := New(r, testOptions(Options{
		MaxQueue: n, NewDrafter: drafters[name],
		PrefillTokens: rapid.SampledFrom([]int{0, 1, 7}).Draw(rt, "prefill"),
		DraftTokens:   rapid.IntRange(1, 16).Draw(rt, "draft tokens"),
		RoundDrafts:   rapid.SampledFrom([]int{0, 64}).Draw(rt, "round drafts"),
	}))
	if err != nil {
		rt.Fatal(err)
	}
	defer closeEngine(t, e)
	cancelled := map[int]bool{}
	if name != "foresight" { // who is admitted would no longer be known
		for i := range n {
			cancelled[i] = rapid.IntRange(0, 5).Draw(rt, fmt.Sprint("cancel ", i)) == 0
		}
	}
	own := rand.New(rand.NewPCG(rng.Uint64(), 2)) // rng belongs to the engine's loop from here on
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range reqs {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		next.Lock()
		order = append(order, i)
		next.Unlock()
		a, err := e.Submit(ctx, reqs[i])
		if err != nil {
			rt.Fatalf("Submit: %v", err)
		}
		after := own.IntN(20)
		wg.Go(func() { errs[i] = readAndCompare(a, wants[i], reqs[i], cancelled[i], after, cancel) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			rt.Fatalf("%s: request %d %+v: %v", name, i, reqs[i], err)
		}
	}
	closeEngine(t, e)
	c := e.Counters()
	if c.Running != 0 || c.Queued != 0 || r.Len(0) != 0 {
		rt.Fatalf("after the end: %+v, sequence 0 holds %d tokens", c, r.Len(0))
	}
	if name == "broken" && c.Accepted+c.Drafts > 0 && c.DroppedDrafts == 0 {
		rt.Fatalf("broken drafts were not dropped: %+v", c)
	}
	total.Accepted += c.Accepted
	total.DraftTokens += c.DraftTokens
	total.GenerationTokens += c.GenerationTokens
}

// readAndCompare reads an answer, cancels after some events when asked, and compares.
func readAndCompare(a *Answer, w want, req Request, cancelIt bool, after int, cancel func()) error {
	var got want
	for events := 0; ; events++ {
		if cancelIt && events == after {
			cancel()
			if ev, err := a.Next(); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("after the cancellation Next gave %+v, %v", ev, err)
			}
			if !slices.Equal(got.tokens, w.tokens[:len(got.tokens)]) || !strings.HasPrefix(w.text, got.text) {
				return fmt.Errorf("cancelled: got %v, not a beginning of %v", got, w)
			}
			return nil
		}
		ev, err := a.Next()
		if err != nil {
			break
		}
		got.tokens, got.text = append(got.tokens, ev.Tokens...), got.text+ev.Text
		if ev.Total != len(got.tokens) {
			return fmt.Errorf("Event.Total = %d after %d tokens", ev.Total, len(got.tokens))
		}
		if r := ev.Result; r != nil {
			got.finish = r.FinishReason
			if r.Err != nil {
				return r.Err
			}
			if r.CompletionTokens != len(got.tokens) || r.PromptTokens != len(req.Prompt) || r.Timings.PredictedN != len(got.tokens) {
				return fmt.Errorf("result %+v, want %d tokens", r, len(got.tokens))
			}
		}
	}
	if !slices.Equal(got.tokens, w.tokens) || got.text != w.text || got.finish != w.finish {
		return fmt.Errorf("got %q %s %v\nwant %q %s %v", got.text, got.finish, got.tokens, w.text, w.finish, w.tokens)
	}
	return nil
}
