package llama

import (
	"fmt"
	"math"

	"treeline/internal/infer/model"
)

// params are the numbers that fix the computation of a llama-shaped model.
type params struct {
	layers, hidden, heads, kvHeads, headDim, ffn, vocab, context int

	eps      float64
	ropeBase float64
}

// metadata is what the loader asks of a file's key-value section.
type metadata interface {
	Uint(key string) (uint64, bool)
	Float(key string) (float64, bool)
	String(key string) (string, bool)
}

// readParams takes the shape of the model from the file's llama.* keys; vocab is the number of rows of the embedding.
func readParams(meta metadata, vocab int) (params, error) {
	arch, _ := meta.String("general.architecture")
	if arch != "llama" {
		return params{}, fmt.Errorf("architecture %q is not supported (llama is)", arch)
	}
	r := keyReader{meta: meta}
	p := params{
		layers:   r.size("llama.block_count", 0),
		hidden:   r.size("llama.embedding_length", 0),
		heads:    r.size("llama.attention.head_count", 0),
		ffn:      r.size("llama.feed_forward_length", 0),
		context:  r.size("llama.context_length", 0),
		vocab:    r.size("llama.vocab_size", vocab),
		eps:      r.float("llama.attention.layer_norm_rms_epsilon", 0),
		ropeBase: r.float("llama.rope.freq_base", 10000),
	}
	if r.err != nil {
		return params{}, r.err
	}
	p.kvHeads = r.size("llama.attention.head_count_kv", p.heads)
	p.headDim = r.size("llama.attention.key_length", p.hidden/p.heads)
	value := r.size("llama.attention.value_length", p.headDim)
	rotated := r.size("llama.rope.dimension_count", p.headDim)
	if r.err != nil {
		return params{}, r.err
	}
	switch {
	case p.vocab != vocab:
		return params{}, fmt.Errorf("llama.vocab_size is %d, but token_embd.weight has %d rows", p.vocab, vocab)
	case p.heads%p.kvHeads != 0:
		return params{}, fmt.Errorf("%d attention heads can't share %d key heads evenly", p.heads, p.kvHeads)
	case value != p.headDim:
		return params{}, fmt.Errorf("heads with %d key and %d value dimensions are not supported (want both equal)", p.headDim, value)
	case rotated != p.headDim:
		return params{}, fmt.Errorf("rotation of %d of %d head dimensions is not supported (want all)", rotated, p.headDim)
	case p.headDim%16 != 0:
		return params{}, fmt.Errorf("heads of dimension %d are not supported (want a multiple of 16)", p.headDim)
	case !(p.eps > 0) || !(p.ropeBase > 1) || math.IsInf(p.ropeBase, 1):
		return params{}, fmt.Errorf("norm epsilon %v and rope base %v: want them positive and finite", p.eps, p.ropeBase)
	}
	if kind, ok := meta.String("llama.rope.scaling.type"); ok && kind != "none" && kind != "llama3" {
		return params{}, fmt.Errorf("rope scaling %q is not supported (none and llama3 are)", kind)
	}
	return p, nil
}

// maxSize bounds every size read from a file, so that no product of a few of them overflows.
const maxSize = 1 << 24

// keyReader reads keys and keeps the first fault.
type keyReader struct {
	meta metadata
	err  error
}

func (r *keyReader) size(key string, missing int) int {
	v, ok := r.meta.Uint(key)
	switch {
	case !ok && missing > 0:
		return missing
	case !ok:
		r.fail("key %s is missing or no integer", key)
	case v == 0 || v > maxSize:
		r.fail("key %s is %d, want 1..%d", key, v, maxSize)
	}
	return int(v)
}

func (r *keyReader) float(key string, missing float64) float64 {
	v, ok := r.meta.Float(key)
	if !ok && missing > 0 {
		return missing
	}
	if !ok {
		r.fail("key %s is missing or no number", key)
	}
	return v
}

func (r *keyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (p params) config(meta metadata, quantType string, count int64) model.Config {
	name, _ := meta.String("general.name")
	return model.Config{
		Arch: "llama", Name: name, Quant: quantType, Params: count,
		Layers: p.layers, Hidden: p.hidden, Heads: p.heads, KVHeads: p.kvHeads, HeadDim: p.headDim,
		FFN: p.ffn, Vocab: p.vocab, Context: p.context,
	}
}
