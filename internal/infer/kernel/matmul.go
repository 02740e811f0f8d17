package kernel

import "unsafe"

// Epilogue says what MatMul does with its result.
type Epilogue int

// The epilogues.
const (
	Store Epilogue = iota // out = W x
	Add                   // out += W x
)

// blockRows is how many rows share one pass over the weights: their sums stay in the first-level cache.
const blockRows = 64

// callWork is the most multiply-adds of one call of assembly. A goroutine cannot be preempted inside it, and a stop of
// the world waits for the last one: 2^21 take 10 to 50 us.
const callWork = 1 << 21

// ScratchFloats is the scratch memory of MatMul and MatMulGated, for any number of rows.
const ScratchFloats = 4 * (blockRows + 4) * Panel

// MatMul computes panels [p0,p1) of the product of m with packed activations (PackActs with m.Kind, the same rows).
// out is [rows] of ldo floats; output row j of the matrix goes to column j. The last panel is written whole, so ldo
// must be at least Rows rounded up to 16.
//
// The panels are walked in four streams a quarter of the range apart: four sequential reads at once bring 40 to 60 %
// more memory bandwidth than one.
func (s *Set) MatMul(m *Matrix, p0, p1 int, acts []byte, rows int, out []float32, ldo int, epi Epilogue, scratch []float32) {
	if p1 <= p0 {
		return
	}
	if !(p0 >= 0 && p1 <= m.Panels() && s.fits(m, acts, rows, scratch) && len(out) >= (rows-1)*ldo+p1*Panel) {
		misfit("MatMul", p0, p1, rows, ldo, len(acts), len(out), len(scratch))
	}
	w := work{set: s, m: m, acts: acts, rows: rows, scratch: scratch}
	n := p1 - p0
	streams := n / 4
	for g := range streams {
		w.group(p0+g, streams, 4, func(c *float32, cstride, row, rows int) {
			s.store(&out[row*ldo+(p0+g)*Panel], ldo*4, streams*Panel*4, c, cstride, rows, 4, int(epi))
		})
	}
	for p := p0 + 4*streams; p < p1; {
		np := min(2, p1-p)
		w.group(p, 1, np, func(c *float32, cstride, row, rows int) {
			s.store(&out[row*ldo+p*Panel], ldo*4, Panel*4, c, cstride, rows, np, int(epi))
		})
		p += np
	}
}

// MatMulGated computes groups [g0,g1) of silu(gate x) * (up x) for a matrix whose first half of panels is the gate and
// whose second half is the up projection (GatedRows each). A group is two output panels, g and g + Groups(m); out is
// [rows] of ldo floats, ldo at least GatedRows(m).
func (s *Set) MatMulGated(m *Matrix, g0, g1 int, acts []byte, rows int, out []float32, ldo int, scratch []float32) {
	if g1 <= g0 {
		return
	}
	stride := Groups(m)
	if !(g0 >= 0 && g1 <= stride && s.fits(m, acts, rows, scratch) && len(out) >= (rows-1)*ldo+(g1+stride)*Panel) {
		misfit("MatMulGated", g0, g1, rows, ldo, len(acts), len(out), len(scratch))
	}
	w := work{set: s, m: m, acts: acts, rows: rows, scratch: scratch}
	for g := g0; g < g1; g++ {
		w.group(g, stride, 4, func(c *float32, cstride, row, rows int) {
			for p := range 2 {
				gate := unsafe.Add(unsafe.Pointer(c), p*cstride)
				up := unsafe.Add(gate, 2*cstride)
				s.siluMul(&out[row*ldo+(g+p*stride)*Panel], ldo*4, (*float32)(gate), (*float32)(up), rows)
			}
		})
	}
}

// fits reports whether the operands of a product have the sizes that the kernels will touch.
func (s *Set) fits(m *Matrix, acts []byte, rows int, scratch []float32) bool {
	return rows > 0 && len(m.Data) >= m.Panels()*m.panelBytes() && len(acts) >= s.ActBytes(m.Kind, rows, m.Cols) && len(scratch) >= ScratchFloats
}

// Groups is the number of groups of a gated matrix.
func Groups(m *Matrix) int { return m.Panels() / 4 }

// GatedRows is the number of rows that the gate and the up projection each take in a gated matrix: n rounded up to
// whole groups.
func GatedRows(n int) int { return ceil(n, 2*Panel) * 2 * Panel }

// work is a product in progress.
type work struct {
	set     *Set
	m       *Matrix
	acts    []byte
	rows    int
	scratch []float32
}

// group computes np panels (first, first+step, ...) for all rows, a block of rows at a time, and hands each block's
// sums to done: c is [np panels, cstride bytes apart][rows][16].
func (w *work) group(first, step, np int, done func(c *float32, cstride, row, rows int)) {
	k, t := w.m.Kind, w.set.tile(w.rows)
	tiles, tileBytes := ceil(w.rows, t), t*w.set.record(k)
	units := w.m.Chunks() * (Chunk / k.unit())
	pb := w.m.panelBytes()
	data, unitBytes := w.m.Data[first*pb:], k.ChunkBytes()*k.unit()/Chunk
	for at := 0; at < tiles; at += blockRows / t {
		n := min(blockRows/t, tiles-at)
		c := w.scratch[:np*n*t*Panel]
		clear(c)
		f := w.set.gemm[k][t]
		call := f.p4
		switch np {
		case 2:
			call = f.p2
		case 1:
			call = f.p1
		}
		// Sums go on from call to call, so a cut between units costs nothing and does not show in the bits.
		most := max(1, callWork/(np*n*t*Panel*k.unit()))
		for u := 0; u < units; u += most {
			call(&data[u*unitBytes], step*pb, min(most, units-u), &w.acts[(u*tiles+at)*tileBytes], tiles*tileBytes, n, &c[0], np)
		}
		done(&c[0], n*t*Panel*4, at*t, min(n*t, w.rows-at*t))
	}
}
