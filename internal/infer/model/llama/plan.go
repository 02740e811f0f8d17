package llama

import "treeline/internal/infer/kernel"

// part is the range [lo, hi) of some unit.
type part struct{ lo, hi int }

func (p part) n() int { return p.hi - p.lo }

// cols turns chunks into columns.
func (p part) cols() part { return part{p.lo * kernel.Chunk, p.hi * kernel.Chunk} }

// share is what one worker computes: ranges that never change, so that a worker finds its weights in its own cache and
// is the only one to write its columns (a cache line that two cores write costs more than the arithmetic on it).
type share struct {
	q            part    // query heads to project
	k            part    // key heads to project
	v            part    // panels of value columns to project
	attend       part    // query heads to attend with ...
	rows         part    // ... over rows n*lo/of to n*hi/of of every sequence
	of           int     //
	mix          [2]part // chunks of the attention's output to pack
	hidden       part    // chunks of the residual stream to pack
	hiddenPanels part    // panels of it to compute
	gated        part    // groups of the gated feed-forward matrix
	ffn          [2]part // chunks of its output to pack
	vocab        part    // panels of logits
}

// cut is part i of n of size units, as even as possible.
func cut(i, n, size int) part { return part{size * i / n, size * (i + 1) / n} }

// cutPairs is cut at even borders: two panels share a 128-byte pair of cache lines, and kernels take them together.
func cutPairs(i, n, size int) part {
	p := cut(i, n, (size+1)/2)
	return part{min(2*p.lo, size), min(2*p.hi, size)}
}

// dims are row lengths of buffers: sizes of the model, padded to whole chunks.
type dims struct{ hidden, heads, kvHeads, ffn, vocab int }

func (p params) dims() dims {
	return dims{
		hidden:  roundUp(p.hidden, kernel.Chunk),
		heads:   roundUp(p.heads*p.headDim, kernel.Chunk),
		kvHeads: roundUp(p.kvHeads*p.headDim, kernel.Chunk),
		ffn:     roundUp(kernel.GatedRows(p.ffn), kernel.Chunk),
		vocab:   roundUp(p.vocab, kernel.Panel),
	}
}

// plan divides the work of a model among n workers. mixAligned and ffnAligned say that a worker packs exactly the
// columns that it computed.
func plan(p params, n int) (shares []share, mixAligned, ffnAligned bool) {
	shares = make([]share, n)
	d, perHead := p.dims(), p.headDim/kernel.Panel
	groups := kernel.GatedRows(p.ffn) / (2 * kernel.Panel)
	const per = kernel.Chunk / kernel.Panel
	mixAligned, ffnAligned = p.headDim%kernel.Chunk == 0 && n <= p.heads, groups%per == 0
	for i := range shares {
		s := share{
			q:      cut(i, n, p.heads),
			attend: cut(i, n, p.heads),
			rows:   part{0, 1},
			of:     1,
			mix:    [2]part{cut(i, n, d.heads/kernel.Chunk)},
			hidden: cut(i, n, d.hidden/kernel.Chunk),
			gated:  cut(i, n, groups),
			ffn:    [2]part{cut(i, n, roundUp(p.ffn, kernel.Chunk)/kernel.Chunk)},
			vocab:  cut(i, n, d.vocab/kernel.Panel),
		}
		if n > p.heads {
			// More workers than heads: several share a head and divide its rows.
			h := i * p.heads / n
			lo, hi := (h*n+p.heads-1)/p.heads, ((h+1)*n+p.heads-1)/p.heads
			s.attend, s.rows, s.of = part{h, h + 1}, part{i - lo, i - lo + 1}, hi-lo
		}
		if mixAligned {
			each := p.headDim / kernel.Chunk
			s.mix[0] = part{s.attend.lo * each, s.attend.hi * each}
		}
		if ffnAligned {
			c := cut(i, n, groups/per)
			s.gated = part{c.lo * per, c.hi * per}
			s.ffn = [2]part{c, {c.lo + groups/per, c.hi + groups/per}}
		}
		s.hiddenPanels = cutPairs(i, n, (p.hidden+kernel.Panel-1)/kernel.Panel)
		shares[i] = s
	}
	// Keys go to those with few query heads, values fill up what is left.
	fair := float64(p.heads+2*p.kvHeads) * float64(perHead) / float64(n)
	have := make([]float64, n)
	for i, s := range shares {
		have[i] = float64(s.q.n() * perHead)
	}
	for i, k := range fill(have, fair, p.kvHeads, perHead) {
		shares[i].k = k
	}
	for i, v := range fill(have, fair, p.kvHeads*perHead, 1) {
		shares[i].v = v
	}
	return shares, mixAligned, ffnAligned
}

// fill divides units of a weight among workers in proportion to what each lacks to a fair share, and adds them to have.
func fill(have []float64, fair float64, units, weight int) []part {
	total := 0.0
	for _, h := range have {
		total += max(0, fair-h)
	}
	parts, seen, at := make([]part, len(have)), 0.0, 0
	for i, h := range have {
		seen += max(0, fair-h)
		end := units
		if total > 0 && i < len(have)-1 {
			end = min(units, int(float64(units)*seen/total+0.5))
		}
		parts[i] = part{at, max(at, end)}
		have[i] += float64(parts[i].n() * weight)
		at = parts[i].hi
	}
	return parts
}
