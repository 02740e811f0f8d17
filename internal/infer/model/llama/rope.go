package llama

import "math"

// rope holds the cosines and sines of all positions, one row of headDim/2 per position.
type rope struct {
	half     int
	cos, sin []float32
}

// newRope computes angle(pos, i) = pos * base^(-2i/headDim) / freqs[i] in float64; freqs (Llama 3 scaling) may be nil.
// cos and sin must hold maxLen rows.
func newRope(p params, freqs []float32, maxLen int, cos, sin []float32) rope {
	r := rope{half: p.headDim / 2, cos: cos, sin: sin}
	for i := range r.half {
		step := math.Pow(p.ropeBase, -2*float64(i)/float64(p.headDim))
		if freqs != nil {
			step /= float64(freqs[i])
		}
		for pos := range maxLen {
			s, c := math.Sincos(float64(pos) * step)
			r.cos[pos*r.half+i], r.sin[pos*r.half+i] = float32(c), float32(s)
		}
	}
	return r
}

func (r *rope) at(pos int) (cos, sin []float32) {
	return r.cos[pos*r.half : (pos+1)*r.half], r.sin[pos*r.half : (pos+1)*r.half]
}
