package llama

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
)

// plain computes the logits after every token of a text in the plainest way the engine knows: one thread, one node a
// pass. Everything else must give the same bits.
func plain(t testing.TB, m model.Runner, text []int32) [][]float32 {
	t.Helper()
	m.Truncate(0, 0)
	if err := m.Reserve(0, len(text)); err != nil {
		t.Fatal(err)
	}
	out := make([][]float32, len(text))
	for i, token := range text {
		if err := m.Forward([]model.Node{{Token: token, Pos: i, Parent: -1, Want: true}}); err != nil {
			t.Fatal(err)
		}
		out[i] = slices.Clone(m.Logits(0))
		m.Commit(0, []int{0})
	}
	return out
}

func randomText(r *rand.Rand, n, vocab int) []int32 {
	text := make([]int32, n)
	for i := range text {
		text[i] = int32(r.IntN(vocab))
	}
	return text
}

func sameBits(a, b []float32) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d logits, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Errorf("logit %d is %v, want %v (bits differ)", i, a[i], b[i])
		}
	}
	return nil
}

// replay feeds texts to sequences 0.. in random batches: chunks of random size, drafts with random siblings where the
// right branch is anywhere, sequences mixed in random order, now and then a step back. All logits of right nodes are
// compared with want.
type replay struct {
	m      model.Runner
	rng    *rand.Rand
	texts  [][]int32
	want   [][][]float32
	chunks []int // sizes to choose from; 0: all
	trees  bool
	back   bool
}

func (p *replay) run() error {
	for seq := range p.texts {
		p.m.Truncate(seq, 0)
		if err := p.m.Reserve(seq, len(p.texts[seq])); err != nil {
			return err
		}
	}
	for round := 0; ; round++ {
		batch, paths := p.batch()
		if len(batch) == 0 {
			return nil
		}
		if err := p.m.Forward(batch); err != nil {
			return err
		}
		for seq, path := range paths {
			for k, i := range path {
				pos := p.m.Len(seq) + k
				if err := sameBits(p.m.Logits(i), p.want[seq][pos]); err != nil {
					return fmt.Errorf("round %d, batch of %d, node %d, sequence %d, position %d: %w", round, len(batch), i, seq, pos, err)
				}
			}
		}
		for seq, path := range paths {
			n := len(path)
			if n > 1 && p.rng.IntN(3) == 0 {
				n = 1 + p.rng.IntN(n) // accept only part of it
			}
			p.m.Commit(seq, path[:n])
			if p.back && p.rng.IntN(6) == 0 {
				p.m.Truncate(seq, 1+p.rng.IntN(p.m.Len(seq)))
			}
		}
	}
}

