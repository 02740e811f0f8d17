package kerneltest

import (
	"encoding/binary"
	"math"
	"math/big"

	"treeline/internal/infer/kernel"
)

// fma is a*b+c rounded once to float32. The product is exact in float64, so the float64 sum is off by less than half a
// unit of its own last place, and rounding it again is right unless it lies exactly between two float32 values: those
// cases, and subnormal ones, are decided by arbitrary precision.
func fma(a, b, c float32) float32 {
	sum := float64(float64(a)*float64(b)) + float64(c)
	tie := math.Float64bits(sum)&(1<<29-1) == 1<<28
	if sum != 0 && !tie && math.Abs(sum) > 1e-37 {
		return float32(sum)
	}
	if a == 0 || b == 0 {
		return a*b + c
	}
	p := new(big.Float).SetPrec(600).SetFloat64(float64(a))
	p.Mul(p, new(big.Float).SetFloat64(float64(b)))
	p.Add(p, new(big.Float).SetFloat64(float64(c)))
	v, _ := p.Float32()
	return v
}

// half is the value of a half float.
func half(b []byte) float32 {
	h := binary.LittleEndian.Uint16(b)
	v := math.Ldexp(float64(h&1023), -24)
	if e := int(h >> 10 & 31); e > 0 {
		v = math.Ldexp(float64(h&1023|1024), e-25)
	}
	if h>>15 != 0 {
		v = -v
	}
	return float32(v)
}

// block is 32 weights as a kernel multiplies them: integers, a scale and a shift.
func (w *weights) block(row []byte, b int) (q [32]int, scale, minimum float32) {
	blk := row[b*w.kind.RowBytes(32):]
	scale = half(blk)
	nibbles := func(src []byte, zero int) {
		for j, v := range src[:16] {
			q[j], q[j+16] = int(v&15)-zero, int(v>>4)-zero
		}
	}
	switch w.kind {
	case kernel.Q8_0:
		for j := range q {
			q[j] = int(int8(blk[2+j]))
		}
	case kernel.Q4_0:
		nibbles(blk[2:], 8)
	case kernel.Q4_1:
		nibbles(blk[4:], 0)
		minimum = half(blk[2:])
	}
	return q, scale, minimum
}

// value is weight c of a row of a float kind.
func (w *weights) value(row []byte, c int) float32 {
	switch w.kind {
	case kernel.F16:
		return half(row[2*c:])
	case kernel.BF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(row[2*c:])) << 16)
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(row[4*c:]))
}

// dequantised is a row as floats, rounded as GGUF's definition says: product first, then the minimum.
func (w *weights) dequantised(r int) []float32 {
	out := make([]float32, w.cols)
	for c := range out {
		if !w.kind.Integer() {
			out[c] = w.value(w.row(r), c)
			continue
		}
		q, scale, minimum := w.block(w.row(r), c/32)
		out[c] = float32(q[c%32]) * scale
		if w.kind == kernel.Q4_1 {
			out[c] += minimum
		}
	}
	return out
}

// quantise rounds 32 activations to int8 with one scale.
func quantise(x []float32) (q [32]int, scale float32) {
	top := 0.0
	for _, v := range x[:32] {
		top = max(top, math.Abs(float64(v)))
	}
	scale = float32(top) * float32(1.0/127)
	if top <= 1e-36 {
		return q, scale
	}
	inverse := float32(127) / float32(top)
	for j, v := range x[:32] {
		q[j] = int(math.RoundToEven(float64(v * inverse)))
	}
	return q, scale
}

// dot is the product of row r with activations x, in the order that defines its bits.
func (w *weights) dot(r int, x []float32) float32 {
	sum, row := float32(0), w.row(r)
	if !w.kind.Integer() {
		for c := range w.cols {
			sum = fma(w.value(row, c), x[c], sum)
		}
		return sum
	}
	for b := range w.cols / 32 {
		wq, scale, minimum := w.block(row, b)
		xq, xscale := quantise(x[b*32:])
		product, total := 0, 0
		for j := range wq {
			product += wq[j] * xq[j]
			total += xq[j]
		}
		sum = fma(float32(product)*scale, xscale, sum)
		if w.kind == kernel.Q4_1 {
			sum = fma(minimum, xscale*float32(total), sum)
		}
	}
	return sum
}

// exp is e^x of a clamped x: e^(n ln 2 + r), a polynomial in r, n added to the exponent.
func exp(x float32) float32 {
	x = min(max(x, -86.5), 88)
	n := float32(math.RoundToEven(float64(x * 1.44269504)))
	r := fma(n, 2.12194440e-4, fma(n, -0.693359375, x))
	p := float32(1.0 / 120)
	for _, c := range []float32{1.0 / 24, 1.0 / 6, 0.5, 1, 1} {
		p = fma(p, r, c)
	}
	return math.Float32frombits(math.Float32bits(p) + uint32(int32(n))<<23)
}

func silu(gate, up float32) float32 { return float32(gate/(1+exp(-gate))) * up }

// fold adds 16 lanes, halves onto each other.
func fold(lanes []float32) float32 {
	if len(lanes) == 1 {
		return lanes[0]
	}
	h := len(lanes) / 2
	sum := make([]float32, h)
	for i := range sum {
		sum[i] = lanes[i] + lanes[i+h]
	}
	return fold(sum)
}

func softmax(x []float32) []float32 {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	out, lanes := make([]float32, len(x)), make([]float32, 16)
	for i, v := range x {
		out[i] = exp(v - top)
		lanes[i%16] += out[i]
	}
	inverse := 1 / fold(lanes)
	for i := range out {
		out[i] *= inverse
	}
	return out
}
