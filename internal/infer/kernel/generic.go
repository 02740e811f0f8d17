package kernel

import (
	"math"
	"unsafe"
)

// generic is the definition in plain Go. Tiles are one row high; an integer record is 64 int8, two scales, two spare.
func generic() *Set {
	s := &Set{
		Name: "generic", maxTile: 1, ropeStep: 1,
		record:     func(k Kind) int { return map[bool]int{true: 80, false: 64}[k.Integer()] },
		sumSquares: sumSquaresGo, scaleMul: scaleMulGo, rope: ropeGo, ropePairs: ropePairsGo, siluMul: siluMulGo, softmax: softmaxGo, store: storeGo,
	}
	for k, f := range []gemm{F32: gemmF32Go, F16: gemmF16Go, Q8_0: gemmQ8Go, Q4_1: gemmQ41Go, Q4_0: gemmQ40Go, BF16: gemmBF16Go} {
		s.gemm[k][1] = gemms{f, f, f}
	}
	s.quant[Q8_0], s.quant[Q4_1], s.quant[Q4_0] = quantGo, quantGo, quantGo
	return s
}

func floats(p *float32, n int) []float32 { return unsafe.Slice(p, n) }

// at is n values of type T, off bytes behind p.
func at[T any](p *byte, off, n int) []T {
	return unsafe.Slice((*T)(unsafe.Add(unsafe.Pointer(p), off)), n)
}

// each calls f for every (panel, row, unit): w is the unit's weights, a its record, c the 16 sums.
func each(w *byte, pstride, nunit, unitBytes int, a *byte, astride, rec, nrow int, c *float32, np int, f func(w, a *byte, c []float32)) {
	for p := range np {
		for r := range nrow {
			sums := floats(c, np*nrow*Panel)[(p*nrow+r)*Panel:][:Panel]
			for u := range nunit {
				f(&at[byte](w, p*pstride+u*unitBytes, 1)[0], &at[byte](a, u*astride+r*rec, 1)[0], sums)
			}
		}
	}
}

func gemmF32Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 1024, a, astride, 64, ntile, c, np, func(w, a *byte, c []float32) {
		ws := at[float32](w, 0, 256)
		for j, x := range at[float32](a, 0, 16) {
			for i, v := range ws[j*16 : j*16+16] {
				c[i] = fma32(v, x, c[i])
			}
		}
	})
}

func gemmF16Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 512, a, astride, 64, ntile, c, np, func(w, a *byte, c []float32) {
		ws := at[uint16](w, 0, 256)
		for j, x := range at[float32](a, 0, 16) {
			for i, h := range ws[j*16 : j*16+16] {
				c[i] = fma32(halfToFloat(h), x, c[i])
			}
		}
	})
}

func gemmBF16Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 512, a, astride, 64, ntile, c, np, func(w, a *byte, c []float32) {
		ws := at[uint16](w, 0, 256)
		for j, x := range at[float32](a, 0, 16) {
			for i := range c {
				c[i] = fma32(math.Float32frombits(uint32(ws[j/2*32+i*2+j%2])<<16), x, c[i])
			}
		}
	})
}

// gemmQ8Go: c = fma(float(sum of w*a) * wscale, ascale, c) per block of 32 columns.
func gemmQ8Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 1088, a, astride, 80, ntile, c, np, func(w, a *byte, c []float32) {
		ws, acts := at[uint8](w, 0, 1024), at[int8](a, 0, 64)
		scales, ascale := at[uint16](w, 1024, 32), at[float32](a, 64, 2)
		for b := range 2 {
			for i := range Panel {
				sum := int32(0)
				for j := b * 32; j < b*32+32; j++ {
					sum += (int32(ws[j/4*64+i*4+j%4]) - 128) * int32(acts[j])
				}
				c[i] = fma32(float32(sum)*halfToFloat(scales[b*16+i]), ascale[b], c[i])
			}
		}
	})
}

// gemmQ41Go: as gemmQ8Go with weights 0..15, then c = fma(wmin, ascale * sum of a, c).
func gemmQ41Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 640, a, astride, 80, ntile, c, np, func(w, a *byte, c []float32) {
		ws, acts := at[uint8](w, 0, 512), at[int8](a, 0, 64)
		scales, minima, ascale := at[uint16](w, 512, 32), at[uint16](w, 576, 32), at[float32](a, 64, 2)
		for b := range 2 {
			total := int32(0)
			for _, x := range acts[b*32 : b*32+32] {
				total += int32(x)
			}
			for i := range Panel {
				sum := int32(0)
				for j := range 16 {
					q := int32(ws[(b*4+j/4)*64+i*4+j%4])
					sum += q&15*int32(acts[b*32+j]) + q>>4*int32(acts[b*32+16+j])
				}
				c[i] = fma32(float32(sum)*halfToFloat(scales[b*16+i]), ascale[b], c[i])
				c[i] = fma32(halfToFloat(minima[b*16+i]), ascale[b]*float32(total), c[i])
			}
		}
	})
}

// gemmQ40Go: as gemmQ8Go with weights 0..15 less 8.
func gemmQ40Go(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int) {
	each(w, pstride, nunit, 576, a, astride, 80, ntile, c, np, func(w, a *byte, c []float32) {
		ws, acts := at[uint8](w, 0, 512), at[int8](a, 0, 64)
		scales, ascale := at[uint16](w, 512, 32), at[float32](a, 64, 2)
		for b := range 2 {
			for i := range Panel {
				sum := int32(0)
				for j := range 16 {
					q := int32(ws[(b*4+j/4)*64+i*4+j%4])
					sum += (q&15-8)*int32(acts[b*32+j]) + (q>>4-8)*int32(acts[b*32+16+j])
				}
				c[i] = fma32(float32(sum)*halfToFloat(scales[b*16+i]), ascale[b], c[i])
			}
		}
	})
}

// quantTiny: a block whose largest magnitude is not above it becomes zeros, because 127/magnitude would overflow.
const quantTiny = 1e-36

// quantGo rounds blocks of 32 to int8: scale = max|x| * (1/127), q = round to even(x * (127/max|x|)). The result for
// infinities and NaN is not defined.
func quantGo(dst *byte, dstride int, x *float32, nunit int) {
	for u := range nunit {
		q, scale := at[int8](dst, u*dstride, 64), at[float32](dst, u*dstride+64, 4)
		scale[2], scale[3] = 0, 0
		for b := range 2 {
			xs := floats(x, (u+1)*64)[u*64+b*32:][:32]
			top := float32(0)
			for _, v := range xs {
				top = max(top, float32(math.Abs(float64(v))))
			}
			inv := float32(0)
			if top > quantTiny {
				inv = 127 / top
			}
			scale[b] = top * float32(1.0/127)
			for j, v := range xs {
				q[b*32+j] = int8(math.RoundToEven(float64(v * inv)))
			}
		}
	}
}
