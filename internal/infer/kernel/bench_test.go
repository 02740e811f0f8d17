package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kernel/kerneltest"
)

// BenchmarkMatMul streams a matrix of the size of a small model's layer: GB/s of weights and GMAC/s.
func BenchmarkMatMul(b *testing.B) {
	const rows, cols = 4096, 576
	for _, k := range kerneltest.Kinds {
		m := kerneltest.Random(b, k, rows, cols, 1)
		for _, s := range kernel.Sets() {
			for _, n := range []int{1, 2, 4, 8, 16} {
				b.Run(fmt.Sprintf("kind=%s/isa=%s/m=%d", k, s.Name, n), func(b *testing.B) {
					acts := kerneltest.Pack(s, k, kerneltest.Normal(2, n*cols), cols, n, cols)
					out, scratch := make([]float32, n*rows), make([]float32, kernel.ScratchFloats)
					b.SetBytes(int64(len(m.Data)))
					for b.Loop() {
						s.MatMul(m, 0, m.Panels(), acts, n, out, rows, kernel.Store, scratch)
					}
					b.ReportMetric(float64(b.N)*float64(n)*rows*cols/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}

// BenchmarkPackActs rounds and orders the activations of a layer.
func BenchmarkPackActs(b *testing.B) {
	const cols = 576
	for _, k := range []kernel.Kind{kernel.F32, kernel.Q8_0, kernel.Q4_1} {
		for _, s := range kernel.Sets() {
			for _, n := range []int{1, 4, 16} {
				b.Run(fmt.Sprintf("kind=%s/isa=%s/m=%d", k, s.Name, n), func(b *testing.B) {
					x := kerneltest.Normal(1, n*cols)
					dst, tmp := make([]byte, s.ActBytes(k, n, cols)), make([]byte, s.TmpBytes(k, cols/kernel.Chunk))
					b.SetBytes(int64(n * cols * 4))
					for b.Loop() {
						s.PackActs(k, dst, x, cols, n, cols, 0, cols/kernel.Chunk, tmp)
					}
				})
			}
		}
	}
}

// BenchmarkAttention is one page of 64 positions for three queries of 64 elements.
func BenchmarkAttention(b *testing.B) {
	const dim, page, rows = 64, 64, 3
	for _, s := range kernel.Sets() {
		k, v := kerneltest.Normal(1, page*dim), kerneltest.Normal(2, page*dim)
		q, packed := kerneltest.Normal(3, rows*dim), make([]byte, kernel.QueryBytes(page))
		scores, out := make([]float32, rows*page), make([]float32, rows*dim)
		scratch := make([]float32, kernel.QueryScratch)
		for name, op := range map[string]func(){
			"pack":     func() { s.PackQuery(packed, q, dim, rows, dim) },
			"scores":   func() { s.Scores(k, dim, page/kernel.Panel, packed, rows, scores, page, scratch) },
			"softmax":  func() { s.Softmax(scores, page) },
			"weighted": func() { s.Weighted(v, page, dim, page, packed, rows, out, dim, scratch) },
		} {
			b.Run(fmt.Sprintf("op=%s/isa=%s", name, s.Name), func(b *testing.B) {
				for b.Loop() {
					op()
				}
			})
		}
	}
}

// BenchmarkOps are the element-wise operations on a row of 576.
func BenchmarkOps(b *testing.B) {
	const n = 576
	for _, s := range kernel.Sets() {
		x, w, y := kerneltest.Normal(1, n), kerneltest.Normal(2, n), make([]float32, n)
		head := kerneltest.Normal(3, 64)
		one, none := slices.Repeat([]float32{1}, 32), make([]float32, 32) // an angle of zero, lest values grow or fade
		for name, op := range map[string]func(){
			"sumsquares": func() { s.SumSquares(x) },
			"scalemul":   func() { s.ScaleMul(y, x, w, 0.5) },
			"silumul":    func() { s.SiluMul(y, x, w) },
			"rope":       func() { s.Rope(head, one, none) },
			"ropepairs":  func() { s.RopePairs(head, one, none) },
		} {
			b.Run(fmt.Sprintf("op=%s/isa=%s", name, s.Name), func(b *testing.B) {
				b.SetBytes(n * 4)
				for b.Loop() {
					op()
				}
			})
		}
	}
}
