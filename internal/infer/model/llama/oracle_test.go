package llama

import (
	"math"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/quant"
)

// oracle is the model in its plainest form: float64 loops over the tensors as they lie in the file (rotation of
// adjacent pairs, no cache, no batching). The engine must agree with it; it shares no code with the engine.
type oracle struct {
	layers, hidden, heads, kvHeads, headDim, ffn, vocab int
	eps, ropeBase                                       float64
	tensors                                             map[string][]float32
}

func (o *oracle) matmul(name string, x []float64, n int) []float64 {
	w, k := o.tensors[name], len(x)
	y := make([]float64, n)
	for i := range y {
		for j, v := range x {
			y[i] += float64(w[i*k+j]) * v
		}
	}
	return y
}

func (o *oracle) norm(name string, x []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+o.eps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * scale * float64(o.tensors[name][i])
	}
	return y
}

func (o *oracle) rotate(x []float64, pos int) {
	for i := 0; i < o.headDim; i += 2 {
		angle := float64(pos) * math.Pow(o.ropeBase, -float64(i)/float64(o.headDim))
		if f := o.tensors["rope_freqs.weight"]; f != nil {
			angle /= float64(f[i/2])
		}
		sin, cos := math.Sincos(angle)
		x[i], x[i+1] = x[i]*cos-x[i+1]*sin, x[i]*sin+x[i+1]*cos
	}
}

// forward returns the logits after every token.
func (o *oracle) forward(tokens []int32) [][]float64 {
	keys, values := make([][][]float64, o.layers), make([][][]float64, o.layers)
	var out [][]float64
	for pos, token := range tokens {
		x := make([]float64, o.hidden)
		for i := range x {
			x[i] = float64(o.tensors["token_embd.weight"][int(token)*o.hidden+i])
		}
		for l := range o.layers {
			o.layer(l, pos, x, &keys[l], &values[l])
		}
		head := "output.weight"
		if o.tensors[head] == nil {
			head = "token_embd.weight"
		}
		out = append(out, o.matmul(head, o.norm("output_norm.weight", x), o.vocab))
	}
	return out
}

func (o *oracle) layer(l, pos int, x []float64, keys, values *[][]float64) {
	name := func(s string) string { return blockName(l, s) }
	a := o.norm(name("attn_norm.weight"), x)
	q := o.matmul(name("attn_q.weight"), a, o.heads*o.headDim)
	k := o.matmul(name("attn_k.weight"), a, o.kvHeads*o.headDim)
	v := o.matmul(name("attn_v.weight"), a, o.kvHeads*o.headDim)
	for h := range o.heads {
		o.rotate(q[h*o.headDim:][:o.headDim], pos)
	}
	for h := range o.kvHeads {
		o.rotate(k[h*o.headDim:][:o.headDim], pos)
	}
	*keys, *values = append(*keys, k), append(*values, v)

	mix := make([]float64, o.heads*o.headDim)
	for h := range o.heads {
		kv := h / (o.heads / o.kvHeads) * o.headDim
		weight, sum := make([]float64, pos+1), 0.0
		for p := range weight {
			for d := range o.headDim {
				weight[p] += q[h*o.headDim+d] * (*keys)[p][kv+d]
			}
			weight[p] = math.Exp(weight[p] / math.Sqrt(float64(o.headDim)))
			sum += weight[p]
		}
		for p, w := range weight {
			for d := range o.headDim {
				mix[h*o.headDim+d] += w / sum * (*values)[p][kv+d]
			}
		}
	}
	add(x, o.matmul(name("attn_output.weight"), mix, o.hidden))

	a = o.norm(name("ffn_norm.weight"), x)
	gate := o.matmul(name("ffn_gate.weight"), a, o.ffn)
	up := o.matmul(name("ffn_up.weight"), a, o.ffn)
	for i, g := range gate {
		up[i] *= g / (1 + math.Exp(-g))
	}
	add(x, o.matmul(name("ffn_down.weight"), up, o.hidden))
}

func add(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}

// dequantizeAll turns a tensor into float32 values.
func dequantizeAll(t testing.TB, x gguf.Tensor) []float32 {
	t.Helper()
	n := uint64(1)
	for _, d := range x.Dims {
		n *= d
	}
	v := make([]float32, n)
	if err := quant.Dequantize(v, x.Type, x.Data); err != nil {
		t.Fatalf("tensor %s: %v", x.Name, err)
	}
	return v
}
