package engine

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/model"
	"treeline/internal/infer/sample"
	"treeline/internal/infer/spec"
	"treeline/internal/infer/spec/lookup"
)

// want is what a request must give.
type want struct {
	tokens []int32
	text   string
	finish string
}

// oracle decodes plainly, one token a pass, one request alone, and looks for stop strings in the whole text. It shares
// nothing with the engine but the sampler.
func oracle(t testing.TB, r model.Runner, req Request, eos []int32) want {
	t.Helper()
	var s sample.Sampler
	var w want
	if err := r.Reserve(0, r.MaxLen()); err != nil {
		t.Fatal(err)
	}
	defer r.Truncate(0, 0)
	counts := map[int32]int{}
	feed := req.Prompt
	for {
		var row []float32
		for len(feed) > 0 { // one row a pass
			if err := r.Forward([]model.Node{{Token: feed[0], Pos: r.Len(0), Parent: -1, Want: true}}); err != nil {
				t.Fatal(err)
			}
			row = r.Logits(0)
			r.Commit(0, []int{0})
			feed = feed[1:]
		}
		at := sample.Point{Pos: len(req.Prompt) + len(w.tokens)}
		if req.Sample.Penalised() {
			at.Counts = counts
		}
		if !req.IgnoreEOS && len(w.tokens) < req.MinTokens {
			at.Banned = eos
		}
		token := s.Token(row, &req.Sample, at)
		w.tokens = append(w.tokens, token)
		counts[token]++
		feed = []int32{token}
		if !req.IgnoreEOS && slices.Contains(eos, token) {
			w.text, w.finish = decodeText(w.tokens[:len(w.tokens)-1]), FinishStop
			return w
		}
		if len(req.Stop) > 0 && req.MinTokens <= 1 {
			text := decodeSoFar(w.tokens)
			for _, stop := range req.Stop {
				if i := strings.Index(text, stop); i >= 0 && (w.finish == "" || i < len(w.text)) {
					w.text, w.finish = text[:i], FinishStop
				}
			}
			if w.finish != "" {
				return w
			}
		}
		if len(w.tokens) == req.MaxTokens || len(req.Prompt)+len(w.tokens) == r.MaxLen() {
			w.text, w.finish = decodeText(w.tokens), FinishLength
			return w
		}
	}
}

func decodeText(ids []int32) string { return enginetest.Text{}.Decode(ids) }

// decodeSoFar leaves out an incomplete character at the end.
func decodeSoFar(ids []int32) string {
	var sb strings.Builder
	s := enginetest.Text{}.NewStream()
	for _, id := range ids {
		sb.WriteString(s.Push(id))
	}
	return sb.String()
}

// collect reads an answer to its end.
func collect(a *Answer, choices int) ([]want, []*Result, error) {
	out, results := make([]want, choices), make([]*Result, choices)
	for {
		ev, err := a.Next()
		if errors.Is(err, io.EOF) {
			return out, results, nil
		}
		if err != nil {
			return out, results, err
		}
		w := &out[ev.Choice]
		w.tokens = append(w.tokens, ev.Tokens...)
		w.text += ev.Text
		if ev.Result != nil {
			w.finish, results[ev.Choice] = ev.Result.FinishReason, ev.Result
		}
	}
}

// Adversarial drafters.

// randomTrees proposes trees of random shape with random tokens.
type randomTrees struct{ r *rand.Rand }

func (d randomTrees) Append([]int32) {}
func (d randomTrees) Propose(t *spec.Tree, budget int) {
	for range d.r.IntN(budget + 1) {
		parent := d.r.IntN(t.Len()+1) - 1
		if tok := int32(d.r.IntN(enginetest.VocabSize)); t.Child(parent, tok) < 0 {
			t.Add(tok, parent)
		}
	}
}

// foresight knows what plain decoding gives and hides it in a tree: the right token is not always the first sibling,
// the path breaks off at a random depth, and decoys hang on every node.
type foresight struct {
	r    *rand.Rand
	all  []int32 // prompt and answer
	seen int
}

func (d *foresight) Append(tokens []int32) { d.seen += len(tokens) }
func (d *foresight) Propose(t *spec.Tree, budget int) {
	spine := -1
	for _, tok := range d.all[min(d.seen, len(d.all)):] {
		for range d.r.IntN(3) { // decoys, some below older decoys
			parent := spine
			if t.Len() > 0 && d.r.IntN(3) == 0 {
				parent = d.r.IntN(t.Len())
			}
			decoy := int32(d.r.IntN(enginetest.VocabSize))
			if t.Len() < budget && decoy != tok && t.Child(parent, decoy) < 0 {
				t.Add(decoy, parent)
			}
		}
		if t.Len() >= budget || d.r.IntN(6) == 0 {
			return
		}
		if c := t.Child(spine, tok); c >= 0 {
			spine = c
		} else {
			spine = t.Add(tok, spine)
		}
	}
}

// broken breaks the rules of trees.
type broken struct{ r *rand.Rand }

func (d broken) Append([]int32) {}
func (d broken) Propose(t *spec.Tree, budget int) {
	switch d.r.IntN(5) {
	case 0:
		t.Add(-1, -1)
	case 1:
		t.Add(5, 3)
	case 2:
		t.Add(5, -1)
		t.Add(5, -1)
	case 3:
		for i := range budget + 1 {
			t.Add(1, i-1)
		}
	case 4:
		t.Add(enginetest.VocabSize, -1)
	}
}

func lookupDrafter(minProb float64) func() spec.Drafter {
	return func() spec.Drafter {
		o := lookup.DefaultOptions()
		o.MinMatch, o.MinProb = 1, minProb
		return lookup.New(o)
	}
}

func newText() Detokenizer { return enginetest.Text{}.NewStream() }

// testOptions adds the test vocabulary.
func testOptions(o Options) Options {
	o.EOS, o.NewText = []int32{enginetest.EOS}, newText
	return o
}

// newEngine starts an engine that is closed when the test ends.
func newEngine(t testing.TB, r model.Runner, o Options) *Engine {
	t.Helper()
	e, err := New(r, testOptions(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

func closeEngine(t testing.TB, e *Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}
