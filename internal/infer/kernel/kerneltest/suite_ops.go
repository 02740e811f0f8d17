package kerneltest

import (
	"slices"
	"testing"

	"treeline/internal/infer/kernel"
)

// values are n floats right before a page that faults: normal ones among zeros, subnormals and large ones.
func values(t *testing.T, seed uint64, n int) []float32 {
	x := fence[float32](t, n, seed%2 == 1)
	copy(x, Normal(seed, n))
	for i := range x {
		switch (i + int(seed)) % 11 {
		case 3:
			x[i] = 0
		case 5:
			x[i] *= 1e-40
		case 7:
			x[i] *= 60
		}
	}
	return x
}

func ops(t *testing.T, s *kernel.Set) {
	for n := 16; n <= 592; n += 48 {
		x, w := values(t, 1, n), values(t, 2, n)
		lanes := make([]float32, 16)
		for i, v := range x {
			lanes[i%16] = fma(v, v, lanes[i%16])
		}
		if got, want := s.SumSquares(x), fold(lanes); !same(got, want) {
			t.Fatalf("SumSquares of %d is %g, want %g", n, got, want)
		}
		got, want := fence[float32](t, n, false), make([]float32, n)
		expect := func(name string) {
			t.Helper()
			if i := firstDifference(got, want); i >= 0 {
				t.Fatalf("%s of %d: element %d is %g, want %g", name, n, i, got[i], want[i])
			}
		}
		s.ScaleMul(got, x, w, 0.37)
		for i := range want {
			want[i] = float32(x[i]*0.37) * w[i]
		}
		expect("ScaleMul")
		s.SiluMul(got, x, w)
		for i := range want {
			want[i] = silu(x[i], w[i])
		}
		expect("SiluMul")
		cos, sin := w[:n/2], values(t, 3, n/2)
		copy(got, x)
		s.Rope(got, cos, sin)
		for i := range n / 2 {
			want[i], want[i+n/2] = rotate(x[i], x[i+n/2], cos[i], sin[i])
		}
		expect("Rope")
		copy(got, x)
		s.RopePairs(got, cos, sin)
		for i := range n / 2 {
			want[2*i], want[2*i+1] = rotate(x[2*i], x[2*i+1], cos[i], sin[i])
		}
		expect("RopePairs")
	}
	short := []float32{1, 2, 3, 4} // no whole vector
	s.Rope(short, []float32{0, 1}, []float32{1, 0})
	s.RopePairs(short, []float32{0, 1}, []float32{-1, 0})
	if want := []float32{2, 3, 1, 4}; !slices.Equal(short, []float32{2, 3, 1, 4}) {
		t.Fatalf("rotations of four elements gave %v, want %v", short, want)
	}
}

func rotate(x, y, cos, sin float32) (float32, float32) {
	return fma(x, cos, -float32(y*sin)), fma(y, cos, float32(x*sin))
}

func softmaxes(t *testing.T, s *kernel.Set) {
	for n := 1; n <= 130; n += 3 {
		padded := (n + 15) / 16 * 16
		got := values(t, uint64(n), padded)
		want := slices.Repeat([]float32{-1e30}, padded)
		copy(want, got[:n])
		want = softmax(want)
		clear(want[n:])
		s.Softmax(got, n)
		if i := firstDifference(got, want); i >= 0 {
			t.Fatalf("Softmax of %d: element %d is %g, want %g", n, i, got[i], want[i])
		}
	}
}

// attention compares scores and weighted sums with the definition, and a sum made in parts with one made at once.
func attention(t *testing.T, s *kernel.Set) {
	const page = 64
	for _, dim := range []int{16, 32, 48, 64, 80, 96, 128} {
		k, v := fence[float32](t, page*dim, false), fence[float32](t, page*dim, false)
		copy(k, Normal(1, len(k)))
		copy(v, Normal(2, len(v)))
		scratch := fence[float32](t, kernel.QueryScratch, false)
		for rows := 1; rows <= kernel.QueryRows; rows++ {
			q := fence[float32](t, rows*dim, false)
			copy(q, Normal(3, len(q)))
			packed := fence[byte](t, rows*dim*4, false)
			s.PackQuery(packed, q, dim, rows, dim)
			for panels := 1; panels <= 4; panels++ {
				out := fence[float32](t, rows*panels*kernel.Panel, false)
				s.Scores(k[:panels*dim*kernel.Panel], dim, panels, packed, rows, out, panels*kernel.Panel, scratch)
				for i, got := range out {
					r, pos, want := i/(panels*kernel.Panel), i%(panels*kernel.Panel), float32(0)
					for d := range dim {
						want = fma(k[(pos/16*dim+d)*16+pos%16], q[r*dim+d], want)
					}
					if !same(got, want) {
						t.Fatalf("dimension %d, %d queries, %d panels: score of %d with %d is %g, want %g", dim, rows, panels, r, pos, got, want)
					}
				}
			}
			weightedSums(t, s, v, dim, rows, scratch)
		}
	}
}

func weightedSums(t *testing.T, s *kernel.Set, v []float32, dim, rows int, scratch []float32) {
	t.Helper()
	const page = 64
	p := Normal(5, rows*page)
	for _, cut := range []int{16, 48, 64} {
		out := fence[float32](t, rows*dim, false)
		for _, part := range [][2]int{{0, cut}, {cut, page}} {
			n := part[1] - part[0]
			if n == 0 {
				continue
			}
			packed := fence[byte](t, rows*n*4, false)
			s.PackQuery(packed, p[part[0]:], page, rows, n)
			s.Weighted(v[part[0]*16:], page, dim, n, packed, rows, out, dim, scratch)
		}
		for i, got := range out {
			r, d, want := i/dim, i%dim, float32(0)
			for pos := range page {
				want = fma(v[(d/16*page+pos)*16+d%16], p[r*page+pos], want)
			}
			if !same(got, want) {
				t.Fatalf("dimension %d, %d queries, cut at %d: element %d of %d is %g, want %g", dim, rows, cut, d, r, got, want)
			}
		}
	}
}
