package llama

import (
	"math"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
)

// Forward implements model.Runner.
func (m *Model) Forward(batch []model.Node) error {
	if err := m.layout.set(batch, m.limits); err != nil {
		return err
	}
	for i := range m.tip {
		m.tip[i] = atCommitted
	}
	for i, n := range batch {
		m.tokens[i] = n.Token
	}
	m.team.Run(m.work)
	return nil
}

// forward is one worker's part of a pass. Every worker runs the same phases; a barrier separates the phases in which
// one reads what another wrote.
//
// The residual stream is divided by columns: the worker that adds to a column also squares and mostly also packs it, so
// of a layer's intermediate results little more than packed activations and sums of squares crosses between cores.
func (m *Model) forward(tid int) {
	s, w, n := &m.shares[tid], &m.workers[tid], len(m.layout.rows)
	m.embed(tid)
	m.team.Barrier(tid)
	for l := range m.layers {
		layer := &m.layers[l]
		m.normPack(s, w, m.buf.x, n, layer.attnNorm, layer.qkvKinds)
		m.project(s, w, l, n)
		m.team.Barrier(w.tid)
		m.attention(s, w, l)
		m.packShared(w, layer.o.Kind, m.buf.mix, m.dim.heads, n, s.mix, m.mixAligned)
		m.multiply(w, layer.o, m.buf.packed, n, s.hiddenPanels, m.buf.x, m.dim.hidden, kernel.Add)

		m.normPack(s, w, m.buf.x, n, layer.ffnNorm, layer.gateUp.kindSet())
		m.set.MatMulGated(layer.gateUp.Matrix, s.gated.lo, s.gated.hi, m.buf.normed[layer.gateUp.Kind], n, m.buf.act, m.dim.ffn, w.sums)
		m.packShared(w, layer.down.Kind, m.buf.act, m.dim.ffn, n, s.ffn, m.ffnAligned)
		m.multiply(w, layer.down, m.buf.packed, n, s.hiddenPanels, m.buf.x, m.dim.hidden, kernel.Add)
	}
	if wants := m.layout.wants; wants > 0 {
		m.gather(s)
		m.normPack(s, w, m.buf.last, wants, m.norm, m.head.kindSet())
		m.multiply(w, m.head, m.buf.normed[m.head.Kind], wants, s.vocab, m.buf.logits, m.dim.vocab, kernel.Store)
	}
}

// embed fills whole rows of the residual stream and their rotations, every worker some.
func (m *Model) embed(tid int) {
	for i := tid; i < len(m.layout.rows); i += len(m.shares) {
		m.embedding.Row(int(m.tokens[i]), m.buf.x[i*m.dim.hidden:][:m.p.hidden])
		m.rotate(i)
	}
}

// gather copies the worker's columns of the rows with logits to buf.last.
func (m *Model) gather(s *share) {
	lo, hi, h := s.hiddenPanels.lo*kernel.Panel, s.hiddenPanels.hi*kernel.Panel, m.dim.hidden
	for i := range m.layout.rows {
		if out := m.layout.rows[i].out; out >= 0 {
			copy(m.buf.last[out*h+lo:out*h+hi], m.buf.x[i*h+lo:i*h+hi])
		}
	}
}

// normPack scales rows to unit root mean square, multiplies by weight and packs them to buf.normed, once for every
// kind of matrix that reads them: y = x / sqrt(mean(x^2) + eps) * weight. Squares are summed per pair of panels and
// then over pairs in order, whoever computed them, so the sum does not depend on the number of workers. It ends with a
// barrier.
func (m *Model) normPack(s *share, w *worker, x []float32, n int, weight []float32, kinds kindSet) {
	h := m.dim.hidden
	for u := s.hiddenPanels.lo / 2; 2*u < s.hiddenPanels.hi; u++ {
		for i := range n {
			m.buf.squares[u*maxNodes+i] = m.set.SumSquares(x[i*h+u*2*kernel.Panel:][:2*kernel.Panel])
		}
	}
	m.team.Barrier(w.tid)
	if c := s.hidden.cols(); c.n() > 0 {
		for i := range n {
			sum := 0.0
			for u := range h / (2 * kernel.Panel) {
				sum += float64(m.buf.squares[u*maxNodes+i])
			}
			scale := float32(1 / math.Sqrt(sum/float64(m.p.hidden)+m.p.eps))
			m.set.ScaleMul(m.buf.scaled[i*h+c.lo:i*h+c.hi], x[i*h+c.lo:i*h+c.hi], weight[c.lo:c.hi], scale)
		}
		for k := range kinds {
			if kinds[k] {
				m.set.PackActs(kernel.Kind(k), m.buf.normed[k], m.buf.scaled, h, n, h, s.hidden.lo, s.hidden.hi, w.tmp)
			}
		}
	}
	m.team.Barrier(w.tid)
}

// packShared packs n rows of x to buf.packed and ends with a barrier. units are the worker's chunks, up to two runs of
// them; aligned says that it computed exactly their columns itself, otherwise a barrier comes first.
func (m *Model) packShared(w *worker, k kernel.Kind, x []float32, size, n int, units [2]part, aligned bool) {
	if !aligned {
		m.team.Barrier(w.tid)
	}
	for _, u := range units {
		m.set.PackActs(k, m.buf.packed, x, size, n, size, u.lo, u.hi, w.tmp)
	}
	m.team.Barrier(w.tid)
}

func (m *Model) multiply(w *worker, a matrix, acts []byte, n int, panels part, out []float32, ldo int, epi kernel.Epilogue) {
	m.set.MatMul(a.Matrix, panels.lo, panels.hi, acts, n, out, ldo, epi, w.sums)
}

// project computes the worker's query heads, key heads and value panels, rotates queries and keys by position, and
// puts keys and values where the layout says.
func (m *Model) project(s *share, w *worker, l, n int) {
	layer, hd := &m.layers[l], m.p.headDim
	per, q, kv := hd/kernel.Panel, m.dim.heads, m.dim.kvHeads
	m.multiply(w, layer.q, m.buf.normed[layer.q.Kind], n, part{s.q.lo * per, s.q.hi * per}, m.buf.q, q, kernel.Store)
	m.multiply(w, layer.k, m.buf.normed[layer.k.Kind], n, part{s.k.lo * per, s.k.hi * per}, m.buf.k, kv, kernel.Store)
	m.multiply(w, layer.v, m.buf.normed[layer.v.Kind], n, s.v, m.buf.v, kv, kernel.Store)
	scale := float32(1 / math.Sqrt(float64(hd)))
	for i := range n {
		r := &m.layout.rows[i]
		cos, sin := m.rotation(i)
		for h := s.q.lo; h < s.q.hi; h++ {
			m.set.Rope(m.buf.q[i*q+h*hd:][:hd], cos, sin)
		}
		if own := m.buf.q[i*q+s.q.lo*hd : i*q+s.q.hi*hd]; len(own) > 0 {
			m.set.ScaleMul(own, own, m.ones[:len(own)], scale)
		}
		for h := s.k.lo; h < s.k.hi; h++ {
			key := m.buf.k[i*kv+h*hd:][:hd]
			m.set.Rope(key, cos, sin)
			to, slot := m.place(r, l, h)
			to.PutKey(slot, key)
		}
		for p := s.v.lo; p < s.v.hi; p++ {
			to, slot := m.place(r, l, p/per)
			to.PutValue(slot, p%per*kernel.Panel, m.buf.v[i*kv+p*kernel.Panel:][:kernel.Panel])
		}
	}
}
