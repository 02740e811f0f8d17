package kernel

import (
	"fmt"
	"unsafe"
)

// SumSquares is the sum of x[i]^2, len(x) a multiple of 16: 16 lanes by index mod 16, folded in halves. A caller that
// divides columns among threads takes one sum per chunk and adds those in order, so that the division does not show.
func (s *Set) SumSquares(x []float32) float32 {
	if !(len(x) > 0 && len(x)%Panel == 0) {
		misfit("SumSquares", len(x))
	}
	return s.sumSquares(&x[0], len(x))
}

// ScaleMul sets dst[i] = x[i] * scale * w[i] (RMSNorm once the scale is known); lengths are a multiple of 16.
func (s *Set) ScaleMul(dst, x, w []float32, scale float32) {
	n := len(dst)
	if !(n > 0 && n%Panel == 0 && len(x) >= n && len(w) >= n) {
		misfit("ScaleMul", n, len(x), len(w))
	}
	s.scaleMul(&dst[0], &x[0], &w[0], n, scale)
}

// Rope rotates a head vector: element i with element i + len/2 by the angle whose cosine and sine are given (the
// half-split form of Hugging Face checkpoints). GGUF's llama files order the rows of queries and keys for RopePairs.
func (s *Set) Rope(v, cos, sin []float32) {
	half := len(v) / 2
	if !(half > 0 && len(cos) >= half && len(sin) >= half) {
		misfit("Rope", len(v), len(cos), len(sin))
	}
	if half%s.ropeStep != 0 {
		ropeGo(&v[0], &cos[0], &sin[0], half)
		return
	}
	s.rope(&v[0], &cos[0], &sin[0], half)
}

// RopePairs rotates element 2i with element 2i+1 by the angle whose cosine and sine are element i.
func (s *Set) RopePairs(v, cos, sin []float32) {
	half := len(v) / 2
	if !(half > 0 && len(cos) >= half && len(sin) >= half) {
		misfit("RopePairs", len(v), len(cos), len(sin))
	}
	if half%8 != 0 {
		ropePairsGo(&v[0], &cos[0], &sin[0], half)
		return
	}
	s.ropePairs(&v[0], &cos[0], &sin[0], half)
}

// SiluMul sets dst[i] = gate[i] / (1 + e^-gate[i]) * up[i]; lengths are a multiple of 16. MatMulGated does the same to
// its sums.
func (s *Set) SiluMul(dst, gate, up []float32) {
	n := len(dst)
	if !(n > 0 && n%Panel == 0 && len(gate) >= n && len(up) >= n) {
		misfit("SiluMul", n, len(gate), len(up))
	}
	s.siluMul(&dst[0], Panel*4, &gate[0], &up[0], n/Panel)
}

// Softmax normalises x[:n] in place; x has room up to the next multiple of 16 and its values beyond n become zero.
// The order of the sum depends on the index only, which is the absolute position.
func (s *Set) Softmax(x []float32, n int) {
	padded := ceil(n, 16) * 16
	if !(n > 0 && len(x) >= padded) {
		misfit("Softmax", n, len(x))
	}
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
	if !(rows > 0 && rows <= QueryRows && n > 0 && n%Panel == 0 && len(x) >= (rows-1)*ldx+n && len(dst) >= rows*n*4) {
		misfit("PackQuery", rows, n, ldx, len(x), len(dst))
	}
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
	if !(panels > 0 && panels <= 4 && headDim%Panel == 0 && len(k) >= panels*headDim*Panel && len(q) >= rows*headDim*4 &&
		len(out) >= (rows-1)*ldo+panels*Panel) {
		misfit("Scores", headDim, panels, rows, len(k), len(q), len(out))
	}
	c := scratch[:panels*rows*Panel]
	clear(c)
	s.attend(k, headDim*Panel, headDim/16, q, rows, panels, c)
	s.store(&out[0], ldo*4, Panel*4, &c[0], rows*Panel*4, rows, panels, 0)
}

// Weighted adds probability times value over n positions (a multiple of 16) to out[r*ldo+d], positions in order:
// v is [headDim/16][vlen positions][16], p packed by PackQuery. A long sum may be made in several calls, one per page,
// with the bits of a single one: the sum goes on from what out holds.
func (s *Set) Weighted(v []float32, vlen, headDim, n int, p []byte, rows int, out []float32, ldo int, scratch []float32) {
	if !(headDim%Panel == 0 && n > 0 && n%Panel == 0 && n <= vlen && len(v) >= headDim*vlen-(vlen-n)*Panel && len(p) >= rows*n*4 &&
		len(out) >= (rows-1)*ldo+headDim) {
		misfit("Weighted", headDim, n, vlen, rows, len(v), len(p), len(out))
	}
	for d := 0; d < headDim; d += 4 * Panel {
		panels := min(4, (headDim-d)/Panel)
		c := scratch[:panels*rows*Panel]
		for p := range panels {
			for r := range rows {
				*(*[Panel]float32)(c[(p*rows+r)*Panel:]) = [Panel]float32(out[r*ldo+d+p*Panel:])
			}
		}
		s.attend(v[d*vlen:], vlen*Panel, n/16, p, rows, panels, c)
		s.store(&out[d], ldo*4, Panel*4, &c[0], rows*Panel*4, rows, panels, 0)
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

// misfit reports operands of a call that do not fit each other: assembly would read or write beyond them.
func misfit(call string, sizes ...int) {
	panic(fmt.Sprintf("kernel: %s: the operands do not fit each other: %v", call, sizes))
}

// Pause waits about n*20 ns without giving up the core, for spin barriers.
func Pause(n int) { pause(n) }
