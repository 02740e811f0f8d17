package metric

import (
	"math"
	"slices"

	"treeline/internal/measure/record"
)

// minBandTokens is the least number of a request's tokens in a band for which it has a speed there.
const minBandTokens = 8

// ByPosition gives the time per token by how far the answer had come: 0 to 128 tokens, to 256, to 512 and so on, doubling.
// Only the first 128 tokens say little about long answers.
func ByPosition(requests []record.Request) []record.Band {
	return bands(requests, 128, func(*View) (int, bool) { return 0, true })
}

// ByContext gives the time per token by the depth of the context, prompt and answer together: 0 to 1024 tokens, to 2048
// and so on, doubling. Attention over what came before takes longer the more there is.
func ByContext(requests []record.Request) []record.Band {
	return bands(requests, 1024, func(v *View) (int, bool) { return v.Usage.PromptTokens, v.Usage.PromptTokens > 0 })
}

// bands spreads the gaps between arrivals over the tokens that ended them, and these over bands of positions that begin
// at offset, where that is known. It returns nothing for one band: that is the overall figure.
func bands(requests []record.Request, first int, offset func(*View) (at int, known bool)) []record.Band {
	var values [][]float64
	var spread []int
	for _, r := range coldOnes(requests) {
		v := NewView(r)
		if _, _, ok := v.decode(); !ok {
			continue
		}
		at, known := offset(v)
		if !known {
			continue
		}
		unsized := slices.ContainsFunc(v.Arrivals, func(a record.Arrival) bool { return a.Tokens == 0 })
		for i, ms := range v.perBand(first, at) {
			for len(values) <= i {
				values, spread = append(values, nil), append(spread, 0)
			}
			if math.IsNaN(ms) {
				continue
			}
			values[i] = append(values[i], ms)
			if unsized {
				spread[i]++
			}
		}
	}
	var out []record.Band
	from := 0
	for i, of := range values {
		to := first << i
		if len(of) > 0 {
			out = append(out, record.Band{From: from, To: to, TPOTms: summarizeInPlace(of, true), Spread: spread[i]})
		}
		from = to
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// perBand is the time per token in each band in milliseconds, NaN where there are too few tokens.
func (v *View) perBand(first, at int) (out []float64) {
	var tokens, ms []float64
	position, last := float64(at), int64(-1)
	v.eachArrival(func(t int64, n float64) {
		if last >= 0 && n > 0 {
			each := float64(t-last) / 1e6 / n
			for left := n; left > 0; {
				i, end := band(position, first)
				for len(tokens) <= i {
					tokens, ms = append(tokens, 0), append(ms, 0)
				}
				step := min(left, end-position)
				tokens[i] += step
				ms[i] += step * each
				position += step
				left -= step
			}
		} else {
			position += n
		}
		last = t
	})
	for i := range tokens {
		if tokens[i] < minBandTokens {
			out = append(out, math.NaN())
			continue
		}
		out = append(out, ms[i]/tokens[i])
	}
	return out
}

// band is the band of a position, and its end.
func band(position float64, first int) (i int, end float64) {
	end = float64(first)
	for position >= end {
		i++
		end *= 2
	}
	return i, end
}
