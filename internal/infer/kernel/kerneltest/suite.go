package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"treeline/internal/infer/kernel"
)

// Run holds sets to the definition, bit for bit.
func Run(t *testing.T, sets ...*kernel.Set) {
	t.Run("MatMul", func(t *testing.T) { matMul(t, sets) })
	for _, s := range sets {
		t.Run(s.Name, func(t *testing.T) {
			t.Run("MatMulGated", func(t *testing.T) { gated(t, s) })
			t.Run("PackActs", func(t *testing.T) { packInParts(t, s) })
			t.Run("Ops", func(t *testing.T) { ops(t, s) })
			t.Run("Softmax", func(t *testing.T) { softmaxes(t, s) })
			t.Run("Attention", func(t *testing.T) { attention(t, s) })
		})
	}
}

// shapes are matrices: whole and odd numbers of panels, columns of real models and odd tails.
func shapes(k kernel.Kind) [][2]int {
	tail := 96
	if !k.Integer() {
		tail = 83
	}
	return [][2]int{{16, 64}, {40, 128}, {112, tail}, {112, 576}, {52, 1536}}
}

// batches are numbers of rows, up to the largest.
var batches = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64, 66}

// matMul: the definition decides about one large batch in a few places; that batch, computed by the plain Go set one
// row at a time, decides about every size of batch and every range of panels.
func matMul(t *testing.T, sets []*kernel.Set) {
	for _, k := range Kinds {
		for i, shape := range shapes(k) {
			for _, st := range []style{uniform, extreme, zero} {
				if st == zero && i > 0 {
					continue
				}
				name := fmt.Sprintf("kind=%s/rows=%d/cols=%d/style=%d", k, shape[0], shape[1], st)
				t.Run(name, func(t *testing.T) { products(t, sets, newWeights(k, shape[0], shape[1], uint64(i), st), st) })
			}
		}
	}
}

func products(t *testing.T, sets []*kernel.Set, w *weights, st style) {
	rng := rand.New(rand.NewPCG(9, 9))
	most := batches[len(batches)-1]
	if w.cols > 1000 {
		most = 17
	}
	c := newCase(t, w, most, st)
	c.checkDefinition(t, rng)
	for _, s := range sets {
		for _, rows := range batches {
			slow := s.Name == kernel.Sets()[0].Name && rows > 3 // it made what is expected
			if rows <= most && (!slow || rows == 17) {
				c.compare(t, s, rows, rng)
			}
		}
	}
}

// productCase is a matrix with activations and the product that every set must give.
type productCase struct {
	w    *weights
	m    *kernel.Matrix
	ld   int       // floats from row to row of x
	x    []float32 // padded with values that must not matter
	ldo  int
	want []float32
}

func newCase(t *testing.T, w *weights, rows int, st style) *productCase {
	m := w.pack(t)
	// Right before a page that faults: nothing may be read behind a matrix.
	data := fence[byte](t, len(m.Data), false)
	copy(data, m.Data)
	c := &productCase{w: w, m: &kernel.Matrix{Kind: w.kind, Rows: w.rows, Cols: w.cols, Data: data}}
	c.ld, c.ldo = m.Chunks()*kernel.Chunk, m.Panels()*kernel.Panel
	c.x = fence[float32](t, rows*c.ld, false)
	copy(c.x, Normal(3, rows*c.ld))
	for i := range c.x {
		switch {
		case st == extreme && i%c.ld < w.cols: // the full int8 range, mostly of one sign
			c.x[i] = []float32{1, 1, 1, -1}[i*7%4]
		case i%97 == 0:
			c.x[i] *= 1000 // outliers
		case i/32%5 == 0:
			c.x[i] = 0 // blocks of zeros
		case i/32%7 == 0:
			c.x[i] *= 1e-37 // blocks on both sides of what counts as zero
		}
	}
	plain := kernel.Sets()[0]
	scratch := make([]float32, kernel.ScratchFloats)
	c.want = make([]float32, rows*c.ldo)
	for r := range rows {
		plain.MatMul(m, 0, m.Panels(), Pack(plain, w.kind, c.x[r*c.ld:][:c.ld], c.ld, 1, w.cols), 1, c.want[r*c.ldo:], c.ldo, kernel.Store, scratch)
	}
	return c
}

// checkDefinition compares the expected product with the definition in a few places, and with a sum in float64.
func (c *productCase) checkDefinition(t *testing.T, rng *rand.Rand) {
	t.Helper()
	rows := len(c.want) / c.ldo
	for range 12 {
		r, j := rng.IntN(rows), rng.IntN(c.w.rows)
		if got, want := c.want[r*c.ldo+j], c.w.dot(j, c.x[r*c.ld:]); !same(got, want) {
			t.Fatalf("row %d output %d is %g by the plain Go set, the definition says %g", r, j, got, want)
		}
		exact, size := 0.0, 0.0
		for i, v := range c.w.dequantised(j) {
			p := float64(v) * float64(c.x[r*c.ld+i])
			exact += p
			size += math.Abs(p)
		}
		tolerance := 1e-5 * size
		if c.w.kind.Integer() { // half a step of 127 in every activation, all in one direction
			for b := range c.w.cols / 32 {
				_, step := quantise(c.x[r*c.ld+b*32:])
				for _, v := range c.w.dequantised(j)[b*32 : b*32+32] {
					tolerance += math.Abs(float64(v)) * float64(step) * 0.5001
				}
			}
		}
		if got := c.want[r*c.ldo+j]; math.Abs(float64(got)-exact) > tolerance {
			t.Fatalf("row %d output %d is %g, the product is %g: more than %g off", r, j, got, exact, tolerance)
		}
	}
	for j := range c.w.rows {
		got := make([]float32, c.w.cols)
		c.m.Row(j, got)
		if i := firstDifference(got, c.w.dequantised(j)); i >= 0 {
			t.Fatalf("weight %d of row %d is %g, want %g", i, j, got[i], c.w.dequantised(j)[i])
		}
	}
}

