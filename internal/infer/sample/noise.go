package sample

import (
	"math"
	"math/bits"
)

// The noise is counter-based: a hash of (seed, position, token id), no stream that must be read in order.
//
//	mix  = the finaliser of SplitMix64 (Steele, Lea, Flood 2014: "Fast splittable pseudorandom number generators",
//	       constants of Stafford's variant 13), a bijection of 64-bit words
//	key  = mix(mix(seed + golden) + pos*golden)
//	h    = mix(key + (id+1)*golden)
//	u    = (h>>12 + 1/2) / 2^52, exact in float64, inside (0,1)
//	G    = -ln(-ln(u))
//
// For a fixed seed and position, the noise of the tokens is one run of a SplitMix64 generator started at key.
const (
	golden    = 0x9e3779b97f4a7c15
	oddChoice = 0xd1342543de82ef95
)

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// noise is the Gumbel noise of one position of one request.
type noise struct{ key uint64 }

func newNoise(seed uint64, pos int) noise {
	return noise{mix(mix(seed+golden) + uint64(pos)*golden)}
}

// draw returns the 52 random bits of a token.
func (n noise) draw(id int32) uint64 { return mix(n.key+uint64(id+1)*golden) >> 12 }

// gumbel maps 52 random bits to standard Gumbel noise, between -3.6 and 36.8.
func gumbel(m uint64) float64 {
	u := (float64(m) + 0.5) * (1.0 / (1 << 52))
	return -ln(-ln(u))
}

// gumbelBound is never below gumbel(m). With v = 1-u and k the bit length of 2^52-m: -ln(u) >= v gives
// G <= -ln(v), and v >= (2^52-m)/2^53 >= 2^(k-1-53). It saves the two logarithms for almost every token.
func gumbelBound(m uint64) float64 {
	return float64(54-bits.Len64(1<<52-m)) * math.Ln2
}

// best is the candidate with the largest x + G; ties go to the lowest id. Candidates may come in any order.
func (n noise) best(cand []candidate) int32 {
	best, at := math.Inf(-1), int32(-1)
	for _, c := range cand {
		m := n.draw(c.id)
		// The margin covers the rounding of both logarithms.
		if c.x+gumbelBound(m)+1e-9 < best {
			continue
		}
		if s := c.x + gumbel(m); s > best || s == best && at >= 0 && c.id < at {
			best, at = s, c.id
		}
	}
	return at
}

// bestOfRow is best over a whole row of logits, divided by temperature, with min-p applied on the way.
func (n noise) bestOfRow(row []float32, temperature, minP float64) int32 {
	top := argmax(row)
	if top < 0 {
		return -1
	}
	max := float64(row[top]) / temperature
	floor := math.Inf(-1)
	if minP > 0 {
		floor = max + ln(minP)
	}
	if math.IsInf(max, 0) {
		return top // beyond all numbers, or a temperature that makes it so: no choice is left
	}
	// Start from the likeliest token: a good first score lets nearly all others be skipped by their bound.
	best, at := max+gumbel(n.draw(top)), top
	for i, v := range row {
		x := float64(v) / temperature
		if !(x >= floor) || math.IsInf(x, -1) {
			continue
		}
		m := n.draw(int32(i))
		if x+gumbelBound(m)+1e-9 < best {
			continue
		}
		if s := x + gumbel(m); s > best || s == best && int32(i) < at {
			best, at = s, int32(i)
		}
	}
	return at
}
