package llama

import (
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kvcache"
)

// The path of a node on a side branch lies in pages up to a point and in scratch slots from there. Its weights are put
// into the same array by absolute position, and its last values are added after the pages' in path order. Sums are
// sequential and a weight of zero adds nothing, so the bits are those of a path that lies in pages as a whole.

// path returns the scratch slots of the last ancestors of node i and of itself, in path order.
func (m *Model) path(w *worker, i int) []int {
	last := &m.layout.rows[i]
	slots := w.path[:last.pos+1-last.pages]
	for k := len(slots) - 1; k >= 0; k-- {
		slots[k] = m.layout.rows[i].slot
		i = m.layout.rows[i].parent
	}
	return slots
}

// scoreBranch adds the scores of node i's path in scratch slots to the weights of its n queries.
func (m *Model) scoreBranch(w *worker, sp span, l, kv, n, i int) {
	hd, from := m.p.headDim, roundUp(sp.slot0+1, kernel.Panel)-kernel.Panel
	for slot := from; slot < sp.slot1; slot += kernel.Panel {
		k := m.cache.ScratchHead(slot/kvcache.PageLen, l, kv).K[slot%kvcache.PageLen*hd:]
		m.set.Scores(k, hd, 1, w.packedQ, n, w.slots[slot:], scratchSlots, w.sums)
	}
	for k, slot := range m.path(w, i) {
		for r := range n {
			w.weights[r*m.weightsLen+m.layout.rows[i].pages+k] = w.slots[r*scratchSlots+slot]
		}
	}
}

// cutBranch moves the weights of node i's path in scratch slots out of the rows, so that the rows hold those of pages.
func (m *Model) cutBranch(w *worker, n, i int) {
	last := &m.layout.rows[i]
	k := last.pos + 1 - last.pages
	for r := range n {
		weights, branch := w.weights[r*m.weightsLen+last.pages:][:k], w.branchWeights[r*scratchSlots:]
		copy(branch, weights)
		clear(branch[k:roundUp(k, kernel.Panel)])
		clear(weights)
	}
}

// mixBranch adds the weighted values of node i's path in scratch slots to out.
func (m *Model) mixBranch(w *worker, l, kv, n, i int, out []float32) {
	hd, slots := m.p.headDim, m.path(w, i)
	size := roundUp(len(slots), kernel.Panel)
	for k, slot := range slots {
		v := m.cache.ScratchHead(slot/kvcache.PageLen, l, kv).V
		for d := 0; d < hd; d += kernel.Panel {
			copy(w.branchValues[(d/kernel.Panel*size+k)*kernel.Panel:][:kernel.Panel], v[(d/kernel.Panel*kvcache.PageLen+slot%kvcache.PageLen)*kernel.Panel:])
		}
	}
	m.set.PackQuery(w.packedW, w.branchWeights, scratchSlots, n, size)
	m.set.Weighted(w.branchValues, size, hd, size, w.packedW, n, out, hd, w.sums)
}
