package llama

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
	"treeline/internal/infer/model/modeltest"
	"treeline/internal/sharedtest"
)

// The tolerance of the goldens: the oracle behind them is within 3.2e-5 of exact arithmetic.
const goldenTolerance = 2e-4

func maxDiff[A, B float32 | float64](a []A, b []B) float64 {
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}

// chain is a batch of consecutive tokens of a sequence.
func chain(seq, pos int, tokens []int32) []model.Node {
	batch := make([]model.Node, len(tokens))
	for i, token := range tokens {
		batch[i] = model.Node{Seq: seq, Token: token, Pos: pos + i, Parent: i - 1, Want: true}
	}
	return batch
}

func upTo(n int) []int {
	path := make([]int, n)
	for i := range path {
		path[i] = i
	}
	return path
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// prefill runs tokens as one chain and commits them.
func prefill(t testing.TB, m model.Runner, seq int, tokens []int32) {
	t.Helper()
	m.Truncate(seq, 0)
	if err := m.Reserve(seq, len(tokens)+64); err != nil {
		t.Fatal(err)
	}
	if err := m.Forward(chain(seq, 0, tokens)); err != nil {
		t.Fatal(err)
	}
	m.Commit(seq, upTo(len(tokens)))
}

// Float32 mode against the logits of another implementation on the dequantised weights, and against our own oracle.
func TestGoldenLogits(t *testing.T) {
	shared := sharedtest.Dir(t)
	var models struct {
		Prompt []int32 `json:"prompt"`
	}
	modeltest.ReadJSON(t, filepath.Join(shared, "fixtures/gguf/models.json"), &models)
	golden := modeltest.ReadSafetensors(t, filepath.Join(shared, "fixtures/gguf/models.safetensors"))
	for _, name := range []string{"tiny-llama.f32", "tiny-llama.q8_0", "tiny-llama.q4_0", "tiny-llama3-rope.f16"} {
		path := modelPath(t, name+".gguf")
		exact := readOracle(t, path).forward(models.Prompt)
		want := golden[name+".logits"]
		for i := range exact {
			if d := maxDiff(exact[i], want.Row(i)); d > goldenTolerance {
				t.Fatalf("%s position %d: the oracle of this test is off by %g", name, i, d)
			}
		}
		for _, set := range kernel.Sets() {
			m := open(t, path, Options{Set: set, Threads: 2, Weights: Float32})
			prefill(t, m, 0, models.Prompt)
			for i := range exact {
				if d := maxDiff(m.Logits(i), exact[i]); !(d <= goldenTolerance) {
					t.Errorf("%s, set %s, position %d: logits are off by %g, want at most %g", name, set.Name, i, d, goldenTolerance)
				}
			}
		}
	}
}

// Native weights meet activations rounded to 8 bits: the logits are close to the exact ones, not equal. The bound on
// the relative root mean square error is what that rounding costs a model this small, not a law.
func TestNativeLogitsAreClose(t *testing.T) {
	for file, bound := range map[string]float64{"tiny-llama.f32.gguf": 1e-5, "tiny-llama.q8_0.gguf": 0.05, "tiny-llama.q4_0.gguf": 0.05} {
		path := modelPath(t, file)
		text := []int32{331, 155, 390, 253, 241, 130, 259, 262, 241, 404, 397, 184, 25, 25, 174}
		exact := readOracle(t, path).forward(text)
		for _, set := range kernel.Sets() {
			m := open(t, path, Options{Set: set})
			prefill(t, m, 0, text)
			off, all := 0.0, 0.0
			for i := range exact {
				for j, want := range exact[i] {
					d := float64(m.Logits(i)[j]) - want
					off, all = off+d*d, all+want*want
				}
			}
			if e := math.Sqrt(off / all); !(e <= bound) {
				t.Errorf("%s, set %s: relative error %.3g, want at most %g", file, set.Name, e, bound)
			} else {
				t.Logf("%s, set %s: relative error %.3g", file, set.Name, e)
			}
		}
	}
}

func TestGoldenGreedy(t *testing.T) {
	var base struct {
		Prompts [][]int32 `json:"prompts"`
		Greedy  [][]int32 `json:"greedy"`
	}
	dir := filepath.Join(sharedtest.Dir(t), "fixtures/goldens/tiny-llama")
	modeltest.ReadJSON(t, filepath.Join(dir, "base.json"), &base)
	logits := modeltest.ReadSafetensors(t, filepath.Join(dir, "base.safetensors"))
	m := open(t, modelPath(t, "tiny-llama.f32.gguf"), Options{Threads: 2, MaxSeqs: 3})
	for i, prompt := range base.Prompts {
		prefill(t, m, i, prompt)
		for pos := range prompt {
			if d := maxDiff(m.Logits(pos), logits["prompt"+string(rune('0'+i))+".logits"].Row(pos)); !(d <= goldenTolerance) {
				t.Errorf("prompt %d position %d: logits are off by %g", i, pos, d)
			}
		}
		if got := greedy(t, m, i, argmax(m.Logits(len(prompt)-1)), 24); !slices.Equal(got, base.Greedy[i]) {
			t.Errorf("prompt %d: got tokens %v, want %v", i, got, base.Greedy[i])
		}
	}
}

// greedy decodes n tokens, the first of which is given.
func greedy(t testing.TB, m model.Runner, seq int, first int32, n int) []int32 {
	t.Helper()
	out := []int32{first}
	for len(out) < n {
		if err := m.Forward(chain(seq, m.Len(seq), out[len(out)-1:])); err != nil {
			t.Fatal(err)
		}
		out = append(out, argmax(m.Logits(0)))
		m.Commit(seq, []int{0})
	}
	return out
}

// A tree of ten nodes against separate sequential runs of another implementation, then a commit of the accepted path,
// which leaves the first branch.
func TestGoldenTree(t *testing.T) {
	var tree struct {
		Parents []int `json:"parents"`
		Cases   []struct {
			Prompt, Tokens, Depths []int32
			AcceptedPath           []int `json:"accepted_path"`
			Bonus                  int32 `json:"bonus"`
		} `json:"cases"`
	}
	dir := filepath.Join(sharedtest.Dir(t), "fixtures/goldens/tiny-llama")
	modeltest.ReadJSON(t, filepath.Join(dir, "tree.json"), &tree)
	logits := modeltest.ReadSafetensors(t, filepath.Join(dir, "tree.safetensors"))
	for _, set := range kernel.Sets() {
		m := open(t, modelPath(t, "tiny-llama.f32.gguf"), Options{Set: set, Threads: 2})
		for c, tc := range tree.Cases {
			prefill(t, m, 0, tc.Prompt)
			batch := make([]model.Node, len(tc.Tokens))
			for i := range batch {
				batch[i] = model.Node{Token: tc.Tokens[i], Pos: len(tc.Prompt) + int(tc.Depths[i]), Parent: tree.Parents[i], Want: true}
			}
			if err := m.Forward(batch); err != nil {
				t.Fatal(err)
			}
			for i := range batch {
				if d := maxDiff(m.Logits(i), logits["case"+string(rune('0'+c))+".logits"].Row(i)); !(d <= goldenTolerance) {
					t.Errorf("set %s, case %d, node %d: logits are off by %g", set.Name, c, i, d)
				}
			}
			last := tc.AcceptedPath[len(tc.AcceptedPath)-1]
			if got := argmax(m.Logits(last)); got != tc.Bonus {
				t.Errorf("set %s, case %d: token after the accepted path is %d, want %d", set.Name, c, got, tc.Bonus)
			}
			m.Commit(0, tc.AcceptedPath)
			text := slices.Clone(tc.Prompt)
			for _, i := range tc.AcceptedPath {
				text = append(text, tc.Tokens[i])
			}
			checkContinues(t, m, append(text, tc.Bonus))
		}
	}
}

// checkContinues runs the last token of text on what sequence 0 has committed and compares with a run from nothing.
func checkContinues(t *testing.T, m model.Runner, text []int32) {
	t.Helper()
	n := len(text) - 1
	if m.Len(0) != n {
		t.Fatalf("%d tokens are committed, want %d", m.Len(0), n)
	}
	if err := m.Forward(chain(0, n, text[n:])); err != nil {
		t.Fatal(err)
	}
	got := slices.Clone(m.Logits(0))
	want := plain(t, m, text)[n]
	if err := sameBits(got, want); err != nil {
		t.Errorf("after a commit: %v", err)
	}
}
