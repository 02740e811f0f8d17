package kerneltest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The oracle's own shortcut, against arbitrary precision, with many ties.
func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		a, b := float32(rng.IntN(8192)-4096), float32(math.Ldexp(float64(rng.IntN(8192)-4096), -rng.IntN(60)))
		c := float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(40)-20))
		exact := new(big.Float).SetPrec(600).SetFloat64(float64(a))
		exact.Mul(exact, big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		if want, _ := exact.Float32(); fma(a, b, c) != want {
			t.Fatalf("fma(%v, %v, %v) = %v, want %v", a, b, c, fma(a, b, c), want)
		}
	}
}
