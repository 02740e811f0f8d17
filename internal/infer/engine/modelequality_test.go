package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
	"treeline/internal/infer/model/llama"
	"treeline/internal/infer/sample"
	"treeline/internal/infer/spec"
	"treeline/internal/infer/spec/lookup"
	"treeline/internal/infer/tokenizer"
	"treeline/internal/sharedtest"
)

// generate runs all requests on one engine, at most batch at a time, and returns their tokens in order.
func generate(t *testing.T, r model.Runner, batch int, drafter func() spec.Drafter, reqs []Request) ([][]int32, Counters) {
	t.Helper()
	o := Options{MaxRunning: batch, MaxQueue: len(reqs)}
	if drafter != nil {
		o.NewDrafter, o.DraftTokens, o.RoundDrafts = drafter, 6, 6*batch
	}
	e, err := New(keepOpen{r}, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Submit(context.Background(), reqs...)
	if err != nil {
		t.Fatal(err)
	}
	got, results, err := collect(a, len(reqs))
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int32, len(reqs))
	for i := range got {
		if results[i].Err != nil {
			t.Fatalf("request %d: %v", i, results[i].Err)
		}
		out[i] = got[i].tokens
	}
	closeEngine(t, e)
	return out, e.Counters()
}

// keepOpen lets several engines, one after the other, run on one loaded model.
type keepOpen struct{ model.Runner }

func (keepOpen) Close() error { return nil }

// compareMethods generates plainly, then with drafts, and wants the same tokens.
func compareMethods(t *testing.T, name string, want [][]int32, r model.Runner, batch int, reqs []Request) (accepted int64) {
	t.Helper()
	ngram := func() spec.Drafter { return lookup.New(lookup.Options{MinMatch: 1, MaxMatch: 4}) }
	got, c := generate(t, r, batch, ngram, reqs)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: request %d (T = %v, seed %d):\nNGRAM %v\nNONE  %v", name, i, reqs[i].Sample.Temperature, reqs[i].Sample.Seed, got[i], want[i])
		}
	}
	t.Logf("%s: %d tokens, %d passes, %d of %d drafts accepted", name, c.GenerationTokens, c.DecodePasses, c.Accepted, c.DraftTokens)
	return c.Accepted
}

func randomPrompts(n, vocab int) [][]int32 {
	r := rand.New(rand.NewPCG(20, 26))
	out := make([][]int32, n)
	for i := range out {
		out[i] = make([]int32, 1+r.IntN(24))
		for j := range out[i] {
			out[i][j] = int32(r.IntN(vocab))
		}
	}
	return out
}

// full asks for every combination of the tests below.
func full() bool { return os.Getenv("TREELINE_FULL") != "" }

// part is every n-th request from the k-th on.
func part[T any](all []T, k, n int) (out []T) {
	for i := k % n; i < len(all); i += n {
		out = append(out, all[i])
	}
	return out
}

