package sample

import (
	"cmp"
	"math"
	"slices"
)

// truncated is the set of candidates that top-k, top-p and min-p leave, with logits divided by temperature.
func (s *Sampler) truncated(row []float32, p *Params) []candidate {
	top := argmax(row)
	if top < 0 {
		return nil
	}
	max := float64(row[top]) / p.Temperature
	if math.IsInf(max, 0) { // beyond all numbers, or a temperature that makes it so: no choice is left
		return append(s.cand[:0], candidate{top, 0})
	}
	s.cand = s.cand[:0]
	topP := p.TopP > 0 && p.TopP < 1
	if p.TopK > 0 && p.TopK < len(row) {
		s.selectTopK(row, p.Temperature, p.TopK)
		if topP {
			slices.SortFunc(s.cand, likelierFirst)
			s.cand = nucleus(s.cand, mass(s.cand, max), p.TopP, max)
		}
	} else if topP {
		s.selectTopP(row, p.Temperature, p.TopP, max)
	}
	if p.MinP > 0 {
		floor := max + ln(p.MinP)
		s.cand = slices.DeleteFunc(s.cand, func(c candidate) bool { return c.x < floor })
	}
	return s.cand
}

// likelierFirst orders by falling logit, equal ones by rising id: the one total order that ties follow everywhere.
func likelierFirst(a, b candidate) int {
	if a.x != b.x {
		return cmp.Compare(b.x, a.x)
	}
	return cmp.Compare(a.id, b.id)
}

// selectTopK leaves the k first candidates of likelierFirst's order in s.cand, as a heap with the last of them on
// top: one pass over the row, most tokens cost one comparison.
func (s *Sampler) selectTopK(row []float32, temperature float64, k int) {
	h := s.cand
	for i, v := range row {
		c := candidate{int32(i), float64(v) / temperature}
		if math.IsNaN(c.x) || math.IsInf(c.x, -1) {
			continue
		}
		switch {
		case len(h) < k:
			h = append(h, c)
			siftUp(h)
		case c.x > h[0].x: // an equal logit has a higher id than all that are in: it stays out
			h[0] = c
			siftDown(h)
		}
	}
	s.cand = h
}

func siftUp(h []candidate) {
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if likelierFirst(h[i], h[up]) <= 0 {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func siftDown(h []candidate) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && likelierFirst(h[c+1], h[c]) > 0 {
			c++
		}
		if likelierFirst(h[c], h[i]) <= 0 {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// selectTopP leaves the nucleus of a whole row in s.cand. The mass is summed over the row in order of ids; then only
// the tokens near the top are sorted, and the reach is doubled until they hold enough mass.
func (s *Sampler) selectTopP(row []float32, temperature, topP, max float64) {
	// What is left out of the sum is below e^-40 = 4e-18 of the top token each.
	cut := float32((max - 40) * temperature)
	total := 0.0
	for _, v := range row {
		if v > cut {
			total += exp(float64(v)/temperature - max)
		}
	}
	for reach := 3.0; ; reach *= 2 {
		h, floor := s.cand[:0], max-reach
		cut := float32(floor*temperature - 1e-3*math.Abs(floor*temperature)) // a cheap first test, looser than the real one
		for i, v := range row {
			if v < cut {
				continue
			}
			if x := float64(v) / temperature; x >= floor {
				h = append(h, candidate{int32(i), x})
			}
		}
		s.cand = h
		if reach > 40 || mass(h, max) >= topP*total {
			break
		}
	}
	slices.SortFunc(s.cand, likelierFirst)
	s.cand = nucleus(s.cand, total, topP, max)
}

// mass sums exp(x - max).
func mass(cand []candidate, max float64) float64 {
	sum := 0.0
	for _, c := range cand {
		sum += exp(c.x - max)
	}
	return sum
}

// nucleus keeps the sorted candidates whose preceding mass is below topP of the total. The first always stays.
func nucleus(cand []candidate, total, topP, max float64) []candidate {
	before, limit := 0.0, topP*total
	for i, c := range cand {
		if before >= limit && i > 0 {
			return cand[:i]
		}
		before += exp(c.x - max)
	}
	return cand
}
