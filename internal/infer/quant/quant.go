// Package quant turns the tensor encodings of GGUF files into float32 values, by their definition in ggml. It is the
// slow and obvious form: for the float32 mode of the engine, small tensors and tests. Packed weights that kernels
// compute with are package kernel's.
package quant

import (
	"encoding/binary"
	"fmt"
	"math"

	"treeline/internal/infer/gguf"
)

// BlockLen is the number of values of a block of the 4- and 8-bit types.
const BlockLen = 32

// RowBytes is the size of n values of a type. It fails for a type that the engine does not compute with and for n
// that is no whole number of blocks.
func RowBytes(t gguf.Type, n int) (int, error) {
	block, size := BlockLen, 0
	switch t {
	case gguf.F32:
		block, size = 1, 4
	case gguf.F16:
		block, size = 1, 2
	case gguf.Q4_0:
		size = 2 + 16
	case gguf.Q4_1:
		size = 4 + 16
	case gguf.Q8_0:
		size = 2 + 32
	default:
		return 0, fmt.Errorf("quant: tensor type %v is not supported (F32, F16, Q4_0, Q4_1 and Q8_0 are)", t)
	}
	if n < 0 || n%block != 0 {
		return 0, fmt.Errorf("quant: %d values are no whole number of blocks of %d", n, block)
	}
	return n / block * size, nil
}

// Dequantize writes len(dst) values of src to dst. src must be exactly RowBytes long.
func Dequantize(dst []float32, t gguf.Type, src []byte) error {
	want, err := RowBytes(t, len(dst))
	if err != nil {
		return err
	}
	if len(src) != want {
		return fmt.Errorf("quant: %d values of type %v take %d bytes, got %d", len(dst), t, want, len(src))
	}
	switch t {
	case gguf.F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case gguf.F16:
		for i := range dst {
			dst[i] = half(src[2*i:])
		}
	case gguf.Q8_0:
		for ; len(dst) > 0; dst, src = dst[32:], src[34:] {
			d := half(src)
			for j, q := range src[2:34] {
				dst[j] = d * float32(int8(q))
			}
		}
	case gguf.Q4_0:
		for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
			d := half(src)
			for j, q := range src[2:18] {
				dst[j] = d * float32(int(q&15)-8)
				dst[j+16] = d * float32(int(q>>4)-8)
			}
		}
	case gguf.Q4_1:
		for ; len(dst) > 0; dst, src = dst[32:], src[20:] {
			d, m := half(src), half(src[2:])
			for j, q := range src[4:20] {
				// The product is rounded before the sum, as in the definition: no fused multiply-add.
				dst[j] = float32(d*float32(q&15)) + m
				dst[j+16] = float32(d*float32(q>>4)) + m
			}
		}
	}
	return nil
}

func half(b []byte) float32 { return Half(binary.LittleEndian.Uint16(b)) }

// Half is the value of an IEEE 754 binary16 number.
func Half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		v := float32(frac) * (1.0 / (1 << 24)) // zero and subnormals, exact
		if sign != 0 {
			return -v
		}
		return v
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
