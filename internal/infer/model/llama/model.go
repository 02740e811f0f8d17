// Package llama runs models of the Llama shape (Llama 2 and 3, SmolLM2, Mistral-like): grouped-query attention with
// rotary positions, gated feed-forward with SiLU, RMSNorm before both.
//
// It binds the tensors of a GGUF file, packs them for the kernels, and computes forward passes over flat batches of
// nodes on a team of workers. It knows nothing of text, sampling or speculation.
package llama

import (
	"errors"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kvcache"
	"treeline/internal/infer/model"
	"treeline/internal/infer/model/arena"
	"treeline/internal/infer/model/team"
)

const (
	// maxNodes is the largest batch. Larger prefills gain nothing: from 64 rows on the kernels are at their limit.
	maxNodes = 256
	// scratchSlots is the room for nodes on side branches of draft trees; every node of a batch may be one.
	scratchSlots = maxNodes
)

// Model is a model in memory with its keys and values. It implements model.Runner.
type Model struct {
	p    params
	dim  dims
	info model.Config
	set  *kernel.Set

	packed    arena.Block // all weights
	layers    []layer
	norm      []float32
	embedding matrix
	head      matrix
	rope      []float64 // radians per position, by pair of head elements
	ones      []float32

	team       *team.Team
	work       func(tid int)
	shares     []share
	mixAligned bool
	ffnAligned bool
	workers    []worker

	cache      *kvcache.Cache
	weightsLen int // row length of worker.weights: the longest sequence, padded
	block      arena.Block
	buf        buffers

	layout *layout
	limits limits
	tokens []int32
	tip    []int // per sequence: batch index of its last committed node
}

var _ model.Runner = (*Model)(nil)

// matrix is a packed weight matrix.
type matrix struct{ *kernel.Matrix }

// kindSet says which kinds of matrix read an activation.
type kindSet [4]bool

func (a matrix) kindSet() (s kindSet) {
	s[a.Kind] = true
	return s
}

type layer struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        matrix
	gateUp, down      matrix
	qkvKinds          kindSet
}

// Config implements model.Runner.
func (m *Model) Config() model.Config { return m.info }

// Close implements model.Runner.
func (m *Model) Close() error {
	if m.team != nil {
		m.team.Close()
	}
	return m.release()
}

// release gives the memory back.
func (m *Model) release() error {
	var errs []error
	if m.cache != nil {
		errs = append(errs, m.cache.Close())
	}
	errs = append(errs, m.block.Free(), m.packed.Free())
	return errors.Join(errs...)
}
