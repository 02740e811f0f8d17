package llama

import (
	"fmt"

	"treeline/internal/infer/model"
)

// row is what a forward pass knows of one node.
type row struct {
	seq, pos int
	parent   int // batch index, or -1
	slot     int // scratch slot of its key and value; -1 when they lie in the page at pos
	pages    int // positions 0..pages-1 of its path are read from pages, the others from scratch slots
	out      int // row of the logits, or -1
}

// layout decides where the nodes of a batch go.
//
// Of the nodes that share a position of a sequence, the first whose ancestors all lie in pages goes into the page
// itself. So a chain (prefill, plain decoding) touches no scratch slot, and of a tree one branch does not. Nodes of
// the other branches go to scratch slots and read their last ancestors from there.
type layout struct {
	rows  []row
	order []int  // batch indices, grouped by sequence, in batch order within it
	spans []span // the groups
	wants int    // rows with logits

	next  []int // per sequence: position after the last one written to a page by this batch
	count []int // per sequence: number of nodes, then place in order
}

// span is one sequence's part of order, with its scratch slots [slot0, slot1).
type span struct{ lo, hi, slot0, slot1 int }

func newLayout(maxNodes, maxSeqs int) *layout {
	return &layout{
		rows:  make([]row, 0, maxNodes),
		order: make([]int, maxNodes),
		spans: make([]span, 0, maxSeqs),
		next:  make([]int, maxSeqs),
		count: make([]int, maxSeqs),
	}
}

// limits are the bounds of a valid batch.
type limits struct {
	nodes, vocab, maxLen int
	length, reserved     func(seq int) int // of the cache
}

// set checks a batch and lays it out. After an error the layout is empty.
func (l *layout) set(batch []model.Node, lim limits) error {
	l.rows, l.spans, l.wants = l.rows[:0], l.spans[:0], 0
	if err := l.check(batch, lim); err != nil {
		return err
	}
	for i := range l.count {
		l.count[i] = 0
	}
	for _, n := range batch {
		if l.count[n.Seq] == 0 {
			l.next[n.Seq] = lim.length(n.Seq)
		}
		l.count[n.Seq]++
		l.rows = append(l.rows, l.place(n))
	}
	l.group(batch)
	return nil
}

// check finds the first fault of a batch.
func (l *layout) check(batch []model.Node, lim limits) error {
	if len(batch) == 0 {
		return fmt.Errorf("forward: the batch is empty")
	}
	if len(batch) > lim.nodes {
		return fmt.Errorf("forward: %d nodes are more than one batch holds (%d): split it", len(batch), lim.nodes)
	}
	for i, n := range batch {
		if n.Seq < 0 || n.Seq >= len(l.count) {
			return fmt.Errorf("forward: node %d: sequence %d does not exist (0..%d do)", i, n.Seq, len(l.count)-1)
		}
		if n.Token < 0 || int(n.Token) >= lim.vocab {
			return fmt.Errorf("forward: node %d: token %d is outside the vocabulary of %d", i, n.Token, lim.vocab)
		}
		if n.Parent < -1 || n.Parent >= i {
			return fmt.Errorf("forward: node %d: parent %d does not come before it", i, n.Parent)
		}
		want := lim.length(n.Seq)
		if n.Parent >= 0 {
			p := batch[n.Parent]
			if p.Seq != n.Seq {
				return fmt.Errorf("forward: node %d of sequence %d: its parent %d is of sequence %d", i, n.Seq, n.Parent, p.Seq)
			}
			want = p.Pos + 1
		}
		if n.Pos != want {
			return fmt.Errorf("forward: node %d of sequence %d: position %d, want %d (its parent's plus one)", i, n.Seq, n.Pos, want)
		}
		if n.Pos >= lim.maxLen {
			return fmt.Errorf("forward: node %d: position %d is beyond the longest sequence of %d", i, n.Pos, lim.maxLen)
		}
		if n.Pos >= lim.reserved(n.Seq) {
			return fmt.Errorf("forward: node %d: position %d of sequence %d has no memory, %d positions are reserved: call Reserve first", i, n.Pos, n.Seq, lim.reserved(n.Seq))
		}
	}
	return nil
}

// place lays out one node; its parent has been placed.
func (l *layout) place(n model.Node) row {
	r := row{seq: n.Seq, pos: n.Pos, parent: n.Parent, slot: -1, pages: n.Pos, out: -1}
	if n.Want {
		r.out = l.wants
		l.wants++
	}
	if n.Parent >= 0 && l.rows[n.Parent].slot >= 0 {
		r.slot, r.pages = 0, l.rows[n.Parent].pages
	} else if n.Pos == l.next[n.Seq] {
		l.next[n.Seq], r.pages = n.Pos+1, n.Pos+1
	} else {
		r.slot = 0
	}
	return r
}

// group fills order and spans and numbers the scratch slots, sequence by sequence.
func (l *layout) group(batch []model.Node) {
	at, slots := 0, 0
	for seq, n := range l.count {
		if n > 0 {
			l.spans = append(l.spans, span{lo: at, hi: at + n})
		}
		l.count[seq] = at
		at += n
	}
	for i, n := range batch {
		l.order[l.count[n.Seq]] = i
		l.count[n.Seq]++
	}
	for k := range l.spans {
		s := &l.spans[k]
		s.slot0 = slots
		for _, i := range l.order[s.lo:s.hi] {
			if r := &l.rows[i]; r.slot >= 0 {
				r.slot = slots
				slots++
			}
		}
		s.slot1 = slots
	}
}
