package llama

import "testing"

// Every unit of work belongs to exactly one worker, for all shapes and thread counts.
func TestPlanCovers(t *testing.T) {
	shapes := map[string]params{
		"smollm2": {hidden: 576, heads: 9, kvHeads: 3, headDim: 64, ffn: 1536, vocab: 49152},
		"tiny":    {hidden: 64, heads: 4, kvHeads: 2, headDim: 16, ffn: 160, vocab: 512},
		"llama":   {hidden: 4096, heads: 32, kvHeads: 8, headDim: 128, ffn: 14336, vocab: 128256},
	}
	for name, p := range shapes {
		for n := 1; n <= 64; n++ {
			shares, _, _ := plan(p, n)
			cover := func(what string, units int, of func(share) part) {
				next := 0
				for i, s := range shares {
					if of(s).lo != next || of(s).hi < of(s).lo {
						t.Errorf("%s, %d workers: %s of worker %d is %v, want it to begin at %d", name, n, what, i, of(s), next)
					}
					next = of(s).hi
				}
				if next != units {
					t.Errorf("%s, %d workers: %d of %d %s are computed", name, n, next, units, what)
				}
			}
			cover("query heads", p.heads, func(s share) part { return s.q })
			cover("key heads", p.kvHeads, func(s share) part { return s.k })
			cover("value panels", p.kvHeads*p.headDim/16, func(s share) part { return s.v })
			cover("hidden chunks", (p.hidden+63)/64, func(s share) part { return s.hidden })
			cover("hidden panels", p.hidden/16, func(s share) part { return s.hiddenPanels })
			cover("gated groups", p.ffn/32, func(s share) part { return s.gated })
			coverChunks(t, name, n, "attention", shares, (p.heads*p.headDim+63)/64, func(s share) [2]part { return s.mix })
			coverChunks(t, name, n, "feed-forward", shares, (p.ffn+63)/64, func(s share) [2]part { return s.ffn })
			cover("vocabulary panels", p.vocab/16, func(s share) part { return s.vocab })
			const rows = 11
			seen := make([]int, p.heads*rows)
			for _, s := range shares {
				for h := s.attend.lo; h < s.attend.hi; h++ {
					for r := rows * s.rows.lo / s.of; r < rows*s.rows.hi/s.of; r++ {
						seen[h*rows+r]++
					}
				}
			}
			for i, c := range seen {
				if c != 1 {
					t.Fatalf("%s, %d workers: row %d of head %d is attended %d times", name, n, i%rows, i/rows, c)
				}
			}
		}
	}
}

// The projections of two workers of the model that everyone starts with are balanced.
func TestPlanBalance(t *testing.T) {
	shares, _, _ := plan(params{hidden: 576, heads: 9, kvHeads: 3, headDim: 64, ffn: 1536, vocab: 49152}, 2)
	for i, s := range shares {
		if got := 4*s.q.n() + 4*s.k.n() + s.v.n(); got != 30 {
			t.Errorf("worker %d projects %d panels, want 30: %+v", i, got, s)
		}
	}
}

func coverChunks(t *testing.T, name string, n int, what string, shares []share, chunks int, of func(share) [2]part) {
	t.Helper()
	seen := make([]int, chunks)
	for _, s := range shares {
		for _, p := range of(s) {
			for c := p.lo; c < p.hi; c++ {
				seen[c]++
			}
		}
	}
	for c, k := range seen {
		if k != 1 {
			t.Errorf("%s, %d workers: chunk %d of the %s output is packed %d times", name, n, c, what, k)
		}
	}
}