// TestTinyModelEquality: 200 random prompts x 3 temperatures x 8 seeds on a tiny model, batches of 1 and 8, 1 and 2
// threads, every kernel set: NGRAM gives NONE's tokens. NONE runs once, one request at a time, on one thread; every
// other way must give the same. By default each way sees a part of the requests, another one each, and the slow Go
// definition few; TREELINE_FULL=1 gives all to each (minutes).
func TestTinyModelEquality(t *testing.T) {
	path := filepath.Join(sharedtest.Root(t), "internal", "infer", "model", "llama", "testdata", "tiny-llama.q8_0.gguf")
	var reqs []Request
	for i, p := range randomPrompts(200, 512) {
		for _, temp := range []float64{0, 0.7, 1.3} {
			for seed := range 8 {
				req := Request{Prompt: p, MaxTokens: 12, IgnoreEOS: true, Sample: sample.Params{Temperature: temp, Seed: uint64(1000*i + seed)}}
				if seed%4 == 1 {
					req.Sample.TopP, req.Sample.Frequency = 0.9, 0.3
				}
				reqs = append(reqs, req)
			}
		}
	}
	sets := kernel.Sets()
	if !full() && (testing.Short() || len(sets) == 1) {
		reqs = part(reqs, 0, 17)
	}
	want, _ := generate(t, loadModel(t, path, sets[len(sets)-1].Name, 1), 1, nil, reqs)
	k, accepted := 0, int64(0)
	for i, set := range sets {
		for _, threads := range []int{1, 2} {
			r := loadModel(t, path, set.Name, threads)
			for _, batch := range []int{1, 8} {
				n := 1
				switch {
				case full():
				case testing.Short():
					n = 12
				case i == 0:
					n = 203
				default:
					n = 11
				}
				name := fmt.Sprintf("%s, %d threads, batch %d", set.Name, threads, batch)
				accepted += compareMethods(t, name, part(want, k, n), r, batch, part(reqs, k, n))
				k++
			}
		}
	}
	if accepted == 0 {
		t.Error("no draft was ever accepted: the comparison says nothing")
	}
}

// TestSmolLM2Equality: prompts of all kinds on a real model, T = 0 and 0.8, batches of 1 and 8, 1 and 2 threads, every
// kernel set but the Go definition: NGRAM gives NONE's tokens. TREELINE_FULL=1 takes 24 prompts of the built-in set instead of 2, all
// sets instead of the fastest, and two prompts for the Go definition (minutes).
func TestSmolLM2Equality(t *testing.T) {
	if testing.Short() {
		t.Skip("a real model takes a while")
	}
	sets := kernel.Sets()
	if len(sets) == 1 && !full() {
		t.Skip("this machine has only the Go definition, which takes minutes here: set TREELINE_FULL=1")
	}
	path := smolPath(t)
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromGGUF(file)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	_, texts := setPrompts(t, 3)
	if !full() {
		texts = part(texts, 7, 10)
	}
	var reqs []Request
	for i, text := range texts {
		prompt := tok.Encode("<|im_start|>user\n"+text+"<|im_end|>\n<|im_start|>assistant\n", true)
		for _, temp := range []float64{0, 0.8} {
			reqs = append(reqs, Request{Prompt: prompt, MaxTokens: 32, IgnoreEOS: true, Sample: sample.Params{Temperature: temp, Seed: uint64(i)}})
		}
	}
	run := sets[len(sets)-1:]
	want, _ := generate(t, loadModel(t, path, run[0].Name, 2), 1, nil, reqs)
	if full() {
		run = sets[1:]
	}
	for _, set := range run {
		for _, threads := range []int{1, 2} {
			r := loadModel(t, path, set.Name, threads)
			for _, batch := range []int{1, 8} {
				if compareMethods(t, fmt.Sprintf("%s, %d threads, batch %d", set.Name, threads, batch), want, r, batch, reqs) == 0 {
					t.Error("no draft was ever accepted: the comparison says nothing")
				}
			}
		}
	}
	if full() {
		r := loadModel(t, path, sets[0].Name, 2)
		compareMethods(t, "generic, 2 threads, batch 2", want[:4], r, 2, reqs[:4])
	}
}

// smolPath is the SmolLM2 file: TREELINE_MODEL, else where the pull command puts it.
func smolPath(t *testing.T) string {
	path := os.Getenv("TREELINE_MODEL")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skipf("no home folder: %v", err)
		}
		path = filepath.Join(home, ".cache", "treeline", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no SmolLM2 model: %v (pull one, or set TREELINE_MODEL)", err)
	}
	return path
}

// loadModel loads a model and closes it at the end of the test.
func loadModel(t *testing.T, path, set string, threads int) model.Runner {
	t.Helper()
	s, err := kernel.ByName(set)
	if err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(path, llama.Options{Set: s, Threads: threads, MaxSeqs: 8, MaxLen: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close the model: %v", err)
		}
	})
	return m
}
