package simserver

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// chunk is one planned event: when it is due after the work on the request began, and the tokens in it.
type chunk struct {
	at     time.Duration
	tokens int
	same   bool // in one write with the chunk before it
}

// answer is what the law gives for one request, drawn before anything is sent.
type answer struct {
	chunks   []chunk
	tokens   int
	thinking int    // of them, the first ones are reasoning
	finish   string // stop or length
	rounds   int    // passes of speculation
	drafted  int
	accepted int
	perPos   []int // accepted by position
	fail     string
}

// draws gives the random numbers for one purpose: a pure function of seed, start and key. Effects of the start have
// no key; those of a prompt do not depend on the start.
func (s *Spec) draws(start uint64, parts ...string) *rand.Rand {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(s.Seed^(start*0x9e3779b97f4a7c15), h.Sum64()))
}

// factor is what the times of a request are multiplied with.
func (s *Spec) factor(prompt, request string) float64 {
	z := s.Vary.Start * s.draws(s.Start, "start").NormFloat64()
	z += s.Vary.Prompt * s.draws(0, "prompt", prompt).NormFloat64()
	z += s.Vary.Request * s.draws(s.Start, "request", request).NormFloat64()
	return math.Exp(z)
}

// plan draws the answer to a prompt of inputs tokens that are not in the cache. number tells requests with the same
// prompt apart.
func (s *Spec) plan(prompt string, number string, inputs, maxTokens int, ignoreEOS bool) answer {
	a := answer{tokens: maxTokens, finish: "length", thinking: s.Thinking}
	if s.Tokens > 0 {
		a.tokens = min(s.Tokens, maxTokens)
		if a.tokens < maxTokens {
			a.finish = "stop"
		}
	}
	if s.Natural && !ignoreEOS {
		own := 8 + int(s.draws(0, "length", prompt).ExpFloat64()*100)
		if own < a.tokens {
			a.tokens, a.finish = own, "stop"
		}
	}
	a.thinking = min(a.thinking, a.tokens)
	factor, rng := s.factor(prompt, number), s.draws(s.Start, "steps", number)
	step := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * factor * math.Exp(s.Vary.Step*rng.NormFloat64()))
	}
	at := step(s.TTFT + time.Duration(inputs)*s.Prefill)
	a.add(chunk{at: at, tokens: 1})
	for left := a.tokens - 1; left > 0; {
		n := 1
		if s.Spec != nil {
			at += step(s.Spec.Round)
			n = a.round(s.Spec, rng, left)
		} else {
			n = min(s.Form.PerEvent, left)
			for range n {
				at += step(s.TPOT)
			}
		}
		left -= n
		if s.Spec != nil && s.Spec.Burst == "tokens" {
			for i := range n {
				a.add(chunk{at: at, tokens: 1, same: i > 0})
			}
			continue
		}
		a.add(chunk{at: at, tokens: n})
	}
	a.fail = s.failure(number)
	return a
}

func (a *answer) add(c chunk) { a.chunks = append(a.chunks, c) }

// round draws how many tokens a round yields, at most left.
func (a *answer) round(d *Draft, rng *rand.Rand, left int) int {
	if a.perPos == nil {
		a.perPos = make([]int, len(d.Accept))
	}
	n := 0
	for n < len(d.Accept) && rng.Float64() < d.Accept[n] {
		n++
	}
	n = min(n, left-1)
	for i := range n {
		a.perPos[i]++
	}
	a.rounds++
	a.drafted += len(d.Accept)
	a.accepted += n
	return n + 1
}

func (s *Spec) failure(number string) string {
	u := s.draws(s.Start, "fails", number).Float64()
	for _, f := range []struct {
		what  string
		share float64
	}{{"refused", s.Fails.Refused}, {"in_stream", s.Fails.InStream}, {"cut", s.Fails.Cut}} {
		if u < f.share {
			return f.what
		}
		u -= f.share
	}
	return ""
}

// words are the text of tokens from..to of the answer to a prompt: the same in every start and for every method.
func words(prompt string, from, to int) string {
	h := fnv.New64a()
	h.Write([]byte(prompt))
	seed := h.Sum64()
	vocabulary := [...]string{"time", "tree", "line", "wave", "stone", "river", "count", "light", "paper", "glass", "north", "sound", "field", "cloud", "root", "leaf"}
	var b strings.Builder
	for i := from; i < to; i++ {
		seed := (seed + uint64(i)) * 0x9e3779b97f4a7c15
		b.WriteByte(' ')
		b.WriteString(vocabulary[seed>>60])
	}
	return b.String()
}

// promptTokens is the simulated length of a text: a token for every four bytes, at least one.
func promptTokens(text string) int { return max(1, (len(text)+3)/4) }
