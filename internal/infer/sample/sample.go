// Package sample turns a row of logits into a token by noise-coupled sampling.
//
// The token at absolute position i of a request is
//
//	argmax over ids of transform(logits)[id] + G(seed, i, id)
//
// where G is Gumbel noise from a counter-based hash (noise.go), zero at temperature 0. By the Gumbel-max trick this
// is a draw from softmax(transform(logits)). It is a pure function of logits, request and position: it does not
// matter in which order, in which batch or how often positions are evaluated. That is what makes speculation exact:
// a draft token is right when it equals this token, and nothing statistical is left to argue about.
//
// The package knows no model, no tokenizer and no batch. The engine calls it once per emitted token.
package sample

import "math"

// Params are a request's sampling parameters. The zero value is greedy decoding.
type Params struct {
	Temperature float64 // 0 = argmax of the biased and penalised logits; no noise, no truncation
	TopK        int     // keep the k largest; <= 0 keeps all
	TopP        float64 // keep the smallest set whose mass reaches it; <= 0 or >= 1 keeps all
	MinP        float64 // keep tokens with p >= MinP * p_max; <= 0 keeps all
	Presence    float64 // subtracted once from every token that was generated before
	Frequency   float64 // subtracted for each time that a token was generated before
	Bias        []Bias  // added to logits, first of all; ids are distinct
	Seed        uint64  // already mixed for the choice (ChoiceSeed)
}

// Bias is one entry of logit_bias.
type Bias struct {
	ID    int32
	Value float64
}

// Penalised tells whether the parameters need the counts of generated tokens.
func (p *Params) Penalised() bool { return p.Presence != 0 || p.Frequency != 0 }

// Point is where on its own path a row of logits stands.
type Point struct {
	Pos    int           // absolute position of the token to be chosen: the row's position + 1
	Counts map[int32]int // how often each token was generated on the path (prompt not counted); nil without penalties
	Banned []int32       // tokens that may not be chosen here (end of sequence before min_tokens)
}

// Sampler holds scratch memory. It carries no state from one call to the next and is not safe for concurrent use.
type Sampler struct {
	row  []float32
	cand []candidate
}

type candidate struct {
	id int32
	x  float64
}

// Token chooses the token of one row. logits is not changed. Ties go to the lowest id. It returns -1 when no token
// can be chosen (every logit is NaN or -Inf).
//
// Order of the transforms: logit_bias, presence and frequency penalty, bans; division by temperature; top-k; top-p
// on the mass within the top-k set (a token stays while the mass before it is below TopP); min-p.
func (s *Sampler) Token(logits []float32, p *Params, at Point) int32 {
	row := s.adjust(logits, p, at)
	if p.Temperature <= 0 {
		return argmax(row)
	}
	n := newNoise(p.Seed, at.Pos)
	// TopK = 1 leaves one token, whatever the noise.
	if p.TopK == 1 {
		return argmax(row)
	}
	topP := p.TopP > 0 && p.TopP < 1
	if p.TopK > 0 && p.TopK < len(row) || topP {
		return n.best(s.truncated(row, p))
	}
	return n.bestOfRow(row, p.Temperature, p.MinP)
}

// adjust applies everything that comes before temperature. It copies the row only when something is to be changed.
func (s *Sampler) adjust(logits []float32, p *Params, at Point) []float32 {
	penalise := p.Penalised() && len(at.Counts) > 0
	if len(p.Bias) == 0 && len(at.Banned) == 0 && !penalise {
		return logits
	}
	s.row = append(s.row[:0], logits...)
	for _, b := range p.Bias {
		if int(b.ID) < len(s.row) && b.ID >= 0 {
			s.row[b.ID] = float32(float64(s.row[b.ID]) + b.Value)
		}
	}
	if penalise {
		for id, c := range at.Counts {
			if c > 0 && int(id) < len(s.row) && id >= 0 {
				minus := float64(p.Frequency*float64(c)) + p.Presence
				s.row[id] = float32(float64(s.row[id]) - minus)
			}
		}
	}
	for _, id := range at.Banned {
		if int(id) < len(s.row) && id >= 0 {
			s.row[id] = float32(math.Inf(-1))
		}
	}
	return s.row
}

// argmax is the lowest id of the largest logit, -1 when none is above -Inf. NaN never wins.
func argmax(row []float32) int32 {
	best, at := float32(math.Inf(-1)), int32(-1)
	i := 0
	for ; i+8 <= len(row); i += 8 { // nearly every block of eight has nothing new: one pass of predictable branches
		b := row[i : i+8 : i+8]
		if b[0] > best || b[1] > best || b[2] > best || b[3] > best || b[4] > best || b[5] > best || b[6] > best || b[7] > best {
			for j, v := range b {
				if v > best {
					best, at = v, int32(i+j)
				}
			}
		}
	}
	for ; i < len(row); i++ {
		if row[i] > best {
			best, at = row[i], int32(i)
		}
	}
	return at
}

// ChoiceSeed is the seed of choice k (from 0) of a request whose seed is seed.
func ChoiceSeed(seed uint64, k int) uint64 {
	return mix(mix(seed+golden) ^ uint64(k)*oddChoice)
}
