package kernel

import "unsafe"

// SumSquares is the sum of x[i]^2, len(x) a multiple of 16: 16 lanes by index mod 16, folded in halves.
func (s *Set) SumSquares(x []float32) float32 { return s.sumSquares(&x[0], len(x)) }

// ScaleMul sets dst[i] = x[i] * scale * w[i] (RMSNorm once the scale is known); lengths are a multiple of 16.
func (s *Set) ScaleMul(dst, x, w []float32, scale float32) {
	s.scaleMul(&dst[0], &x[0], &w[0], len(dst), scale)
}

// Rope rotates a head vector: element i with element i + len/2 by the angle whose cosine and sine are given (the
// half-split form of Hugging Face checkpoints; GGUF's llama files need their rows put back in that order first).
func (s *Set) Rope(v, cos, sin []float32) {
	half := len(v) / 2
	if half%s.ropeStep != 0 {
		ropeGo(&v[0], &cos[0], &sin[0], half)
		return
	}
	s.rope(&v[0], &cos[0], &sin[0], half)
}

// Softmax normalises x[:n] in place; x has room up to the next multiple of 16 and its values beyond n become zero.
// The order of the sum depends on the index only, which is the absolute position.
func (s *Set) Softmax(x []float32, n int) {
	padded := ceil(n, 16) * 16
	for i := n; i < padded; i++ {
		x[i] = -1e30
	}
	s.softmax(&x[0], padded)
	clear(x[n:padded])
}

// QueryRows is the most rows that PackQuery, Scores and Weighted take at once.
const QueryRows = 4

// QueryScratch is the scratch memory of Scores and Weighted, in floats.
const QueryScratch = QueryRows * 4 * Panel

// QueryBytes is the memory of PackQuery for rows of n floats, n a multiple of 16.
func QueryBytes(n int) int { return QueryRows * n * 4 }

// PackQuery orders rows (1 to QueryRows) of n floats, ldx apart, for Scores (query heads, n = head dimension) and
// Weighted (probabilities, n = positions). n is a multiple of 16.
func (s *Set) PackQuery(dst []byte, x []float32, ldx, rows, n int) {
	t := s.tile(rows)
	tiles := ceil(rows, t)
	for tile := range tiles {
		d, first := unsafe.Pointer(&dst[tile*t*64]), x[tile*t*ldx:]
		if t == 1 {
			s.records(F32, d, tiles*64, first, n/16)
			continue
		}
		s.interleave(t, d, tiles*t*64, unsafe.Pointer(&first[0]), ldx*4, 64, n/16, 64)
	}
}

// Scores computes the dot products of packed queries with panels (1 to 4) of 16 keys: k is [panels][headDim][16 keys].
// out[r*ldo+i] is query r with key i; scratch holds
// QueryScratch floats.
func (s *Set) Scores(k []float32, headDim, panels int, q []byte, rows int, out []float32, ldo int, scratch []float32) {
	c := scratch[:panels*rows*Panel]
	clear(c)
	s.attend(k, headDim*Panel, headDim/16, q, rows, panels, c)
	for p := range panels {
		for r := range rows {
			copy(out[r*ldo+p*Panel:][:Panel], c[(p*rows+r)*Panel:])
		}
	}
}

// Weighted adds probability times value over n positions (a multiple of 16) to out[r*ldo+d], positions in order:
// v is [headDim/16][vlen positions][16], p packed by PackQuery. A long sum may be made in several calls, one per page,
// with the bits of a single one: the sum goes on from what out holds.
func (s *Set) Weighted(v []float32, vlen, headDim, n int, p []byte, rows int, out []float32, ldo int, scratch []float32) {
	for d := 0; d < headDim; d += 4 * Panel {
		panels := min(4, (headDim-d)/Panel)
		c := scratch[:panels*rows*Panel]
		for p := range panels {
			for r := range rows {
				copy(c[(p*rows+r)*Panel:][:Panel], out[r*ldo+d+p*Panel:])
			}
		}
		s.attend(v[d*vlen:], vlen*Panel, n/16, p, rows, panels, c)
		for p := range panels {
			for r := range rows {
				copy(out[r*ldo+d+p*Panel:][:Panel], c[(p*rows+r)*Panel:])
			}
		}
	}
}

// attend adds the product of float panels (stride floats apart) and packed rows to c, [panels][rows][16].
func (s *Set) attend(w []float32, stride, units int, a []byte, rows, panels int, c []float32) {
	t := s.tile(rows)
	f := s.gemm[F32][t]
	tiles := ceil(rows, t)
	run := func(call gemm, p, np int) {
		call((*byte)(unsafe.Pointer(&w[p*stride])), stride*4, units, &a[0], tiles*t*64, tiles, &c[p*rows*Panel], np)
	}
	switch panels {
	case 4:
		run(f.p4, 0, 4)
	case 3:
		run(f.p2, 0, 2)
		run(f.p1, 2, 1)
	case 2:
		run(f.p2, 0, 2)
	case 1:
		run(f.p1, 0, 1)
	}
}

// Pause waits about n*20 ns without giving up the core, for spin barriers.
func Pause(n int) { pause(n) }
