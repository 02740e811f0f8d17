package kernel

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

var allKinds = []Kind{F32, F16, Q8_0, Q4_1, Q4_0, BF16}

// weights makes a random matrix, its dequantised rows, and fills every lane. extreme uses the ends of the ranges only.
func weights(t testing.TB, rng *rand.Rand, k Kind, rows, cols int, extreme bool) (*Matrix, [][]float32) {
	t.Helper()
	m, err := NewMatrix(k, rows, cols, make([]byte, PackedBytes(k, rows, cols)+Guard))
	if err != nil {
		t.Fatal(err)
	}
	half := func(v float64) []byte { h := floatToHalf(float32(v)); return []byte{byte(h), byte(h >> 8)} }
	for r := range rows {
		var src []byte
		switch k {
		case F32:
			for range cols {
				b := math.Float32bits(float32(rng.NormFloat64() * 0.05))
				src = append(src, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
			}
		case F16:
			for range cols {
				src = append(src, half(rng.NormFloat64()*0.05)...)
			}
		case Q8_0:
			for range cols / 32 {
				src = append(src, half(0.01+0.01*rng.Float64())...)
				for range 32 {
					q := byte(rng.Intn(256))
					if extreme {
						q = []byte{0x80, 0x7f, 0x80}[rng.Intn(3)]
					}
					src = append(src, q)
				}
			}
		case BF16:
			for range cols {
				b := math.Float32bits(float32(rng.NormFloat64() * 0.05))
				src = append(src, byte(b>>16), byte(b>>24))
			}
		case Q4_1, Q4_0:
			for range cols / 32 {
				src = append(src, half(0.01+0.01*rng.Float64())...)
				if k == Q4_1 {
					src = append(src, half(-0.1*rng.Float64())...)
				}
				for range 16 {
					q := byte(rng.Intn(256))
					if extreme {
						q = []byte{0xff, 0xff, 0, 0xf0}[rng.Intn(4)]
					}
					src = append(src, q)
				}
			}
		}
		m.Pack(r, src)
	}
	var dense [][]float32
	for r := range rows {
		row := make([]float32, cols)
		m.Row(r, row)
		dense = append(dense, row)
	}
	return m, dense
}

// floatToHalf rounds to the nearest normal half float; test values only.
func floatToHalf(f float32) uint16 {
	u := math.Float32bits(f)
	e := int(u>>23&0xff) - 127 + 15
	if e <= 0 {
		return uint16(u>>16) & 0x8000
	}
	return uint16(u>>16)&0x8000 | uint16((uint32(e)<<10|u>>13&0x3ff)+u>>12&1)
}

func activations(rng *rand.Rand, rows, ld int, extreme bool) []float32 {
	x := make([]float32, rows*ld)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
		if extreme { // full int8 range, mostly of one sign
			x[i] = []float32{1, 1, 1, -1}[rng.Intn(4)]
		}
	}
	return x
}

// padded is n columns rounded up to whole chunks.
func padded(n int) int { return ceil(n, Chunk) * Chunk }

// product runs MatMul of set s, packing in two parts and multiplying in two ranges of panels.
func product(s *Set, m *Matrix, x []float32, ld, rows int, epi Epilogue, out []float32, ldo int) {
	acts := make([]byte, s.ActBytes(m.Kind, rows, m.Cols)+64)
	chunks := m.Chunks()
	for _, part := range [][2]int{{chunks / 2, chunks}, {0, chunks / 2}} {
		s.PackActs(m.Kind, acts, x, ld, rows, m.Cols, part[0], part[1], make([]byte, s.TmpBytes(m.Kind, chunks)))
	}
	scratch := make([]float32, ScratchFloats)
	cut := m.Panels() / 3
	s.MatMul(m, 0, cut, acts, rows, out, ldo, epi, scratch)
	s.MatMul(m, cut, m.Panels(), acts, rows, out, ldo, epi, scratch)
}

// TestMatMul compares every set with the definition bit for bit, and the definition with a float64 product.
func TestMatMul(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, k := range allKinds {
		for _, size := range [][2]int{{16, 64}, {40, 96}, {208, 576}, {64, 1536}, {500, 128}} {
			if !k.Integer() && size[1] == 96 {
				size[1] = 80
			}
			for _, extreme := range []bool{false, true} {
				m, dense := weights(t, rng, k, size[0], size[1], extreme)
				ld, ldo := padded(m.Cols), m.Panels()*Panel
				for _, rows := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64, 70} {
					if rows > 9 && size[0] > 208 {
						continue
					}
					x := activations(rng, rows, ld, extreme)
					for r := range rows {
						clear(x[r*ld+m.Cols : (r+1)*ld])
					}
					want := make([]float32, rows*ldo)
					product(Sets()[0], m, x, ld, rows, Store, want, ldo)
					checkNear(t, k, dense, x, ld, want, ldo)
					for _, s := range Sets()[1:] {
						got := make([]float32, rows*ldo)
						product(s, m, x, ld, rows, Store, got, ldo)
						if i := firstDifference(got, want); i >= 0 {
							t.Fatalf("%s %s %v rows=%d: row %d column %d is %g, want %g", s.Name, k, size, rows, i/ldo, i%ldo, got[i], want[i])
						}
						product(s, m, x, ld, rows, Add, got, ldo)
						for i := range got {
							if got[i] != want[i]+want[i] {
								t.Fatalf("%s %s %v rows=%d: adding gave %g, want %g", s.Name, k, size, rows, got[i], 2*want[i])
							}
						}
					}
				}
			}
		}
	}
}

