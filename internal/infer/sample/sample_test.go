package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// naive is the definition, written for reading: full sort, all logarithms, standard library's exp and log.
func naive(logits []float32, p Params, at Point) int32 {
	row := make([]float64, len(logits))
	for i, v := range logits {
		row[i] = float64(v)
	}
	f32 := func(x float64) float64 { return float64(float32(x)) }
	for _, b := range p.Bias {
		row[b.ID] = f32(row[b.ID] + b.Value)
	}
	for id, c := range at.Counts {
		row[id] = f32(row[id] - (p.Frequency*float64(c) + p.Presence))
	}
	for _, id := range at.Banned {
		row[id] = math.Inf(-1)
	}
	ids := keep(row, p)
	best, token := math.Inf(-1), int32(-1)
	slices.Sort(ids)
	for _, id := range ids {
		s := row[id]
		if p.Temperature > 0 {
			m := newNoise(p.Seed, at.Pos).draw(id)
			s = row[id]/p.Temperature - math.Log(-math.Log((float64(m)+0.5)/(1<<52)))
		}
		if s > best {
			best, token = s, id
		}
	}
	return token
}

// keep is the set that the truncations leave.
func keep(row []float64, p Params) []int32 {
	ids := make([]int32, len(row))
	for i := range ids {
		ids[i] = int32(i)
	}
	if p.Temperature <= 0 {
		return ids
	}
	sort.SliceStable(ids, func(a, b int) bool { return row[ids[a]] > row[ids[b]] })
	if p.TopK > 0 && p.TopK < len(ids) {
		ids = ids[:p.TopK]
	}
	max, total := row[ids[0]], 0.0
	prob := func(id int32) float64 { return math.Exp((row[id] - max) / p.Temperature) }
	for _, id := range ids {
		total += prob(id)
	}
	if p.TopP > 0 && p.TopP < 1 {
		before, n := 0.0, 0
		for n < len(ids) && (n == 0 || before < p.TopP*total) {
			before += prob(ids[n])
			n++
		}
		ids = ids[:n]
	}
	if p.MinP > 0 {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return prob(id) < p.MinP })
	}
	return ids
}

func drawParams(t *rapid.T, vocab int) (Params, Point) {
	p := Params{
		Temperature: rapid.SampledFrom([]float64{0, 0.3, 0.8, 1, 1.7}).Draw(t, "temperature"),
		TopK:        rapid.SampledFrom([]int{0, 0, 1, 2, 5, 40, vocab, vocab + 1}).Draw(t, "topk"),
		TopP:        rapid.SampledFrom([]float64{0, 1, 0.1, 0.5, 0.9, 0.999}).Draw(t, "topp"),
		MinP:        rapid.SampledFrom([]float64{0, 0, 0.01, 0.2}).Draw(t, "minp"),
		Seed:        rapid.Uint64().Draw(t, "seed"),
	}
	at := Point{Pos: rapid.IntRange(0, 1<<20).Draw(t, "pos")}
	if rapid.Bool().Draw(t, "penalties") {
		p.Presence = rapid.Float64Range(-2, 2).Draw(t, "presence")
		p.Frequency = rapid.Float64Range(-2, 2).Draw(t, "frequency")
		at.Counts = rapid.MapOf(rapid.Int32Range(0, int32(vocab-1)), rapid.IntRange(1, 5)).Draw(t, "counts")
	}
	if rapid.Bool().Draw(t, "bias") {
		p.Bias = []Bias{{int32(rapid.IntRange(0, vocab-1).Draw(t, "bias id")), rapid.Float64Range(-100, 100).Draw(t, "bias value")}}
	}
	if rapid.Bool().Draw(t, "ban") {
		at.Banned = []int32{0}
	}
	return p, at
}

func TestTokenIsTheDefinition(t *testing.T) {
	var s Sampler
	rapid.Check(t, func(t *rapid.T) {
		vocab := rapid.IntRange(2, 300).Draw(t, "vocab")
		scale := rapid.SampledFrom([]float64{0.1, 1, 4, 12}).Draw(t, "scale")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "logits"), 1))
		logits := make([]float32, vocab)
		for i := range logits {
			logits[i] = float32(r.NormFloat64() * scale)
			if rapid.IntRange(0, 9).Draw(t, "grid") == 0 { // equal logits: ties
				logits[i] = float32(math.Round(float64(logits[i])))
			}
		}
		before := slices.Clone(logits)
		p, at := drawParams(t, vocab)
		got, want := s.Token(logits, &p, at), naive(logits, p, at)
		if got != want {
			t.Fatalf("Token(%+v, %+v) = %d, want %d", p, at, got, want)
		}
		if again := s.Token(logits, &p, at); again != got {
			t.Fatalf("second call gave %d, first %d", again, got)
		}
		if !slices.Equal(before, logits) {
			t.Fatal("Token changed the logits")
		}
	})
}

