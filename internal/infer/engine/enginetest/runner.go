// Package enginetest holds test doubles of what stands below and beside the engine: a deterministic model.Runner
// that punishes every wrong use, and a small vocabulary with text. It is imported by tests only and knows nothing of
// the engine itself.
package enginetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"treeline/internal/infer/model"
)

// Runner is a model whose logits are a hash of a node's whole path, so that a wrong parent, a wrong commit, a wrong
// position or a token too many changes what follows. The larger part of a logit depends on the last two tokens only:
// texts repeat themselves and prompt lookup finds matches. Every broken rule of model.Runner is an error of Forward or
// a panic.
type Runner struct {
	Vocab, Seqs, Nodes, MaxTokens int

	MemoryTokens int                          // reservations beyond this fail; 0 is without limit
	Delay        func(rows int) time.Duration // when set, how long a Forward takes
	Fail         func() error                 // when set and not nil, the result of Forward
	Forwards     atomic.Int64
	Rows         atomic.Int64
	LargestBatch atomic.Int64

	seqs   []sequence
	batch  []model.Node
	node   []path
	closed atomic.Bool
}

type sequence struct {
	committed []path
	reserved  int
}

// path is what the logits depend on: the last two tokens and a hash of all of them.
type path struct {
	prev, last int32
	depth      int
	hash       uint64
}

func (p path) next(t int32) path {
	return path{p.last, t, p.depth + 1, mix(p.hash ^ uint64(t+1)*0x9e3779b97f4a7c15)}
}

// NewRunner has a vocabulary of VocabSize, 8 sequences of up to 512 tokens and batches of up to 128 rows.
func NewRunner() *Runner {
	return &Runner{Vocab: VocabSize, Seqs: 8, Nodes: 128, MaxTokens: 512}
}

var _ model.Runner = (*Runner)(nil)

// Config implements model.Runner.
func (r *Runner) Config() model.Config {
	return model.Config{Arch: "fake", Name: "Fake", Quant: "F32", Vocab: r.Vocab, Context: r.MaxTokens}
}

// MaxSeqs implements model.Runner.
func (r *Runner) MaxSeqs() int { return r.Seqs }

// MaxNodes implements model.Runner.
func (r *Runner) MaxNodes() int { return r.Nodes }

// MaxLen implements model.Runner.
func (r *Runner) MaxLen() int { return r.MaxTokens }

func (r *Runner) seq(i int) *sequence {
	for len(r.seqs) < r.Seqs {
		r.seqs = append(r.seqs, sequence{})
	}
	return &r.seqs[i]
}

// Reserve implements model.Runner.
func (r *Runner) Reserve(seq, n int) error {
	if n > r.MaxTokens {
		return fmt.Errorf("reserve %d tokens: longer than %d", n, r.MaxTokens)
	}
	sum := n
	for i := range r.Seqs {
		if i != seq {
			sum += r.seq(i).reserved
		}
	}
	if r.MemoryTokens > 0 && sum > r.MemoryTokens {
		return errors.New("no memory left")
	}
	r.seq(seq).reserved = n
	return nil
}

// Forward implements model.Runner. It refuses every batch that the contract forbids.
func (r *Runner) Forward(batch []model.Node) error {
	if r.closed.Load() {
		return errors.New("forward after close")
	}
	if len(batch) == 0 || len(batch) > r.Nodes {
		return fmt.Errorf("batch of %d rows, want 1 to %d", len(batch), r.Nodes)
	}
	r.Forwards.Add(1)
	r.Rows.Add(int64(len(batch)))
	r.LargestBatch.Store(max(r.LargestBatch.Load(), int64(len(batch))))
	if r.Delay != nil {
		time.Sleep(r.Delay(len(batch)))
	}
	if r.Fail != nil {
		if err := r.Fail(); err != nil {
			return err
		}
	}
	r.batch, r.node = append(r.batch[:0], batch...), r.node[:0]
	for i, n := range batch {
		if n.Seq < 0 || n.Seq >= r.Seqs || n.Token < 0 || int(n.Token) >= r.Vocab {
			return fmt.Errorf("row %d: %+v: no such sequence or token", i, n)
		}
		s := r.seq(n.Seq)
		var parent path
		switch {
		case n.Parent >= i || n.Parent < -1:
			return fmt.Errorf("row %d: parent %d does not precede it", i, n.Parent)
		case n.Parent >= 0 && batch[n.Parent].Seq != n.Seq:
			return fmt.Errorf("row %d: parent %d is of another sequence", i, n.Parent)
		case n.Parent >= 0:
			parent = r.node[n.Parent]
		case len(s.committed) > 0:
			parent = s.committed[len(s.committed)-1]
		}
		p := parent.next(n.Token)
		if n.Pos != p.depth-1 {
			return fmt.Errorf("row %d: position %d, want %d", i, n.Pos, p.depth-1)
		}
		if n.Pos >= r.MaxTokens {
			return fmt.Errorf("row %d: position %d is beyond the context of %d", i, n.Pos, r.MaxTokens)
		}
		r.node = append(r.node, p)
	}
	return nil
}

// Logits implements model.Runner.
func (r *Runner) Logits(i int) []float32 {
	if !r.batch[i].Want {
		return nil
	}
	row, p := make([]float32, r.Vocab), r.node[i]
	local := mix(uint64(p.prev)<<32 | uint64(p.last))
	for id := range row {
		u := unit(local + uint64(id))
		u *= u * u
		row[id] = 9*u*u*u + 0.6*unit(p.hash+uint64(id)) // to the ninth power: few tokens are likely
	}
	return row
}

// Commit implements model.Runner. A path that is not one of the last batch panics.
func (r *Runner) Commit(seq int, nodes []int) {
	s := r.seq(seq)
	parent := -1
	for k, i := range nodes {
		n := r.batch[i]
		if n.Seq != seq || n.Parent != parent || n.Pos != len(s.committed) {
			panic(fmt.Sprintf("commit of %v to sequence %d: element %d is %+v: not a path from the last committed token", nodes, seq, k, n))
		}
		s.committed = append(s.committed, r.node[i])
		parent = i
	}
	if len(s.committed) > s.reserved {
		panic(fmt.Sprintf("sequence %d has %d tokens, %d were reserved", seq, len(s.committed), s.reserved))
	}
}

// Len implements model.Runner.
func (r *Runner) Len(seq int) int { return len(r.seq(seq).committed) }

// Truncate implements model.Runner.
func (r *Runner) Truncate(seq, n int) {
	s := r.seq(seq)
	s.committed = s.committed[:n]
	if n == 0 {
		s.reserved = 0
	}
}

// Close implements model.Runner.
func (r *Runner) Close() error {
	if r.closed.Swap(true) {
		return errors.New("closed twice")
	}
	return nil
}

// Closed tells whether Close was called.
func (r *Runner) Closed() bool { return r.closed.Load() }

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit maps a word to [0, 1).
func unit(z uint64) float32 { return float32(mix(z)>>40) / (1 << 24) }
