// Package kvcache stores the keys and values of attention: pages of 64 positions per sequence, and scratch slots for
// draft tokens that share a position with another.
//
// A position of a sequence always lies at the same place of its page, so attention groups keys by absolute position
// whatever the history of the sequence. The package moves and counts memory; it computes nothing.
package kvcache

import (
	"fmt"

	"treeline/internal/infer/model/arena"
)

// PageLen is the number of positions of a page.
const PageLen = 64

// Shape is the size of one model's keys and values.
type Shape struct {
	Layers, KVHeads, HeadDim int // HeadDim is a multiple of 16
}

// headFloats is one (page, layer, head): its keys, then its values.
func (s Shape) headFloats() int { return 2 * PageLen * s.HeadDim }

// PageFloats is the number of float32 values of a page, over all layers and heads.
func (s Shape) PageFloats() int { return s.Layers * s.KVHeads * s.headFloats() }

// PageBytes is the memory of a page.
func (s Shape) PageBytes() int64 { return int64(s.PageFloats()) * 4 }

// Cache holds the pages of all sequences. It is used by one goroutine at a time, except that the memory of different
// heads may be written at once.
type Cache struct {
	shape   Shape
	maxLen  int
	block   arena.Block
	mem     []float32
	free    []int32 // unused pages; the last one is taken first
	seqs    []seqPages
	scratch []int32 // pages of the scratch slots
}

type seqPages struct {
	n     int     // committed positions
	pages []int32 // pages that cover what was reserved
}

// New makes a cache for seqs sequences of at most maxLen positions and for slots scratch slots, with no more than
// maxBytes of memory (0: as much as all sequences at full length need). Memory is touched only when used. It fails
// when maxBytes does not hold the scratch slots and one page.
func New(shape Shape, seqs, maxLen, slots int, maxBytes int64) (*Cache, error) {
	if shape.Layers < 1 || shape.KVHeads < 1 || shape.HeadDim < 16 || shape.HeadDim%16 != 0 {
		return nil, fmt.Errorf("kv cache: shape %+v: want at least one layer and head, and a head dimension that is a multiple of 16", shape)
	}
	if seqs < 1 || maxLen < 1 || slots < 0 {
		return nil, fmt.Errorf("kv cache: %d sequences of %d positions: want at least one of each", seqs, maxLen)
	}
	scratch, pages := pagesFor(slots), seqs*pagesFor(maxLen)
	if maxBytes > 0 {
		pages = min(pages, int(maxBytes/shape.PageBytes())-scratch)
		if pages < 1 {
			return nil, fmt.Errorf("kv cache: %d MiB do not hold %d scratch pages and one page of %d positions (%d KiB each): raise the memory limit",
				maxBytes>>20, scratch, PageLen, shape.PageBytes()>>10)
		}
	}
	block, err := arena.New((scratch + pages) * int(shape.PageBytes()))
	if err != nil {
		return nil, fmt.Errorf("kv cache: %w", err)
	}
	c := &Cache{shape: shape, maxLen: maxLen, block: block, mem: block.Float32s(), seqs: make([]seqPages, seqs)}
	for i := range scratch {
		c.scratch = append(c.scratch, int32(i))
	}
	c.free = make([]int32, 0, pages)
	for i := scratch + pages - 1; i >= scratch; i-- {
		c.free = append(c.free, int32(i))
	}
	for i := range c.seqs {
		c.seqs[i].pages = make([]int32, 0, pagesFor(maxLen))
	}
	return c, nil
}

func pagesFor(positions int) int { return (positions + PageLen - 1) / PageLen }

// Close gives the memory back.
func (c *Cache) Close() error {
	c.mem, c.free, c.seqs, c.scratch = nil, nil, nil, nil
	return c.block.Free()
}

// Seqs is the number of sequences.
func (c *Cache) Seqs() int { return len(c.seqs) }

// MaxLen is the longest sequence.
func (c *Cache) MaxLen() int { return c.maxLen }

// PageBytes is the memory of one page.
func (c *Cache) PageBytes() int64 { return c.shape.PageBytes() }

// FreePages is the number of pages that no sequence holds.
func (c *Cache) FreePages() int { return len(c.free) }

// Len is the number of committed positions of seq.
func (c *Cache) Len(seq int) int { return c.seqs[seq].n }

// Reserved is the number of positions that seq has memory for.
func (c *Cache) Reserved(seq int) int { return len(c.seqs[seq].pages) * PageLen }

// Reserve gives seq memory for positions 0..n-1. On failure nothing has changed.
func (c *Cache) Reserve(seq, n int) error {
	if seq < 0 || seq >= len(c.seqs) {
		return fmt.Errorf("kv cache: sequence %d does not exist (0..%d do)", seq, len(c.seqs)-1)
	}
	if n > c.maxLen {
		return fmt.Errorf("kv cache: sequence %d: %d positions are more than the longest sequence of %d", seq, n, c.maxLen)
	}
	s := &c.seqs[seq]
	missing := pagesFor(n) - len(s.pages)
	if missing > len(c.free) {
		return fmt.Errorf("kv cache: sequence %d needs %d more pages of %d positions for length %d, %d are free", seq, missing, PageLen, n, len(c.free))
	}
	for range missing {
		last := len(c.free) - 1
		s.pages = append(s.pages, c.free[last])
		c.free = c.free[:last]
	}
	return nil
}

// Truncate forgets all but the first n committed positions of seq. n = 0 also gives its pages back; otherwise they
// stay reserved. n above Len changes nothing.
func (c *Cache) Truncate(seq, n int) {
	s := &c.seqs[seq]
	s.n = min(s.n, max(n, 0))
	if n > 0 {
		return
	}
	for i := len(s.pages) - 1; i >= 0; i-- {
		c.free = append(c.free, s.pages[i])
	}
	s.pages = s.pages[:0]
}

// Advance commits the next n positions of seq, which were written and reserved before.
func (c *Cache) Advance(seq, n int) {
	s := &c.seqs[seq]
	if s.n+n > len(s.pages)*PageLen {
		panic(fmt.Sprintf("kvcache: invariant: commit of sequence %d to length %d beyond its %d pages", seq, s.n+n, len(s.pages)))
	}
	s.n += n
}
