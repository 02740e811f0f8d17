package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/model"
	"treeline/internal/infer/model/llama"
	"treeline/internal/infer/tokenizer"
	"treeline/internal/sharedtest"
)

// setPrompts are the first n prompts of each category of the built-in prompt set, by id. The set belongs to the
// measuring half; its text files are read, its code is not used.
func setPrompts(t *testing.T, n int) (ids, texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sharedtest.Root(t), "internal", "measure", "workload", "prompts", "*.txt"))
	if err != nil || len(files) != 8 {
		t.Fatalf("prompt set: %d files, %v; want 8", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split("\n"+string(data), "\n=== ")[1:]
		for _, block := range blocks[:n] {
			id, text, _ := strings.Cut(block, "\n")
			ids, texts = append(ids, id), append(texts, strings.TrimSpace(text))
		}
	}
	return ids, texts
}

// greedySteps decodes n tokens at temperature 0 and gives the gap between the two largest logits at each.
func greedySteps(t *testing.T, r model.Runner, prompt []int32, n int) (tokens []int32, gaps []float32) {
	t.Helper()
	r.Truncate(0, 0)
	if err := r.Reserve(0, len(prompt)+n); err != nil {
		t.Fatal(err)
	}
	forward := func(part []int32, want bool) int {
		batch := make([]model.Node, len(part))
		path := make([]int, len(part))
		for i, tok := range part {
			batch[i] = model.Node{Token: tok, Pos: r.Len(0) + i, Parent: i - 1, Want: want && i == len(part)-1}
			path[i] = i
		}
		if err := r.Forward(batch); err != nil {
			t.Fatal(err)
		}
		r.Commit(0, path)
		return len(part) - 1
	}
	for len(prompt) > 64 {
		forward(prompt[:64], false)
		prompt = prompt[64:]
	}
	next := prompt
	for range n {
		best, second := topTwo(r.Logits(forward(next, true)))
		tokens, gaps = append(tokens, best.id), append(gaps, best.value-second.value)
		next = []int32{best.id}
	}
	return tokens, gaps
}

type ranked struct {
	id    int32
	value float32
}

func topTwo(logits []float32) (best, second ranked) {
	best.value, second.value = logits[0], -1e30
	for i, v := range logits[1:] {
		switch {
		case v > best.value:
			best, second = ranked{int32(i + 1), v}, best
		case v > second.value:
			second = ranked{int32(i + 1), v}
		}
	}
	return best, second
}

// TestModesAgree: greedy text with the production kernels against float32 with dequantised weights, on prompts of the
// built-in set. Where they part, the two best logits must have been near each other: activations rounded to 8 bits
// move logits a little, an error of arithmetic moves them much. TREELINE_FULL=1 takes 32 prompts instead of 2; the
// list it prints is in docs/verified.md.
func TestModesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("a real model takes a while")
	}
	path := smolPath(t)
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tok, err := tokenizer.FromGGUF(file)
	if err != nil {
		t.Fatal(err)
	}
	ids, texts := setPrompts(t, 4)
	if !full() {
		ids, texts = part(ids, 5, 16), part(texts, 5, 16)
	}
	native := loadModel(t, path, "", 2)
	exact, err := llama.Load(path, llama.Options{Threads: 2, MaxSeqs: 1, MaxLen: 1024, Weights: llama.Float32})
	if err != nil {
		t.Fatal(err)
	}
	defer exact.Close()
	const tokens, near = 64, 1.0 // logits of this model reach 37; the largest gap seen where the modes part is 0.5
	same := 0
	for i, text := range texts {
		prompt := tok.Encode("<|im_start|>user\n"+text+"<|im_end|>\n<|im_start|>assistant\n", true)
		if len(prompt)+tokens > native.MaxLen() {
			prompt = prompt[:native.MaxLen()-tokens]
		}
		got, gotGaps := greedySteps(t, native, prompt, tokens)
		want, wantGaps := greedySteps(t, exact, prompt, tokens)
		k := 0
		for k < tokens && got[k] == want[k] {
			k++
		}
		if k == tokens {
			same++
			continue
		}
		t.Logf("| %s | %d | %q | %q | %.3f | %.3f |", ids[i], k, tok.Decode(want[k:k+1], false), tok.Decode(got[k:k+1], false), wantGaps[k], gotGaps[k])
		if wantGaps[k] > near {
			t.Errorf("%s: the modes part at token %d although its float32 logits are %.3f apart", ids[i], k, wantGaps[k])
		}
	}
	t.Logf("%d of %d prompts give the same %d tokens in both modes", same, len(texts), tokens)
}
