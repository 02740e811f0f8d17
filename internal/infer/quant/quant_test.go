package quant

import (
	"bytes"
	"math"
	"testing"

	"treeline/internal/infer/gguf"
)

func TestHalf(t *testing.T) {
	for h, want := range map[uint16]float64{
		0x0000: 0, 0x0001: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14, 0x3c00: 1, 0x3555: 0.333251953125,
		0x7bff: 65504, 0xc000: -2, 0x8001: -0x1p-24, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := Half(h); float64(got) != want {
			t.Errorf("Half(%#04x): got %v, want %v", h, got, want)
		}
	}
	if v := Half(0x8000); v != 0 || !math.Signbit(float64(v)) {
		t.Errorf("Half(0x8000): got %v, want -0", v)
	}
	if v := Half(0x7e00); v == v {
		t.Errorf("Half(0x7e00): got %v, want NaN", v)
	}
}

func TestDequantize(t *testing.T) {
	nibbles := bytes.Repeat([]byte{0x0f, 0xf0}, 8) // low 15, 0, ...; high 0, 15, ...
	bytes32 := append([]byte{0x80, 0x7f, 0xff}, make([]byte, 29)...)
	for _, tc := range []struct {
		name  string
		typ   gguf.Type
		src   []byte
		first []float32 // values 0, 1, 2
		high  float32   // value 17 of a block
	}{
		{"F32", gguf.F32, append([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0}, make([]byte, 116)...), []float32{1, -2, 0}, 0},
		{"F16", gguf.F16, append([]byte{0, 0x3c, 0, 0xc0, 0, 0}, make([]byte, 58)...), []float32{1, -2, 0}, 0},
		{"Q8_0", gguf.Q8_0, append([]byte{0, 0x38}, bytes32...), []float32{-64, 63.5, -0.5}, 0},
		{"Q4_0", gguf.Q4_0, append([]byte{0, 0x40}, nibbles...), []float32{14, -16, 14}, 14},
		{"Q4_1", gguf.Q4_1, append([]byte{0, 0x40, 0, 0xbc}, nibbles...), []float32{29, -1, 29}, 29},
	} {
		got := make([]float32, 32)
		if err := Dequantize(got, tc.typ, tc.src); err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for i, want := range tc.first {
			if got[i] != want {
				t.Errorf("%s: value %d: got %v, want %v", tc.name, i, got[i], want)
			}
		}
		if got[17] != tc.high {
			t.Errorf("%s: value 17: got %v, want %v", tc.name, got[17], tc.high)
		}
		if err := Dequantize(got, tc.typ, tc.src[1:]); err == nil {
			t.Errorf("%s: a short source did not fail", tc.name)
		}
	}
	if err := Dequantize(make([]float32, 31), gguf.Q8_0, nil); err == nil {
		t.Error("half a block did not fail")
	}
	if err := Dequantize(make([]float32, 32), gguf.Type(9), nil); err == nil {
		t.Error("an unknown type did not fail")
	}
}
