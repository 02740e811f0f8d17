package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFMA compares with arbitrary precision, above all where a sum in float64 falls between two float32 values.
func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() float32 {
		return float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(60)-30))
	}
	for range 200_000 {
		a, b, c := random(), random(), random()
		if rng.IntN(2) == 0 { // few mantissa bits: ties are common
			a, b = float32(rng.IntN(8192)-4096), float32(math.Ldexp(float64(rng.IntN(8192)-4096), -rng.IntN(40)))
		}
		exact := new(big.Float).SetPrec(600).SetFloat64(float64(a))
		exact.Mul(exact, big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("fma32(%v, %v, %v) = %v, want %v", a, b, c, got, want)
		}
	}
}

func TestExp(t *testing.T) {
	for v := float32(-86); v <= 87; v += 0.0137 {
		if got, want := float64(expGo(v)), math.Exp(float64(v)); math.Abs(got-want) > 1e-5*want {
			t.Fatalf("exp(%g) = %g, want %g", v, got, want)
		}
	}
}

// TestHalf: all half floats, by their definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		frac, exp := float64(h&1023), h>>10&31
		want := math.Ldexp(frac, -24)
		switch {
		case exp == 31 && frac != 0:
			want = math.NaN()
		case exp == 31:
			want = math.Inf(1)
		case exp > 0:
			want = math.Ldexp(1024+frac, exp-25)
		}
		if h>>15 != 0 {
			want = -want
		}
		if got := halfToFloat(uint16(h)); got != float32(want) && !(got != got && want != want) {
			t.Fatalf("half %#04x is %v, want %v", h, got, want)
		}
	}
}

func TestByName(t *testing.T) {
	for _, s := range Sets() {
		if got, err := ByName(s.Name); err != nil || got.Name != s.Name {
			t.Errorf("ByName(%q) = %v, %v", s.Name, got, err)
		}
	}
	if s, err := ByName(""); err != nil || s.Name != Best().Name {
		t.Errorf("ByName of nothing = %v, %v, want the best set", s, err)
	}
	if _, err := ByName("sse9"); err == nil || !strings.Contains(err.Error(), `"sse9" does not exist`) {
		t.Errorf("ByName(sse9): got error %v", err)
	}
	for _, name := range known {
		if _, err := ByName(name); err != nil && !strings.Contains(err.Error(), "cannot run it") {
			t.Errorf("ByName(%s): got error %v", name, err)
		}
	}
}

// TestNoAllocation: the hot calls leave the garbage collector alone.
func TestNoAllocation(t *testing.T) {
	s := Best()
	m, err := NewMatrix(Q4_1, 64, 128, make([]byte, PackedBytes(Q4_1, 64, 128)+Guard))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 5*128)
	acts, tmp := make([]byte, s.ActBytes(Q4_1, 5, 128)), make([]byte, s.TmpBytes(Q4_1, 2))
	out, scratch := make([]float32, 5*64), make([]float32, ScratchFloats)
	query := make([]byte, QueryBytes(64))
	n := testing.AllocsPerRun(20, func() {
		s.PackActs(Q4_1, acts, x, 128, 5, 128, 0, 2, tmp)
		s.MatMul(m, 0, 4, acts, 5, out, 64, Store, scratch)
		s.MatMulGated(m, 0, 1, acts, 5, out, 64, scratch)
		s.PackQuery(query, x, 64, 3, 64)
		s.Scores(x, 16, 1, query, 3, out, 64, scratch)
		s.Softmax(out, 60)
		s.Weighted(x, 16, 16, 16, query, 3, out, 64, scratch)
	})
	if n != 0 {
		t.Errorf("%g allocations per call", n)
	}
}

// TestMisfit: operands that do not fit are refused before assembly sees them.
func TestMisfit(t *testing.T) {
	s := Best()
	f := func(n int) []float32 { return make([]float32, n) }
	m, err := NewMatrix(F32, 32, 64, make([]byte, PackedBytes(F32, 32, 64)+Guard))
	if err != nil {
		t.Fatal(err)
	}
	acts, scratch := make([]byte, s.ActBytes(F32, 2, 64)), f(ScratchFloats)
	for name, call := range map[string]func(){
		"MatMul: out":      func() { s.MatMul(m, 0, 2, acts, 2, f(63), 32, Store, scratch) },
		"MatMul: panels":   func() { s.MatMul(m, 0, 3, acts, 2, f(64), 32, Store, scratch) },
		"MatMul: acts":     func() { s.MatMul(m, 0, 2, acts[1:], 2, f(64), 32, Store, scratch) },
		"MatMul: scratch":  func() { s.MatMul(m, 0, 2, acts, 2, f(64), 32, Store, scratch[1:]) },
		"MatMul: matrix":   func() { s.MatMul(&Matrix{F32, 33, 64, m.Data}, 0, 2, acts, 2, f(64), 32, Store, scratch) },
		"MatMulGated":      func() { s.MatMulGated(m, 0, 1, acts, 2, f(64), 32, scratch) },
		"PackActs: x":      func() { s.PackActs(F32, acts, f(127), 64, 2, 64, 0, 1, make([]byte, s.TmpBytes(F32, 1))) },
		"PackActs: chunks": func() { s.PackActs(F32, acts, f(128), 64, 2, 64, 1, 2, make([]byte, s.TmpBytes(F32, 1))) },
		"SumSquares":       func() { s.SumSquares(f(15)) },
		"ScaleMul":         func() { s.ScaleMul(f(32), f(32), f(16), 1) },
		"SiluMul":          func() { s.SiluMul(f(32), f(16), f(32)) },
		"Rope":             func() { s.Rope(f(32), f(15), f(16)) },
		"RopePairs":        func() { s.RopePairs(f(32), f(16), f(15)) },
		"Softmax":          func() { s.Softmax(f(31), 17) },
		"PackQuery":        func() { s.PackQuery(make([]byte, 64), f(32), 16, 2, 16) },
		"Scores":           func() { s.Scores(f(255), 16, 1, acts, 1, f(16), 16, scratch) },
		"Weighted":         func() { s.Weighted(f(256), 16, 16, 16, acts, 2, f(31), 16, scratch) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Errorf("%s: no refusal", name)
				} else if msg, ok := r.(string); !ok || !strings.Contains(msg, strings.Split(name, ":")[0]) {
					t.Errorf("%s: refused with %v", name, r)
				}
			}()
			call()
		}()
	}
}

func TestNewMatrixRefuses(t *testing.T) {
	mem := make([]byte, 1<<16)
	for _, tc := range []struct {
		kind       Kind
		rows, cols int
		mem        []byte
		want       string
	}{
		{Q4_1, 16, 40, mem, "blocks of 32"},
		{F32, 0, 64, mem, "at least one row"},
		{F32, 16, 64, mem[:PackedBytes(F32, 16, 64)], "memory"},
	} {
		if _, err := NewMatrix(tc.kind, tc.rows, tc.cols, tc.mem); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewMatrix(%s, %d, %d): got %v, want an error with %q", tc.kind, tc.rows, tc.cols, err, tc.want)
		}
	}
}
