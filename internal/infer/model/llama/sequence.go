package llama

import (
	"fmt"
)

// MaxSeqs implements model.Runner.
func (m *Model) MaxSeqs() int { return m.cache.Seqs() }

// MaxNodes implements model.Runner.
func (m *Model) MaxNodes() int { return maxNodes }

// MaxLen implements model.Runner.
func (m *Model) MaxLen() int { return m.cache.MaxLen() }

// Len implements model.Runner.
func (m *Model) Len(seq int) int { return m.cache.Len(seq) }

// Reserve implements model.Runner.
func (m *Model) Reserve(seq, n int) error {
	if n > m.cache.MaxLen() {
		return m.cache.Reserve(seq, n) // says what is wrong
	}
	return m.cache.Reserve(seq, min(n+maxNodes, m.cache.MaxLen()))
}

// Truncate implements model.Runner.
func (m *Model) Truncate(seq, n int) {
	if n < m.cache.Len(seq) {
		m.tip[seq] = forgotten
	}
	m.cache.Truncate(seq, n)
}

// Values of Model.tip, the batch index of the last committed node of a sequence.
const (
	atCommitted = -1 // nothing of this batch is committed yet
	forgotten   = -2 // the sequence has gone back; nothing of this batch can be committed
)

// Commit implements model.Runner. It panics when path is not a path that begins at the sequence's last committed token:
// the caller has lost track of the sequence, and its text would no longer be what the cache holds.
func (m *Model) Commit(seq int, path []int) {
	for _, i := range path {
		if i < 0 || i >= len(m.layout.rows) {
			panic(fmt.Sprintf("llama: invariant: commit of node %d of a batch of %d", i, len(m.layout.rows)))
		}
		r := &m.layout.rows[i]
		if r.seq != seq || r.parent != m.tip[seq] || r.pos != m.cache.Len(seq) {
			panic(fmt.Sprintf("llama: invariant: commit of node %d (sequence %d, position %d, parent %d) to sequence %d of length %d after node %d",
				i, r.seq, r.pos, r.parent, seq, m.cache.Len(seq), m.tip[seq]))
		}
		if r.slot >= 0 {
			m.cache.Keep(seq, r.pos, r.slot)
		}
		m.cache.Advance(seq, 1)
		m.tip[seq] = i
	}
}

// Logits implements model.Runner.
func (m *Model) Logits(i int) []float32 {
	out := m.layout.rows[i].out
	if out < 0 {
		return nil
	}
	return m.buf.logits[out*m.p.vocab : (out+1)*m.p.vocab : (out+1)*m.p.vocab]
}