// compare computes a batch in random ranges of panels, all operands fenced, and looks at every float of the output.
func (c *productCase) compare(t *testing.T, s *kernel.Set, rows int, rng *rand.Rand) {
	t.Helper()
	x := fence[float32](t, rows*c.ld, rows%2 == 0)
	copy(x, c.x)
	chunks, k := c.m.Chunks(), c.w.kind
	acts := fence[byte](t, s.ActBytes(k, rows, c.w.cols), false)
	s.PackActs(k, acts, x, c.ld, rows, c.w.cols, 0, chunks, fence[byte](t, s.TmpBytes(k, chunks), false))
	scratch := fence[float32](t, kernel.ScratchFloats, false)
	for i := range scratch {
		scratch[i] = float32(math.NaN())
	}
	p0, p1 := 0, c.m.Panels()
	if rows%3 == 1 {
		p0 = rng.IntN(p1)
		p1 = p0 + 1 + rng.IntN(p1-p0)
	}
	out := fence[float32](t, (rows-1)*c.ldo+p1*kernel.Panel, rows%2 == 1)
	base := Normal(uint64(rows), len(out))
	for _, epi := range []kernel.Epilogue{kernel.Store, kernel.Add} {
		copy(out, base)
		cut := p0 + rng.IntN(p1-p0+1)
		s.MatMul(c.m, p0, cut, acts, rows, out, c.ldo, epi, scratch)
		s.MatMul(c.m, cut, p1, acts, rows, out, c.ldo, epi, scratch)
		for i, got := range out {
			want := base[i]
			if j := i % c.ldo; j >= p0*kernel.Panel && j < p1*kernel.Panel {
				want = c.want[i]
				if epi == kernel.Add {
					want += base[i]
				}
			}
			if !same(got, want) {
				t.Fatalf("%s: batch of %d, panels [%d,%d) cut at %d, epilogue %d: row %d output %d is %g, want %g",
					s.Name, rows, p0, p1, cut, epi, i/c.ldo, i%c.ldo, got, want)
			}
		}
	}
}

// gated compares with a plain product that is gated afterwards by the definition.
func gated(t *testing.T, s *kernel.Set) {
	scratch := make([]float32, kernel.ScratchFloats)
	for _, k := range []kernel.Kind{kernel.F16, kernel.Q8_0, kernel.Q4_1} {
		for _, f := range []int{20, 96, 176} {
			half := kernel.GatedRows(f)
			c := newCase(t, newWeights(k, 2*half, 64, 5, uniform), 6, uniform)
			for _, rows := range []int{1, 3, 6} {
				acts := Pack(s, k, c.x, c.ld, rows, 64)
				out := fence[float32](t, rows*half, false)
				for g := kernel.Groups(c.m) - 1; g >= 0; g-- { // one by one: the division must not matter
					s.MatMulGated(c.m, g, g+1, acts, rows, out, half, scratch)
				}
				for i, got := range out {
					r, j := i/half, i%half
					if want := silu(c.want[r*c.ldo+j], c.want[r*c.ldo+half+j]); !same(got, want) {
						t.Fatalf("%s, %d of %d rows: output %d of row %d is %g, want %g", k, rows, f, j, r, got, want)
					}
				}
			}
		}
	}
}

// packInParts: threads that pack their own chunks write the same bytes as one that packs all, and no others.
func packInParts(t *testing.T, s *kernel.Set) {
	const cols, chunks = 448, 7
	for _, k := range Kinds {
		for _, rows := range []int{1, 2, 3, 4, 5, 6, 9, 17} {
			x := Normal(4, rows*cols)
			whole := Pack(s, k, x, cols, rows, cols)
			parts := make([]byte, len(whole))
			for _, p := range [][2]int{{5, 7}, {0, 1}, {1, 5}, {3, 3}} {
				tmp := fence[byte](t, s.TmpBytes(k, p[1]-p[0]), false)
				s.PackActs(k, parts, x, cols, rows, cols, p[0], p[1], tmp)
			}
			if string(parts) != string(whole) {
				t.Fatalf("%s, %d rows: chunks packed in parts differ from those packed at once", k, rows)
			}
			alone := make([]byte, len(whole))
			s.PackActs(k, alone, x, cols, rows, cols, 2, 4, make([]byte, s.TmpBytes(k, chunks)))
			for i, b := range alone {
				if at := i / (len(whole) / chunks); b != 0 && (at < 2 || at >= 4) {
					t.Fatalf("%s, %d rows: packing chunks 2 and 3 wrote to chunk %d", k, rows, at)
				}
			}
		}
	}
}

// same compares bits.
func same(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func firstDifference(a, b []float32) int {
	for i := range a {
		if !same(a[i], b[i]) {
			return i
		}
	}
	return -1
}