// batch draws the next batch and, per sequence, the batch indices of the text's own next tokens.
func (p *replay) batch() ([]model.Node, map[int][]int) {
	type item struct {
		node  model.Node
		right bool
	}
	var lists [][]item
	for seq, text := range p.texts {
		at := p.m.Len(seq)
		left := len(text) - at
		if left == 0 {
			continue
		}
		n := p.chunks[p.rng.IntN(len(p.chunks))]
		if n == 0 || n > left {
			n = left
		}
		n = min(n, p.m.MaxNodes()/len(p.texts))
		var list []item
		parent := -1
		for k := range n {
			decoys := 0
			if p.trees {
				decoys = p.rng.IntN(3)
			}
			grow := func() { // wrong tokens: siblings, and children of wrong nodes
				for ; decoys > 0 && len(list)+n-k < p.m.MaxNodes()/len(p.texts); decoys-- {
					wrong := model.Node{Seq: seq, Token: int32(p.rng.IntN(p.m.Config().Vocab)), Pos: at, Parent: parent, Want: p.rng.IntN(2) == 0}
					if parent >= 0 {
						wrong.Pos = list[parent].node.Pos + 1
					}
					if j := p.rng.IntN(len(list) + 1); j < len(list) && !list[j].right {
						wrong.Parent, wrong.Pos = j, list[j].node.Pos+1
					}
					if wrong.Pos < p.m.MaxLen() {
						list = append(list, item{node: wrong})
					}
				}
			}
			if p.rng.IntN(2) == 0 {
				grow()
			}
			list = append(list, item{node: model.Node{Seq: seq, Token: text[at+k], Pos: at + k, Parent: parent, Want: true}, right: true})
			parent = len(list) - 1
			grow()
		}
		lists = append(lists, list)
	}
	// Mix the lists at random, keeping the order within each, and translate the parents.
	var batch []model.Node
	paths := map[int][]int{}
	index := make([][]int, len(lists))
	for {
		var open []int
		for i := range lists {
			if len(index[i]) < len(lists[i]) {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			return batch, paths
		}
		i := open[p.rng.IntN(len(open))]
		it := lists[i][len(index[i])]
		if it.node.Parent >= 0 {
			it.node.Parent = index[i][it.node.Parent]
		}
		if it.right {
			paths[it.node.Seq] = append(paths[it.node.Seq], len(batch))
		}
		index[i] = append(index[i], len(batch))
		batch = append(batch, it.node)
	}
}

// The logits of a node are the same bits whatever the batch it came in, its place there, the threads, the cut of the
// text, the tree around it, steps back, and the kernel set.
func TestBits(t *testing.T) {
	for _, file := range []string{"tiny-llama.q8_0.gguf", "tiny-llama.q4_0.gguf", "tiny-llama.f32.gguf", "tiny-llama3-rope.f16.gguf"} {
		t.Run(file, func(t *testing.T) {
			path := modelPath(t, file)
			rng := rand.New(rand.NewPCG(1, uint64(len(file))))
			var texts [][]int32
			for _, n := range []int{150, 64, 33, 1, 70} { // pages end at 64 and 128
				texts = append(texts, randomText(rng, n, 512))
			}
			sets := kernel.Sets()
			best := sets[len(sets)-1]
			if len(sets) == 1 {
				texts = [][]int32{texts[0][:70], texts[1][:9], texts[2][:9], texts[3]}
			}
			one, want := open(t, path, Options{Set: best, Threads: 1}), [][][]float32{}
			for _, text := range texts {
				want = append(want, plain(t, one, text))
			}
			if len(sets) == 1 {
				checkReplays(t, path, best, []int{3}, texts, want, rng)
			}
			for _, set := range sets {
				if set == sets[0] {
					// The definition in Go is slow: a short text shows that it gives the same bits.
					checkReplays(t, path, set, []int{2}, [][]int32{texts[2][:9], texts[3]}, want[2:4], rng)
					continue
				}
				checkReplays(t, path, set, []int{1, 2, 3, 16}, texts, want, rng)
			}
		})
	}
}

// checkReplays runs texts through a set in all ways of feeding them and compares with want.
func checkReplays(t *testing.T, path string, set *kernel.Set, threads []int, texts [][]int32, want [][][]float32, rng *rand.Rand) {
	t.Helper()
	for _, n := range threads {
		m := open(t, path, Options{Set: set, Threads: n, MaxSeqs: len(texts), MaxLen: 160})
		for _, r := range []replay{
			{texts: texts[:1], chunks: []int{1}},
			{texts: texts[:1], chunks: []int{7}},
			{texts: texts[:1], chunks: []int{64}},
			{texts: texts[:1], chunks: []int{0}},
			{texts: texts, chunks: []int{1}},
			{texts: texts, chunks: []int{1, 7, 0}, back: true},
			{texts: texts[:1], chunks: []int{3, 8}, trees: true},
			{texts: texts, chunks: []int{1, 2, 5, 30}, trees: true, back: true},
		} {
			r.m, r.rng, r.want = m, rng, want
			if err := r.run(); err != nil {
				t.Errorf("set %s, %d threads, %d sequences, chunks %v, trees %v, back %v: %v",
					set.Name, n, len(r.texts), r.chunks, r.trees, r.back, err)
			}
		}
	}
}
