package llama

import (
	"fmt"
	"math"
)

// newRope is the rotation per position of every pair of head elements, in radians: base^(-2i/headDim) / freqs[i].
// freqs, the divisors of Llama 3's scaling, may be nil.
func newRope(p params, freqs []float32) ([]float64, error) {
	steps := make([]float64, p.headDim/2)
	for i := range steps {
		steps[i] = math.Pow(p.ropeBase, -2*float64(i)/float64(p.headDim))
		if freqs == nil {
			continue
		}
		if f := float64(freqs[i]); !(f > 0) || math.IsInf(f, 1) {
			return nil, fmt.Errorf("tensor rope_freqs.weight: value %d is %v, want it positive and finite", i, f)
		}
		steps[i] /= float64(freqs[i])
	}
	return steps, nil
}

// rotation is the memory of the cosines and sines of batch row i.
func (m *Model) rotation(i int) (cos, sin []float32) {
	half := len(m.rope)
	return m.buf.cos[i*half:][:half], m.buf.sin[i*half:][:half]
}

// rotate computes the rotation of batch row i from its position, in float64: exact enough at any position.
func (m *Model) rotate(i int) {
	cos, sin := m.rotation(i)
	for k, step := range m.rope {
		s, c := math.Sincos(float64(m.layout.rows[i].pos) * step)
		cos[k], sin[k] = float32(c), float32(s)
	}
}