// TestGumbelMaxIsSoftmax draws from fixed seeds and positions and compares with softmax by chi-square.
func TestGumbelMaxIsSoftmax(t *testing.T) {
	logits := []float32{1, 0, -1, 2, 0.5, -3, 1, 1.5}
	for _, tc := range []struct {
		name string
		p    Params
	}{
		{"plain", Params{Temperature: 1}},
		{"cold", Params{Temperature: 0.4}},
		{"hot", Params{Temperature: 2.5}},
		{"top-k", Params{Temperature: 1, TopK: 3}},
		{"top-p", Params{Temperature: 1, TopP: 0.7}},
		{"min-p", Params{Temperature: 1, MinP: 0.3}},
		{"penalty", Params{Temperature: 1, Presence: 0.5, Frequency: 0.25}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const draws = 40000
			var s Sampler
			counts := map[int32]int{3: 2, 0: 1}
			seen := make([]float64, len(logits))
			for i := range draws {
				p := tc.p
				p.Seed = ChoiceSeed(uint64(i/200), i%3)
				seen[s.Token(logits, &p, Point{Pos: i % 200, Counts: counts})]++
			}
			row := make([]float64, len(logits))
			for i, v := range logits {
				row[i] = float64(v)
				if c := counts[int32(i)]; c > 0 {
					row[i] -= tc.p.Presence + tc.p.Frequency*float64(c)
				}
			}
			ids, total := keep(row, tc.p), 0.0
			for _, id := range ids {
				total += math.Exp(row[id] / tc.p.Temperature)
			}
			chi2, left := 0.0, float64(draws)
			for _, id := range ids {
				want := draws * math.Exp(row[id]/tc.p.Temperature) / total
				chi2 += (seen[id] - want) * (seen[id] - want) / want
				left -= seen[id]
			}
			if left != 0 {
				t.Errorf("%v draws fell outside the kept set", left)
			}
			limit := distuv.ChiSquared{K: float64(len(ids) - 1)}.Quantile(0.999)
			if chi2 > limit {
				t.Errorf("chi-square = %.1f, above %.1f (99.9 %%)", chi2, limit)
			}
		})
	}
}

// TestNoiseIsIndependent checks that neighbouring positions, tokens, seeds and choices share no noise.
func TestNoiseIsIndependent(t *testing.T) {
	corr := func(f func(i int) (uint64, uint64)) float64 {
		const n = 20000
		sum := 0.0
		for i := range n {
			a, b := f(i)
			sum += (float64(a)/(1<<52) - 0.5) * (float64(b)/(1<<52) - 0.5) * 12
		}
		return sum / math.Sqrt(n) // standard normal when independent
	}
	for name, f := range map[string]func(i int) (uint64, uint64){
		"position": func(i int) (uint64, uint64) { return newNoise(7, i).draw(3), newNoise(7, i+1).draw(3) },
		"token":    func(i int) (uint64, uint64) { return newNoise(7, 9).draw(int32(i)), newNoise(7, 9).draw(int32(i + 1)) },
		"diagonal": func(i int) (uint64, uint64) { return newNoise(7, i).draw(5), newNoise(7, i+1).draw(4) },
		"seed":     func(i int) (uint64, uint64) { return newNoise(uint64(i), 9).draw(3), newNoise(uint64(i+1), 9).draw(3) },
		"choice": func(i int) (uint64, uint64) {
			return newNoise(ChoiceSeed(uint64(i), 0), 1).draw(3), newNoise(ChoiceSeed(uint64(i), 1), 1).draw(3)
		},
	} {
		if z := corr(f); math.Abs(z) > 4 {
			t.Errorf("%s: neighbouring noise correlates, z = %.1f", name, z)
		}
	}
}

// The noise is part of the interface: a change of it changes every sampled text.
func TestNoiseGolden(t *testing.T) {
	for _, tc := range []struct {
		seed uint64
		pos  int
		id   int32
		want uint64
	}{
		{0, 0, 0, 0x568a9b0b1a2c0}, {42, 17, 49151, 0x4acc9acb4c8c}, {math.MaxUint64, 4095, 7, 0x73d7e322c9414},
	} {
		if got := newNoise(tc.seed, tc.pos).draw(tc.id); got != tc.want {
			t.Errorf("draw(%d, %d, %d) = %#x, want %#x", tc.seed, tc.pos, tc.id, got, tc.want)
		}
	}
	if got, want := ChoiceSeed(1, 2), uint64(0xec8991280680b330); got != want {
		t.Errorf("ChoiceSeed(1, 2) = %#x, want %#x", got, want)
	}
}

