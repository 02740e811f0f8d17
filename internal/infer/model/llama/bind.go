package llama

import (
	"fmt"
	"sort"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/quant"
)

// tensors are the weights of a model as they lie in the file, every one present and of the right shape.
type tensors struct {
	embed, head gguf.Tensor // the same tensor when tied
	tied        bool
	norm        gguf.Tensor
	freqs       []float32 // divisors of the rotation frequencies, or nil
	layers      []layerTensors
	quant       string // most common type of the matrices
	params      int64
}

type layerTensors struct {
	attnNorm, ffnNorm gguf.Tensor
	q, k, v, o        gguf.Tensor
	gate, up, down    gguf.Tensor
}

func blockName(layer int, s string) string { return fmt.Sprintf("blk.%d.%s", layer, s) }

const embedName = "token_embd.weight"

// binder takes tensors by name and keeps the first fault.
type binder struct {
	byName map[string]gguf.Tensor
	used   map[string]bool
	count  map[gguf.Type]int64
	err    error
}

// bind finds all weights of a model of shape p. Every tensor of the file must have a use: a bias or a norm that this
// engine would leave out silently makes another model of it.
func bind(list []gguf.Tensor, p params) (*tensors, error) {
	b := binder{byName: map[string]gguf.Tensor{}, used: map[string]bool{}, count: map[gguf.Type]int64{}}
	for _, t := range list {
		b.byName[t.Name] = t
	}
	w := &tensors{embed: b.matrix(embedName, p.vocab, p.hidden), norm: b.vector("output_norm.weight", p.hidden)}
	w.head, w.tied = w.embed, true
	if _, ok := b.byName["output.weight"]; ok {
		w.head, w.tied = b.matrix("output.weight", p.vocab, p.hidden), false
	}
	if _, ok := b.byName["rope_freqs.weight"]; ok {
		w.freqs = b.floats("rope_freqs.weight", p.headDim/2)
	}
	q, kv := p.heads*p.headDim, p.kvHeads*p.headDim
	for l := 0; l < p.layers && b.err == nil; l++ {
		w.layers = append(w.layers, layerTensors{
			attnNorm: b.vector(blockName(l, "attn_norm.weight"), p.hidden),
			q:        b.matrix(blockName(l, "attn_q.weight"), q, p.hidden),
			k:        b.matrix(blockName(l, "attn_k.weight"), kv, p.hidden),
			v:        b.matrix(blockName(l, "attn_v.weight"), kv, p.hidden),
			o:        b.matrix(blockName(l, "attn_output.weight"), p.hidden, q),
			ffnNorm:  b.vector(blockName(l, "ffn_norm.weight"), p.hidden),
			gate:     b.matrix(blockName(l, "ffn_gate.weight"), p.ffn, p.hidden),
			up:       b.matrix(blockName(l, "ffn_up.weight"), p.ffn, p.hidden),
			down:     b.matrix(blockName(l, "ffn_down.weight"), p.hidden, p.ffn),
		})
	}
	if b.err == nil {
		b.err = b.unused()
	}
	if b.err != nil {
		return nil, b.err
	}
	w.quant = b.dominant()
	for _, n := range b.count {
		w.params += n
	}
	return w, nil
}

// take returns a tensor of exactly these dimensions (row length first) and one of the types the engine computes with.
func (b *binder) take(name string, dims ...int) gguf.Tensor {
	t, ok := b.byName[name]
	if b.err != nil {
		return t
	}
	if !ok {
		b.err = fmt.Errorf("tensor %s is missing", name)
		return t
	}
	b.used[name] = true
	same := len(t.Dims) == len(dims)
	for i := 0; same && i < len(dims); i++ {
		same = t.Dims[i] == uint64(dims[i])
	}
	if !same {
		b.err = fmt.Errorf("tensor %s has dimensions %v, want %v", name, t.Dims, dims)
		return t
	}
	n := 1
	for _, d := range dims[1:] {
		n *= d
	}
	rowBytes, err := quant.RowBytes(t.Type, dims[0])
	if err != nil {
		b.err = fmt.Errorf("tensor %s: %w", name, err)
	} else if len(t.Data) != n*rowBytes {
		b.err = fmt.Errorf("tensor %s has %d bytes of data, want %d", name, len(t.Data), n*rowBytes)
	}
	return t
}

func (b *binder) matrix(name string, rows, cols int) gguf.Tensor {
	t := b.take(name, cols, rows)
	b.count[t.Type] += int64(rows) * int64(cols)
	return t
}

func (b *binder) vector(name string, n int) gguf.Tensor {
	t := b.take(name, n)
	b.count[t.Type] += int64(n)
	return t
}

// floats reads a vector.
func (b *binder) floats(name string, n int) []float32 {
	t := b.take(name, n)
	if b.err != nil {
		return nil
	}
	v, err := readVector(t)
	if err != nil {
		b.err = err
	}
	return v
}

func readVector(t gguf.Tensor) ([]float32, error) {
	v := make([]float32, t.Dims[0])
	if err := quant.Dequantize(v, t.Type, t.Data); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
	}
	return v, nil
}

// unused names a tensor that nothing has asked for.
func (b *binder) unused() error {
	var names []string
	for name := range b.byName {
		if !b.used[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	return fmt.Errorf("tensor %s (and %d more) has no place in a llama model as this engine computes it", names[0], len(names)-1)
}

// dominant is the type that most parameters have.
func (b *binder) dominant() string {
	best, most := gguf.F32, int64(-1)
	for _, t := range []gguf.Type{gguf.F32, gguf.F16, gguf.Q4_0, gguf.Q4_1, gguf.Q8_0} {
		if b.count[t] > most {
			best, most = t, b.count[t]
		}
	}
	return best.String()
}
