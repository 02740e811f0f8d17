package kernel

import "math"

// fold16 adds 16 lanes in the order of a vector reduction: halves onto each other, four times.
func fold16(l *[16]float32) float32 {
	for n := 8; n >= 1; n /= 2 {
		for i := range n {
			l[i] += l[i+n]
		}
	}
	return l[0]
}

func sumSquaresGo(x *float32, n int) float32 {
	var l [16]float32
	for i, v := range floats(x, n) {
		l[i%16] = fma32(v, v, l[i%16])
	}
	return fold16(&l)
}

func scaleMulGo(dst, x, w *float32, n int, s float32) {
	xs, ws := floats(x, n), floats(w, n)
	for i := range floats(dst, n) {
		floats(dst, n)[i] = float32(xs[i]*s) * ws[i]
	}
}

func ropeGo(v, cos, sin *float32, half int) {
	a, b := floats(v, 2*half)[:half], floats(v, 2*half)[half:]
	c, s := floats(cos, half), floats(sin, half)
	for i := range half {
		x, y := a[i], b[i]
		a[i] = fma32(x, c[i], -float32(y*s[i]))
		b[i] = fma32(y, c[i], float32(x*s[i]))
	}
}

// ropePairsGo is ropeGo for element 2i with element 2i+1.
func ropePairsGo(v, cos, sin *float32, half int) {
	p, c, s := floats(v, 2*half), floats(cos, half), floats(sin, half)
	for i := range half {
		x, y := p[2*i], p[2*i+1]
		p[2*i] = fma32(x, c[i], -float32(y*s[i]))
		p[2*i+1] = fma32(y, c[i], float32(x*s[i]))
	}
}

// expGo is e^x for x clamped to [-86.5, 88]: x = n ln2 + r with ln2 in two parts, a polynomial of degree 5 in r
// (Cephes' reduction, Taylor coefficients), and n added to the exponent.
func expGo(x float32) float32 {
	x = min(max(x, -86.5), 88)
	n := float32(math.RoundToEven(float64(float32(x * 1.44269504))))
	x = fma32(n, -0.693359375, x)
	x = fma32(n, 2.12194440e-4, x)
	p := float32(1.0 / 120)
	for _, c := range [5]float32{1.0 / 24, 1.0 / 6, 0.5, 1, 1} {
		p = fma32(p, x, c)
	}
	return math.Float32frombits(math.Float32bits(p) + uint32(int32(n))<<23)
}

// siluMulGo: dst = gate / (1 + e^-gate) * up for rows of 16; those of dst are dstride bytes apart.
func siluMulGo(dst *float32, dstride int, gate, up *float32, rows int) {
	g, u := floats(gate, rows*Panel), floats(up, rows*Panel)
	for r := range rows {
		d := floats(dst, r*dstride/4+Panel)[r*dstride/4:]
		for i := range d {
			v := g[r*Panel+i]
			d[i] = float32(v/(1+expGo(0-v))) * u[r*Panel+i]
		}
	}
}

// softmaxGo works in place on n values, n a multiple of 16; the sum is taken in 16 lanes, lane = index mod 16.
func softmaxGo(x *float32, n int) {
	xs := floats(x, n)
	top := xs[0]
	for _, v := range xs {
		top = max(top, v)
	}
	var l [16]float32
	for i, v := range xs {
		xs[i] = expGo(v - top)
		l[i%16] += xs[i]
	}
	inv := 1 / fold16(&l)
	for i := range xs {
		xs[i] *= inv
	}
}

func storeGo(out *float32, ostride, pstride int, c *float32, cstride, rows, np, add int) {
	for p := range np {
		src := floats(c, (np * cstride / 4))[p*cstride/4:]
		for r := range rows {
			dst := floats(out, (r*ostride+p*pstride)/4+Panel)[(r*ostride+p*pstride)/4:]
			for i := range Panel {
				if add != 0 {
					dst[i] += src[r*Panel+i]
				} else {
					dst[i] = src[r*Panel+i]
				}
			}
		}
	}
}
