package sample

import "math"

// ln and exp are written out here, with every product rounded by a conversion, because the standard library's differ
// in the last bit between architectures (assembly here, fused multiply-add there). A seed then gives the same text
// wherever the logits are the same. Both are good to about 1e-15 relative, which tests check.

// ln is the natural logarithm of a positive finite number.
func ln(x float64) float64 {
	f, k := math.Frexp(x) // x = f * 2^k, f in [1/2, 1)
	if f < math.Sqrt2/2 {
		f, k = f*2, k-1
	}
	// ln f = 2 atanh(s) with s = (f-1)/(f+1), |s| <= 0.172: the odd series to s^23 leaves less than 1e-19.
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	p := 1.0 / 21
	for _, c := range [...]float64{1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3} {
		p = float64(p*z) + c
	}
	log := 2*s + float64(2*float64(s*z)*p)
	return float64(float64(k)*math.Ln2) + log
}

// exp is e to the power x, for x in [-700, 700]; below, 0.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	const shift = 3 << 51 // adding it rounds to a whole number, in the lowest bits
	kf := float64(x*math.Log2E) + shift
	k := kf - shift
	const hi, lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts, k*hi is exact
	r := (x - float64(k*hi)) - float64(k*lo)
	// Taylor to r^11 in Estrin's grouping, |r| <= ln2/2: the rest is below 1e-14 relative.
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	a := 1 + r + float64(r2*(1.0/2+float64(r*(1.0/6))))
	b := 1.0/24 + float64(r*(1.0/120)) + float64(r2*(1.0/720+float64(r*(1.0/5040))))
	c := 1.0/40320 + float64(r*(1.0/362880)) + float64(r2*(1.0/3628800+float64(r*(1.0/39916800))))
	p := a + float64(r4*(b+float64(r4*c)))
	return p * math.Float64frombits((math.Float64bits(kf)+1023)<<52)
}
