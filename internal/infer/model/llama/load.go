package llama

import (
	"fmt"
	"runtime"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kvcache"
	"treeline/internal/infer/model/team"
)

// Weights is the form that weights take in memory.
type Weights int

const (
	// Native keeps the encoding of the file; 4- and 8-bit weights meet activations rounded to 8 bits per 32.
	Native Weights = iota
	// Float32 dequantises every weight and computes in float32: the reference for what the encoding of the file means,
	// at four to eight times the memory.
	Float32
)

// Options say how to load a model. The zero value is a sensible choice.
type Options struct {
	Set      *kernel.Set // nil: the fastest of this CPU
	Threads  int         // workers, 1..64; 0: as many as Go uses cores
	MaxSeqs  int         // sequences; 0: 1
	MaxLen   int         // longest sequence; 0: the context of the model
	MemLimit int64       // bytes for weights, keys and values together; 0: no limit
	Weights  Weights
}

// resolve fills in what is zero and refuses what can't be.
func (o Options) resolve(p params) (Options, error) {
	if o.Set == nil {
		o.Set = kernel.Best()
	}
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), team.MaxSize)
	}
	if o.MaxSeqs == 0 {
		o.MaxSeqs = 1
	}
	if o.MaxLen == 0 {
		o.MaxLen = p.context
	}
	switch {
	case o.Threads < 1 || o.Threads > team.MaxSize:
		return o, fmt.Errorf("%d threads: want 1..%d", o.Threads, team.MaxSize)
	case o.MaxSeqs < 1:
		return o, fmt.Errorf("%d sequences: want at least 1", o.MaxSeqs)
	case o.MaxLen < 1 || o.MaxLen > p.context:
		return o, fmt.Errorf("sequences of %d tokens: want 1..%d, the context of the model", o.MaxLen, p.context)
	case o.Weights != Native && o.Weights != Float32:
		return o, fmt.Errorf("unknown form of weights %d", o.Weights)
	}
	return o, nil
}

// Load reads the GGUF file at path and packs its weights. The file is closed again: the model's own copy, in huge pages
// and in the order in which the kernels read it, is all that stays in memory.
func Load(path string, opts Options) (*Model, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := FromFile(file, opts)
	if err != nil {
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	return m, nil
}

// FromFile builds a model from an open file, which may be closed afterwards. It fails when the file holds no llama
// model, when a tensor is missing, of another shape or unknown, or when the memory limit is too small.
func FromFile(file *gguf.File, opts Options) (*Model, error) {
	return load(file, file.Tensors, opts)
}

// load builds a model from the contents of a file. The file is not needed afterwards.
func load(meta metadata, list []gguf.Tensor, opts Options) (*Model, error) {
	vocab := 0
	for _, t := range list {
		if t.Name == embedName && len(t.Dims) == 2 && t.Dims[1] <= maxSize {
			vocab = int(t.Dims[1])
		}
	}
	if vocab == 0 {
		return nil, fmt.Errorf("tensor %s is missing or no matrix", embedName)
	}
	p, err := readParams(meta, vocab)
	if err != nil {
		return nil, err
	}
	opts, err = opts.resolve(p)
	if err != nil {
		return nil, err
	}
	w, err := bind(list, p)
	if err != nil {
		return nil, err
	}
	m := &Model{p: p, dim: p.dims(), set: opts.Set, info: p.config(meta, w.quant, w.params)}
	if err := m.packWeights(w, opts); err != nil {
		return nil, err
	}
	if err := m.start(w, opts); err != nil {
		m.release()
		return nil, err
	}
	return m, nil
}

// start makes everything but the weights: keys and values, buffers, workers.
func (m *Model) start(w *tensors, opts Options) error {
	room := int64(0)
	if opts.MemLimit > 0 {
		room = opts.MemLimit - int64(len(m.packed.Bytes()))
		if room <= 0 {
			return fmt.Errorf("the weights take %.1f MiB, the memory limit is %.1f MiB: raise the memory limit", mib(int64(len(m.packed.Bytes()))), mib(opts.MemLimit))
		}
	}
	shape := kvcache.Shape{Layers: m.p.layers, KVHeads: m.p.kvHeads, HeadDim: m.p.headDim}
	cache, err := kvcache.New(shape, opts.MaxSeqs, opts.MaxLen, scratchSlots, room)
	if err != nil {
		return err
	}
	m.cache = cache
	m.weightsLen = roundUp(opts.MaxLen, kvcache.PageLen)
	if m.rope, err = newRope(m.p, w.freqs); err != nil {
		return err
	}
	m.workers = make([]worker, opts.Threads)
	for i := range m.workers {
		m.workers[i].path = make([]int, maxNodes)
	}
	if err := m.allocate(); err != nil {
		return err
	}
	m.ones = make([]float32, m.dim.heads)
	for i := range m.ones {
		m.ones[i] = 1
	}
	m.shares, m.mixAligned, m.ffnAligned = plan(m.p, opts.Threads)
	m.layout = newLayout(maxNodes, opts.MaxSeqs)
	m.limits = limits{nodes: maxNodes, vocab: m.p.vocab, maxLen: opts.MaxLen, length: cache.Len, reserved: cache.Reserved}
	m.tokens = make([]int32, maxNodes)
	m.tip = make([]int, opts.MaxSeqs)
	for i := range m.tip {
		m.tip[i] = forgotten
	}
	m.work = m.forward
	m.team = team.New(opts.Threads, opts.Threads <= runtime.GOMAXPROCS(0), func() { kernel.Pause(1) })
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
