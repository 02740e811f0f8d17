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

// ScratchFloats is the scratch memory of MatMul and MatMulGated, for any number of rows.
const ScratchFloats = 4 * (blockRows + 4) * Panel

// MatMul computes panels [p0,p1) of the product of m with packed activations (PackActs with m.Kind, the same rows).
// out is [rows] of ldo floats; output row j of the matrix goes to column j. The last panel is written whole, so ldo
// must be at least Rows rounded up to 16.
//
// The panels are walked in four streams a quarter of the range apart: four sequential reads at once bring 40 to 60 %
// more memory bandwidth than one.
func (s *Set) MatMul(m *Matrix, p0, p1 int, acts []byte, rows int, out []float32, ldo int, epi Epilogue, scratch []float32) {
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
	w := work{set: s, m: m, acts: acts, rows: rows, scratch: scratch}
	stride := Groups(m)
	for g := g0; g < g1; g++ {
		w.group(g, stride, 4, func(c *float32, cstride, row, rows int) {
			for p := range 2 {
				gate := unsafe.Pointer(uintptr(unsafe.Pointer(c)) + uintptr(p*cstride))
				up := unsafe.Add(gate, 2*cstride)
				for r := range rows {
					s.siluMul(&out[(row+r)*ldo+(g+p*stride)*Panel], Panel, (*float32)(unsafe.Add(gate, r*64)), (*float32)(unsafe.Add(up, r*64)))
				}
			}
		})
	}
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
	data := &w.m.Data[first*pb]
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
		call(data, step*pb, units, &w.acts[at*tileBytes], tiles*tileBytes, n, &c[0], np)
		done(&c[0], n*t*Panel*4, at*t, min(n*t, w.rows-at*t))
	}
}
