package llama

import (
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kvcache"
)

// place is where the key and value of a row lie: memory and slot in it.
func (m *Model) place(r *row, layer, head int) (kvcache.Head, int) {
	if r.slot >= 0 {
		return m.cache.ScratchHead(r.slot/kvcache.PageLen, layer, head), r.slot % kvcache.PageLen
	}
	return m.cache.PageHead(r.seq, r.pos/kvcache.PageLen, layer, head), r.pos % kvcache.PageLen
}

// attention computes the worker's heads of softmax(q k) v for all rows, to buf.mix.
//
// A row's weights lie in memory by absolute position and are summed in that order, wherever the keys come from, so a
// committed token, a node of a chain and a node of a tree give the same bits.
func (m *Model) attention(s *share, w *worker, l int) {
	group := m.p.heads / m.p.kvHeads
	for _, sp := range m.layout.spans {
		rows := m.layout.order[sp.lo:sp.hi]
		rows = rows[len(rows)*s.rows.lo/s.of : len(rows)*s.rows.hi/s.of]
		for h := s.attend.lo; h < s.attend.hi; {
			kv := h / group
			heads := part{h, min(s.attend.hi, (kv+1)*group)}
			m.attendGroup(w, sp, rows, l, kv, heads)
			h = heads.hi
		}
	}
}

// query is one row of a tile: a query head of a node.
type query struct{ row, head int }

// attendGroup handles query heads that share a key head. Nodes whose path lies in pages are taken four queries at a
// time, so that a key or value is loaded once for four; nodes on side branches one by one.
func (m *Model) attendGroup(w *worker, sp span, rows []int, l, kv int, heads part) {
	t := &w.tile
	for _, i := range rows {
		branch := m.layout.rows[i].slot >= 0
		if branch {
			m.attendTile(w, sp, l, kv)
		}
		for h := heads.lo; h < heads.hi; h++ {
			t.queries[t.n] = query{i, h}
			t.n++
			if t.n == kernel.QueryRows {
				m.attendTile(w, sp, l, kv)
			}
		}
		if branch {
			m.attendTile(w, sp, l, kv)
		}
	}
	m.attendTile(w, sp, l, kv)
}

// tile is up to kernel.QueryRows queries of one sequence and key head.
type tile struct {
	n       int
	queries [kernel.QueryRows]query
}

// attendTile computes the queries gathered in w.tile and empties it. Queries on a side branch all belong to one node.
func (m *Model) attendTile(w *worker, sp span, l, kv int) {
	t, hd := &w.tile, m.p.headDim
	if t.n == 0 {
		return
	}
	n := t.n
	t.n = 0
	pages, first := 0, &m.layout.rows[t.queries[0].row]
	for r, q := range t.queries[:n] {
		copy(w.q[r*hd:(r+1)*hd], m.buf.q[q.row*m.dim.heads+q.head*hd:])
		pages = max(pages, m.layout.rows[q.row].pages)
	}
	m.set.PackQuery(w.packedQ, w.q, hd, n, hd)
	for p := 0; p < pages; p += kvcache.PageLen {
		panels := (min(kvcache.PageLen, pages-p) + kernel.Panel - 1) / kernel.Panel
		k := m.cache.PageHead(first.seq, p/kvcache.PageLen, l, kv).K
		m.set.Scores(k, hd, panels, w.packedQ, n, w.weights[p:], m.weightsLen, w.sums)
	}
	branch := first.slot >= 0
	if branch {
		m.scoreBranch(w, sp, l, kv, n, t.queries[0].row)
	}

	padded := roundUp(pages, kernel.Panel)
	for r, q := range t.queries[:n] {
		weights, length := w.weights[r*m.weightsLen:][:m.weightsLen], m.layout.rows[q.row].pos+1
		m.set.Softmax(weights, length)
		if used := roundUp(length, kernel.Panel); used < padded {
			clear(weights[used:padded])
		}
	}
	if branch {
		m.cutBranch(w, n, t.queries[0].row)
	}
	out := w.out[:n*hd]
	clear(out)
	if padded > 0 {
		m.set.PackQuery(w.packedW, w.weights, m.weightsLen, n, padded)
	}
	for p := 0; p < padded; p += kvcache.PageLen {
		v := m.cache.PageHead(first.seq, p/kvcache.PageLen, l, kv).V
		m.set.Weighted(v, kvcache.PageLen, hd, min(kvcache.PageLen, padded-p), w.packedW[p*n*4:], n, out, hd, w.sums)
	}
	if branch {
		m.mixBranch(w, l, kv, n, t.queries[0].row, out)
	}
	for r, q := range t.queries[:n] {
		copy(m.buf.mix[q.row*m.dim.heads+q.head*hd:][:hd], out[r*hd:])
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
