package engine

import (
	"errors"
	"fmt"
	"runtime"

	"treeline/internal/infer/chat"
	"treeline/internal/infer/gguf"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model/llama"
	"treeline/internal/infer/model/team"
	"treeline/internal/infer/spec"
	"treeline/internal/infer/spec/lookup"
	"treeline/internal/infer/tokenizer"
)

// Methods of drafting that Load knows.
const (
	None  = "NONE"
	NGRAM = "NGRAM"
)

// LoadOptions say how a model file becomes a running engine. Zero values mean what the comments say.
type LoadOptions struct {
	ISA         string // kernel set; "": the fastest of this CPU
	Threads     int    // 0: all cores that Go uses
	Context     int    // most tokens of prompt and answer; 0: what the model was trained for
	MemLimit    int64  // bytes for weights, keys and values; 0: no limit
	Float32     bool   // dequantise the weights
	MaxRunning  int    // 0: 1
	MaxQueue    int
	Prefill     int    // Options.PrefillTokens
	Method      string // None or NGRAM; "": None
	DraftTokens int    // 0: by kernel set
	Fixed       bool   // draft always in full, not only as far as it is likely to pay
	Observe     Observer
}

// Loaded is a running engine with the text side of its model.
type Loaded struct {
	Engine    *Engine
	Tokenizer *tokenizer.Tokenizer
	Chat      *chat.Template // nil: the file has no chat template
	ISA       string
	Threads   int
	Weights   string // what is computed with: the file's dominant type, or "F32"
}

// Load reads a GGUF file and starts an engine on it. Errors name the file.
func Load(path string, o LoadOptions) (*Loaded, error) {
	set, err := kernel.ByName(o.ISA)
	if err != nil {
		return nil, err
	}
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &Loaded{ISA: set.Name, Threads: o.Threads}
	if l.Threads == 0 {
		l.Threads = min(runtime.GOMAXPROCS(0), team.MaxSize)
	}
	if err := l.load(file, set, o); err != nil {
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	return l, nil
}

func (l *Loaded) load(file *gguf.File, set *kernel.Set, o LoadOptions) (err error) {
	if l.Tokenizer, err = tokenizer.FromGGUF(file); err != nil {
		return err
	}
	if l.Chat, err = chat.FromGGUF(file, l.Tokenizer); err != nil && !errors.Is(err, chat.ErrNoTemplate) {
		return err
	}
	weights := llama.Native
	if o.Float32 {
		weights = llama.Float32
	}
	m, err := llama.FromFile(file, llama.Options{
		Set: set, Threads: l.Threads, MaxSeqs: max(o.MaxRunning, 1), MaxLen: o.Context, MemLimit: o.MemLimit, Weights: weights,
	})
	if err != nil {
		return err
	}
	if got, want := l.Tokenizer.Vocab(), m.Config().Vocab; got != want {
		m.Close()
		return fmt.Errorf("the tokenizer has %d tokens, the model %d", got, want)
	}
	if l.Weights = m.Config().Quant; o.Float32 {
		l.Weights = "F32"
	}
	eo := Options{
		MaxRunning: o.MaxRunning, MaxQueue: o.MaxQueue, PrefillTokens: o.Prefill, EOS: l.Tokenizer.EOS(), Observe: o.Observe,
		NewText: func() Detokenizer { return l.Tokenizer.NewStream(true) },
	}
	if o.Method == NGRAM {
		eo.NewDrafter, eo.DraftTokens = ngram(set.Name, o)
	}
	if l.Engine, err = New(m, eo); err != nil {
		m.Close()
	}
	return err
}

// price is what one more row in a verify pass costs, in plain decoding passes, and how many rows may be worth it.
// Measured on a 135M model: with AVX-512 VNNI 8 rows cost twice one row, with AVX2 4 rows do.
type price struct {
	drafts int
	row    float64
}

var prices = map[string]price{"avx512": {8, 0.25}, "avx2": {4, 0.45}, "generic": {2, 0.8}}

// ngram makes the drafters' constructor and the draft budget.
func ngram(isa string, o LoadOptions) (func() spec.Drafter, int) {
	p, ok := prices[isa]
	if !ok {
		p = prices["generic"]
	}
	if o.DraftTokens > 0 {
		p.drafts = o.DraftTokens
	}
	lo := lookup.DefaultOptions()
	if !o.Fixed {
		lo.MinProb = p.row
	}
	return func() spec.Drafter { return lookup.New(lo) }, p.drafts
}
