package kvcache

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var tiny = Shape{Layers: 2, KVHeads: 3, HeadDim: 32}

func newCache(t rapid.TB, seqs, maxLen, slots int, maxBytes int64) *Cache {
	c, err := New(tiny, seqs, maxLen, slots, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name     string
		shape    Shape
		seqs     int
		maxLen   int
		maxBytes int64
		want     string
	}{
		{"head dimension", Shape{1, 1, 24}, 1, 64, 0, "multiple of 16"},
		{"no layers", Shape{0, 1, 16}, 1, 64, 0, "at least one layer"},
		{"no sequences", tiny, 0, 64, 0, "at least one of each"},
		{"no memory", tiny, 1, 64, tiny.PageBytes(), "raise the memory limit"},
	} {
		_, err := New(tc.shape, tc.seqs, tc.maxLen, 4, tc.maxBytes)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func TestReserveAndTruncate(t *testing.T) {
	c := newCache(t, 3, 200, 10, 6*tiny.PageBytes()) // one scratch page, five for sequences
	defer c.Close()
	steps := []struct {
		seq, n     int
		fails      string
		free, room int
	}{
		{0, 1, "", 4, 64},
		{0, 64, "", 4, 64},
		{0, 65, "", 3, 128},
		{1, 200, "3 are free", 3, 0},
		{1, 190, "", 0, 192},
		{2, 1, "0 are free", 0, 0},
		{1, 201, "longest sequence of 200", 0, 192},
		{7, 1, "does not exist", 0, 0},
		{-1, 1, "does not exist", 0, 0},
	}
	for i, s := range steps {
		err := c.Reserve(s.seq, s.n)
		if (err != nil) != (s.fails != "") || err != nil && !strings.Contains(err.Error(), s.fails) {
			t.Errorf("step %d: got error %v, want %q", i, err, s.fails)
		}
		if c.FreePages() != s.free {
			t.Errorf("step %d: %d pages are free, want %d", i, c.FreePages(), s.free)
		}
		if s.seq >= 0 && s.seq < 3 && c.Reserved(s.seq) != s.room {
			t.Errorf("step %d: room for %d positions, want %d", i, c.Reserved(s.seq), s.room)
		}
	}
	c.Advance(1, 150)
	c.Truncate(1, 70)
	if c.Len(1) != 70 || c.FreePages() != 0 {
		t.Errorf("after Truncate to 70: length %d, %d free pages, want 70 and 0", c.Len(1), c.FreePages())
	}
	c.Truncate(1, 100)
	if c.Len(1) != 70 {
		t.Errorf("Truncate above the length: got %d, want 70", c.Len(1))
	}
	c.Truncate(1, 0)
	if c.Len(1) != 0 || c.FreePages() != 3 || c.Reserved(1) != 0 {
		t.Errorf("after Truncate to 0: length %d, %d free pages, %d reserved, want 0, 3, 0", c.Len(1), c.FreePages(), c.Reserved(1))
	}
}

// What is written to a position of a sequence is read back from it, whatever other sequences do, and Keep moves a
// scratch slot to a position.
func TestMemoryIsPrivate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCache(t, 3, 256, 80, 0)
		defer c.Close()
		type place struct{ seq, pos, layer, head int }
		want := map[place]float32{}
		vec := func(x float32) []float32 {
			v := make([]float32, tiny.HeadDim)
			for i := range v {
				v[i] = x + float32(i)/64
			}
			return v
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "writes") {
			seq := rapid.IntRange(0, 2).Draw(t, "seq")
			pos := rapid.IntRange(0, 255).Draw(t, "pos")
			if err := c.Reserve(seq, pos+1); err != nil {
				t.Fatal(err)
			}
			keep := rapid.Bool().Draw(t, "keep")
			slot := rapid.IntRange(0, 79).Draw(t, "slot")
			for l := range tiny.Layers {
				for h := range tiny.KVHeads {
					x := float32(1000*i + 10*l + h)
					to, at := c.PageHead(seq, pos/PageLen, l, h), pos%PageLen
					if keep {
						to, at = c.ScratchHead(slot/PageLen, l, h), slot%PageLen
					}
					to.PutKey(at, vec(x))
					to.PutValue(at, 0, vec(-x)[:16])
					to.PutValue(at, 16, vec(-x)[16:])
					want[place{seq, pos, l, h}] = x
				}
			}
			if keep {
				c.Keep(seq, pos, slot)
			}
		}
		got := make([]float32, tiny.HeadDim)
		for p, x := range want {
			h := c.PageHead(p.seq, p.pos/PageLen, p.layer, p.head)
			h.Value(p.pos%PageLen, got)
			for d := range got {
				s := p.pos % PageLen
				if k := h.K[(s/16*tiny.HeadDim+d)*16+s%16]; k != vec(x)[d] || got[d] != vec(-x)[d] {
					t.Fatalf("%+v element %d: key %v, value %v, want %v and %v", p, d, k, got[d], vec(x)[d], vec(-x)[d])
				}
			}
		}
	})
}