// checkNear bounds the error of quantised activations: half a step of 127 per column, independent.
func checkNear(t *testing.T, k Kind, dense [][]float32, x []float32, ld int, got []float32, ldo int) {
	t.Helper()
	tol := 5e-6
	if k.Integer() {
		tol = 0.04
	}
	for r := 0; r*ld < len(x); r++ {
		for j := 0; j < len(dense); j += 7 {
			sum, size := 0.0, 0.0
			for c, w := range dense[j] {
				v := float64(w) * float64(x[r*ld+c])
				sum += v
				size += v * v
			}
			if d := math.Abs(float64(got[r*ldo+j]) - sum); d > tol*math.Sqrt(size)*math.Sqrt(float64(len(dense[j]))/64+1) {
				t.Fatalf("%s: row %d output %d is %g, want about %g", k, r, j, got[r*ldo+j], sum)
			}
		}
	}
}

func firstDifference(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// TestRowAlone: a row's bits do not depend on the rows beside it, nor on the range of panels.
func TestRowAlone(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for _, s := range Sets() {
		for _, k := range allKinds {
			m, _ := weights(t, rng, k, 112, 192, false)
			ldo := m.Panels() * Panel
			x := activations(rng, 67, 192, false)
			all := make([]float32, 67*ldo)
			product(s, m, x, 192, 67, Store, all, ldo)
			for r := 0; r < 67; r += 5 {
				alone := make([]float32, ldo)
				product(s, m, x[r*192:], 192, 1, Store, alone, ldo)
				if !slices.Equal(alone, all[r*ldo:(r+1)*ldo]) {
					t.Fatalf("%s %s: row %d alone differs from the same row among 67", s.Name, k, r)
				}
			}
		}
	}
}

func TestMatMulGated(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for _, f := range []int{176, 1536} {
		rows := GatedRows(f)
		m, _ := weights(t, rng, Q4_1, 2*rows, 64, false)
		x := activations(rng, 5, 64, false)
		var want []float32
		for _, s := range Sets() {
			acts := make([]byte, s.ActBytes(Q4_1, 5, 64)+64)
			s.PackActs(Q4_1, acts, x, 64, 5, 64, 0, 1, make([]byte, s.TmpBytes(Q4_1, 1)))
			scratch := make([]float32, ScratchFloats)
			plain := make([]float32, 5*2*rows)
			s.MatMul(m, 0, m.Panels(), acts, 5, plain, 2*rows, Store, scratch)
			got := make([]float32, 5*rows)
			for g := range Groups(m) { // one by one: the split must not matter
				s.MatMulGated(m, g, g+1, acts, 5, got, rows, scratch)
			}
			for r := range 5 {
				for j := range rows {
					g, u := float64(plain[r*2*rows+j]), float64(plain[r*2*rows+rows+j])
					if w := g / (1 + math.Exp(-g)) * u; math.Abs(w-float64(got[r*rows+j])) > 1e-5*(1+math.Abs(w)) {
						t.Fatalf("%s: gated row %d output %d is %g, want %g", s.Name, r, j, got[r*rows+j], w)
					}
				}
			}
			if want == nil {
				want = got
			}
			if i := firstDifference(got, want); i >= 0 {
				t.Fatalf("%s: gated output %d is %g, want %g", s.Name, i, got[i], want[i])
			}
		}
	}
}

// TestOps compares the small operations of every set with the definition, bit for bit, and with mathematics.
func TestOps(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	def := Sets()[0]
	for _, s := range Sets() {
		for n := 16; n <= 320; n += 16 {
			x, w := activations(rng, 1, n, false), activations(rng, 1, n, false)
			if got, want := s.SumSquares(x), def.SumSquares(x); got != want {
				t.Fatalf("%s SumSquares(%d) = %g, want %g", s.Name, n, got, want)
			}
			got, want := make([]float32, n), make([]float32, n)
			s.ScaleMul(got, x, w, 0.37)
			def.ScaleMul(want, x, w, 0.37)
			if !slices.Equal(got, want) {
				t.Fatalf("%s ScaleMul(%d) differs", s.Name, n)
			}
			a, b := slices.Clone(x), slices.Clone(x)
			s.Rope(a, w[:n/2], x[n/2:])
			def.Rope(b, w[:n/2], x[n/2:])
			if !slices.Equal(a, b) {
				t.Fatalf("%s Rope(%d) differs", s.Name, n)
			}
			for _, used := range []int{n, n - 5, n - 15} {
				a, b := slices.Clone(x), slices.Clone(x)
				for i := range a {
					a[i], b[i] = a[i]*9, b[i]*9
				}
				s.Softmax(a, used)
				def.Softmax(b, used)
				if !slices.Equal(a, b) {
					t.Fatalf("%s Softmax(%d of %d) differs", s.Name, used, n)
				}
				sum := 0.0
				for i, v := range a {
					sum += float64(v)
					if i >= used && v != 0 {
						t.Fatalf("%s Softmax(%d of %d): value %d is %g, want 0", s.Name, used, n, i, v)
					}
				}
				if math.Abs(sum-1) > 1e-5 {
					t.Fatalf("%s Softmax(%d): sum %g", s.Name, used, sum)
				}
			}
		}
	}
}

func TestExp(t *testing.T) {
	for v := float32(-86); v <= 87; v += 0.0137 {
		if got, want := float64(expGo(v)), math.Exp(float64(v)); math.Abs(got-want) > 1e-5*want {
			t.Fatalf("exp(%g) = %g, want %g", v, got, want)
		}
	}
}

// TestAttention: scores and weighted values of every set have the definition's bits, and a sum made page by page or
// row by row those of a single one.
func TestAttention(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	for _, hd := range []int{16, 32, 64, 80, 128} {
		k, v := activations(rng, 4*Panel, hd, false), activations(rng, 4*Panel, hd, false)
		q, p := activations(rng, QueryRows, hd, false), activations(rng, QueryRows, 64, false)
		var wantScores, wantValues []float32
		for _, s := range Sets() {
			scratch := make([]float32, QueryScratch)
			for rows := 1; rows <= QueryRows; rows++ {
				packed := make([]byte, QueryBytes(max(hd, 64)))
				scores := make([]float32, rows*64)
				s.PackQuery(packed, q, hd, rows, hd)
				for panels := 1; panels <= 4; panels++ {
					s.Scores(k, hd, panels, packed, rows, scores, 64, scratch)
				}
				values := make([]float32, rows*hd)
				s.PackQuery(packed, p, 64, rows, 32)
				s.Weighted(v, 64, hd, 32, packed, rows, values, hd, scratch)
				s.PackQuery(packed, p[32:], 64, rows, 32)
				s.Weighted(v[32*16:], 64, hd, 32, packed, rows, values, hd, scratch)
				if wantScores == nil || len(wantScores) < len(scores) {
					for r := range rows { // the definition, written out
						for i := range 64 {
							c := float32(0)
							for d := range hd {
								c = fma32(k[(i/16*hd+d)*16+i%16], q[r*hd+d], c)
							}
							if scores[r*64+i] != c {
								t.Fatalf("%s hd=%d: score %d,%d is %g, want %g", s.Name, hd, r, i, scores[r*64+i], c)
							}
						}
					}
					wantScores, wantValues = scores, values
				}
				if i := firstDifference(scores, wantScores[:len(scores)]); i >= 0 {
					t.Fatalf("%s hd=%d rows=%d: score %d differs", s.Name, hd, rows, i)
				}
				if i := firstDifference(values, wantValues[:len(values)]); i >= 0 {
					t.Fatalf("%s hd=%d rows=%d: value %d differs", s.Name, hd, rows, i)
				}
			}
			single := make([]float32, hd)
			packed := make([]byte, QueryBytes(64))
			s.PackQuery(packed, p, 64, 1, 64)
			s.Weighted(v, 64, hd, 64, packed, 1, single, hd, scratch)
			if !slices.Equal(single, wantValues[:hd]) {
				t.Fatalf("%s hd=%d: one call differs from two", s.Name, hd)
			}
		}
	}
}

func TestQuantisedZeros(t *testing.T) {
	for _, s := range Sets() {
		m, _ := weights(t, rand.New(rand.NewSource(6)), Q8_0, 16, 64, true)
		out := []float32{15: 1}
		product(s, m, make([]float32, 64), 64, 1, Store, out, 16)
		for i, v := range out {
			if v != 0 {
				t.Errorf("%s: output %d of a zero row is %g", s.Name, i, v)
			}
		}
	}
}

func TestByName(t *testing.T) {
	for _, s := range Sets() {
		if got, err := ByName(s.Name); err != nil || got.Name != s.Name {
			t.Errorf("ByName(%q) = %v, %v", s.Name, got, err)
		}
	}
	if _, err := ByName("sse9"); err == nil {
		t.Error("ByName(sse9) found a set")
	}
}

// TestNoAllocation: the hot calls leave the garbage collector alone.
func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	s := Best()
	m, _ := weights(t, rng, Q4_1, 64, 128, false)
	x := activations(rng, 5, 128, false)
	acts, tmp := make([]byte, s.ActBytes(Q4_1, 5, 128)), make([]byte, s.TmpBytes(Q4_1, 2))
	out, scratch := make([]float32, 5*64), make([]float32, ScratchFloats)
	n := testing.AllocsPerRun(20, func() {
		s.PackActs(Q4_1, acts, x, 128, 5, 128, 0, 2, tmp)
		s.MatMul(m, 0, 4, acts, 5, out, 64, Store, scratch)
		s.MatMulGated(m, 0, 1, acts, 5, out, 64, scratch)
	})
	if n != 0 {
		t.Errorf("%g allocations per call", n)
	}
}
