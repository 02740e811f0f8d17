package kernel

import "math"

// halfToFloat converts an IEEE 754 half float; exact.
func halfToFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case 0: // zero, subnormal: frac * 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// fma32 is a*b+c rounded once to float32, as a hardware FMA does. math.FMA rounds to float64 first, and a second
// rounding may differ; so the sum is rounded to odd in float64 before it is narrowed (Boldo, Melquiond 2008).
func fma32(a, b, c float32) float32 {
	p, d := float64(a)*float64(b), float64(c) // the product of two float32 is exact in float64
	s := p + d
	t := s - p
	if rest := (p - (s - t)) + (d - t); rest != 0 && math.Float64bits(s)&1 == 0 && !math.IsInf(s, 0) {
		if (rest > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}