func TestGumbelBound(t *testing.T) {
	for _, m := range []uint64{0, 1, 2, 1 << 51, 1<<51 - 1, 1<<52 - 1, 1<<52 - 2, 1<<52 - 3, 1<<52 - 4, 1<<52 - 5} {
		if g, b := gumbel(m), gumbelBound(m); !(g <= b+1e-12) || math.IsInf(g, 0) || math.IsNaN(g) {
			t.Errorf("gumbel(%#x) = %v, bound %v", m, g, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := uint64(1)<<52 - 1 - rapid.Uint64Range(0, 1<<52-1).Draw(t, "m")
		if g, b := gumbel(m), gumbelBound(m); g > b+1e-12 {
			t.Fatalf("gumbel(%#x) = %v above its bound %v", m, g, b)
		}
	})
}

func TestLnExp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-40, 40).Draw(t, "ln x"))
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 4e-16*math.Max(1, math.Abs(want))+2e-16 {
			t.Fatalf("ln(%v) = %v, want %v", x, got, want)
		}
		y := rapid.Float64Range(-600, 600).Draw(t, "y")
		if got, want := exp(y), math.Exp(y); math.Abs(got/want-1) > 2e-14 {
			t.Fatalf("exp(%v) = %v, want %v", y, got, want)
		}
	})
	if exp(-701) != 0 || exp(0) != 1 || ln(1) != 0 {
		t.Errorf("exp(-701), exp(0), ln(1) = %v, %v, %v, want 0, 1, 0", exp(-701), exp(0), ln(1))
	}
}

func TestTokenEdges(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		name   string
		logits []float32
		p      Params
		want   int32
	}{
		{"greedy tie takes the lowest id", []float32{1, 3, 3}, Params{}, 1},
		{"NaN never wins, greedy", []float32{nan, -1}, Params{}, 1},
		{"NaN never wins, sampled", []float32{nan, -1}, Params{Temperature: 1}, 1},
		{"NaN never wins, top-p", []float32{nan, -1}, Params{Temperature: 1, TopP: 0.5}, 1},
		{"NaN never wins, top-k", []float32{nan, -1, nan}, Params{Temperature: 1, TopK: 2}, 1},
		{"nothing to choose", []float32{nan, -inf}, Params{}, -1},
		{"nothing to choose, sampled", []float32{nan, -inf}, Params{Temperature: 1}, -1},
		{"nothing to choose, top-p", []float32{nan, -inf}, Params{Temperature: 1, TopP: .5}, -1},
		{"infinite logit", []float32{0, inf, 5}, Params{Temperature: 1}, 1},
		{"infinite logit, top-p", []float32{0, inf, 5}, Params{Temperature: 1, TopP: .5}, 1},
		{"temperature near 0", []float32{-3, -2}, Params{Temperature: 1e-320}, 1},
		{"temperature near 0, top-k", []float32{-3, -2, -4}, Params{Temperature: 1e-320, TopK: 2}, 1},
		{"temperature near 0, top-p", []float32{3, 4}, Params{Temperature: 1e-320, TopP: .5}, 1},
		{"top-k 1 is greedy", []float32{0, 2, 1}, Params{Temperature: 9, TopK: 1, Seed: 5}, 1},
		{"bias decides", []float32{0, 2, 1}, Params{Bias: []Bias{{0, 100}}}, 0},
		{"bias of an unknown id", []float32{0, 2, 1}, Params{Bias: []Bias{{7, 100}, {-1, 100}}}, 1},
	} {
		var s Sampler
		if got := s.Token(tc.logits, &tc.p, Point{}); got != tc.want {
			t.Errorf("%s: Token = %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestTokenDoesNotAllocate(t *testing.T) {
	logits := bigRow()
	var s Sampler
	counts := map[int32]int{5: 1}
	for _, p := range benchParams {
		f := func() { s.Token(logits, &p.p, Point{Pos: 3, Counts: counts}) }
		f()
		if n := testing.AllocsPerRun(5, f); n > 0 {
			t.Errorf("%s: %v allocations a token, want 0", p.name, n)
		}
	}
}

var benchParams = []struct {
	name string
	p    Params
}{
	{"greedy", Params{}},
	{"plain", Params{Temperature: 1}},
	{"topk40", Params{Temperature: 1, TopK: 40}},
	{"topp95", Params{Temperature: 0.8, TopP: 0.95}},
	{"topk40topp95", Params{Temperature: 0.8, TopK: 40, TopP: 0.95}},
	{"minp05", Params{Temperature: 1, MinP: 0.05}},
	{"penalty", Params{Temperature: 1, Presence: 1}},
}

func bigRow() []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, 49152)
	for i := range logits {
		logits[i] = float32(r.NormFloat64()*3 + 5)
	}
	logits[777] = 21
	return logits
}

func BenchmarkToken(b *testing.B) {
	logits := bigRow()
	counts := map[int32]int{5: 1, 900: 2}
	for _, bp := range benchParams {
		b.Run(bp.name, func(b *testing.B) {
			var s Sampler
			for i := 0; b.Loop(); i++ {
				s.Token(logits, &bp.p, Point{Pos: i, Counts: counts})
			}
		})
	}
}
