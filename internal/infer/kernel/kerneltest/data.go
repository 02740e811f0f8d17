// Package kerneltest is the conformance suite of package kernel: whatever a set of kernels is made of, it must give the
// bits of the definition that this package writes out a second time, in the slowest and most obvious way, from GGUF's
// own row bytes. A new instruction set passes Run or is not a set.
//
// It is for tests and benchmarks only; it knows nothing of packed forms.
package kerneltest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"treeline/internal/infer/kernel"
)

// Kinds are all packed kinds.
var Kinds = []kernel.Kind{kernel.F32, kernel.F16, kernel.BF16, kernel.Q8_0, kernel.Q4_0, kernel.Q4_1}

// Normal is n normally distributed values.
func Normal(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// Random is a packed matrix of random weights.
func Random(t testing.TB, k kernel.Kind, rows, cols int, seed uint64) *kernel.Matrix {
	return newWeights(k, rows, cols, seed, uniform).pack(t)
}

// Pack orders rows of x, ldx apart, as activations for a matrix of cols columns.
func Pack(s *kernel.Set, k kernel.Kind, x []float32, ldx, rows, cols int) []byte {
	chunks := (cols + kernel.Chunk - 1) / kernel.Chunk
	dst := make([]byte, s.ActBytes(k, rows, cols))
	s.PackActs(k, dst, x, ldx, rows, cols, 0, chunks, make([]byte, s.TmpBytes(k, chunks)))
	return dst
}

// style says which values random data takes.
type style int

const (
	uniform style = iota // all values a quantised weight can have; normal floats
	extreme              // only the ends of the ranges, mostly of one sign: the largest sums there are
	zero
)

// weights are the rows of a matrix as a GGUF file holds them.
type weights struct {
	kind       kernel.Kind
	rows, cols int
	bytes      []byte // rows of kind.RowBytes(cols)
}

func newWeights(k kernel.Kind, rows, cols int, seed uint64, st style) *weights {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	w := &weights{kind: k, rows: rows, cols: cols, bytes: make([]byte, rows*k.RowBytes(cols))}
	if st == zero {
		return w
	}
	switch k {
	case kernel.F32:
		for i := 0; i < len(w.bytes); i += 4 {
			binary.LittleEndian.PutUint32(w.bytes[i:], math.Float32bits(float32(rng.NormFloat64())))
		}
	case kernel.BF16:
		for i := 0; i < len(w.bytes); i += 2 {
			binary.LittleEndian.PutUint16(w.bytes[i:], uint16(math.Float32bits(float32(rng.NormFloat64()))>>16))
		}
	case kernel.F16:
		for i := 0; i < len(w.bytes); i += 2 {
			binary.LittleEndian.PutUint16(w.bytes[i:], randomHalf(rng))
		}
	default:
		w.blocks(rng, st)
	}
	return w
}

// blocks fills blocks of 32 weights: a scale, Q4_1's minimum, quants.
func (w *weights) blocks(rng *rand.Rand, st style) {
	size := w.kind.RowBytes(32)
	head := map[kernel.Kind]int{kernel.Q8_0: 2, kernel.Q4_0: 2, kernel.Q4_1: 4}[w.kind]
	for i := 0; i < len(w.bytes); i += size {
		blk := w.bytes[i : i+size]
		for j := 0; j < head; j += 2 {
			binary.LittleEndian.PutUint16(blk[j:], randomHalf(rng))
		}
		for j := head; j < size; j++ {
			blk[j] = byte(rng.Uint32())
			if st == extreme && w.kind == kernel.Q8_0 {
				blk[j] = []byte{0x80, 0x80, 0x80, 0x7f}[rng.IntN(4)]
			} else if st == extreme {
				blk[j] = []byte{0xff, 0xff, 0x00, 0x0f, 0xf0}[rng.IntN(5)]
			}
		}
	}
}

// randomHalf is a finite half float of either sign, now and then a subnormal or zero.
func randomHalf(rng *rand.Rand) uint16 {
	exp := uint16(rng.IntN(12)) + 6
	if rng.IntN(20) == 0 {
		exp = 0
	}
	return uint16(rng.IntN(2))<<15 | exp<<10 | uint16(rng.IntN(1024))
}

// row is the bytes of a row.
func (w *weights) row(r int) []byte {
	n := w.kind.RowBytes(w.cols)
	return w.bytes[r*n : (r+1)*n]
}

// pack makes the packed matrix.
func (w *weights) pack(t testing.TB) *kernel.Matrix {
	t.Helper()
	m, err := kernel.NewMatrix(w.kind, w.rows, w.cols, make([]byte, kernel.PackedBytes(w.kind, w.rows, w.cols)+kernel.Guard))
	if err != nil {
		t.Fatal(err)
	}
	for r := range w.rows {
		m.Pack(r, w.row(r))
	}
	return m
}
