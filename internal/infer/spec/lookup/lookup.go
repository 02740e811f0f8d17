// Package lookup is prompt lookup (NGRAM): a drafter that needs no model. It finds the most recent earlier occurrence
// of the newest tokens in prompt + output, longest match first, and proposes what followed there, as a chain.
//
// It pays where the answer copies: code edits, extraction, summaries, loops. Elsewhere it should stay silent, so the
// chain is cut where the estimated probability of its path falls below a threshold; the estimates are counted on the
// request itself (guard.go). The package keeps one request's tokens and nothing else; it shares nothing across requests.
package lookup

import (
	"fmt"

	"treeline/internal/infer/spec"
)

// MaxMatchLimit is the longest match that the index can hold.
const MaxMatchLimit = 8

// Options of a drafter.
type Options struct {
	MinMatch int // shortest n-gram looked up, >= 1
	MaxMatch int // longest n-gram looked up, <= MaxMatchLimit
	// MinProb cuts the chain before the first node whose estimated path probability is below it; 0 never cuts.
	// The break-even point is the price of one more row in a verify pass, in units of a plain decoding pass.
	MinProb float64
}

// DefaultOptions look up 6 to 2 tokens and never cut.
func DefaultOptions() Options { return Options{MinMatch: 2, MaxMatch: 6} }

// Validate says what is wrong with o.
func (o Options) Validate() error {
	if o.MinMatch < 1 || o.MaxMatch < o.MinMatch || o.MaxMatch > MaxMatchLimit {
		return fmt.Errorf("lookup: match lengths %d..%d: want 1 <= shortest <= longest <= %d", o.MinMatch, o.MaxMatch, MaxMatchLimit)
	}
	if !(o.MinProb >= 0 && o.MinProb <= 1) {
		return fmt.Errorf("lookup: probability threshold %v: want 0 to 1", o.MinProb)
	}
	return nil
}

// gram is an n-gram with unused places set to -1: an exact map key, no hash collisions to verify.
type gram [MaxMatchLimit]int32

// Drafter proposes for one request. Memory is bounded by the request's length: about 60 bytes per token and match
// length. It implements spec.Drafter.
type Drafter struct {
	opt    Options
	tokens []int32
	// at[k] maps each n-gram of length MinMatch+k to the position of its last token, most recent occurrence.
	at []map[gram]int32
	// earlier[k] is where the newest n-gram of that length occurred before, -1 when it did not.
	earlier []int32
	guard   guard
	chain   []guess // what the last look-up found, proposed or not; Append learns from it
}

// New returns a drafter with nothing appended. It panics on options that Validate refuses.
func New(o Options) *Drafter {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	n := o.MaxMatch - o.MinMatch + 1
	d := &Drafter{opt: o, at: make([]map[gram]int32, n), earlier: make([]int32, n), guard: newGuard()}
	for k := range d.at {
		d.at[k], d.earlier[k] = map[gram]int32{}, -1
	}
	return d
}

var _ spec.Drafter = (*Drafter)(nil)

// Append indexes tokens, in a time that does not depend on how many there are already.
func (d *Drafter) Append(tokens []int32) {
	d.guard.learn(d.chain, tokens)
	d.chain = d.chain[:0]
	for _, t := range tokens {
		d.tokens = append(d.tokens, t)
		d.index()
	}
}

// index enters the n-grams that end at the newest token and remembers where they were before.
func (d *Drafter) index() {
	last := len(d.tokens) - 1
	for k := range d.at {
		n := d.opt.MinMatch + k
		d.earlier[k] = -1
		if n > len(d.tokens) {
			continue
		}
		g := gram{-1, -1, -1, -1, -1, -1, -1, -1}
		copy(g[:], d.tokens[last+1-n:])
		if p, ok := d.at[k][g]; ok {
			d.earlier[k] = p
		}
		d.at[k][g] = int32(last)
	}
}

// Propose adds a chain of at most budget nodes to the tree.
func (d *Drafter) Propose(t *spec.Tree, budget int) {
	d.look(budget)
	prob, parent := 1.0, -1
	for _, g := range d.chain {
		if t.Len() >= budget {
			return
		}
		if prob *= d.guard.prob(g.match); prob < d.opt.MinProb {
			return
		}
		parent = t.Add(g.token, parent)
	}
}

// look fills d.chain with what followed the longest, then most recent, earlier occurrence. Where the copy reaches the
// end of the text it goes on with its own beginning, so a text that repeats with a short period is drafted in full.
func (d *Drafter) look(budget int) {
	d.chain = d.chain[:0]
	for k := len(d.at) - 1; k >= 0; k-- {
		from := d.earlier[k]
		if from < 0 {
			continue
		}
		// At least one guess is kept even when nothing may be proposed: the guard learns from it.
		for j := range max(budget, 1) {
			src, end := int(from)+1+j, len(d.tokens)
			g := guess{match: d.opt.MinMatch + k + j}
			if src < end {
				g.token = d.tokens[src]
			} else {
				g.token = d.chain[src-end].token
			}
			d.chain = append(d.chain, g)
		}
		return
	}
}
