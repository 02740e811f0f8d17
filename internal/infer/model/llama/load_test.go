package llama

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
)

// fakeMeta is a key-value section that differs from a file's in some keys.
type fakeMeta struct {
	file   *gguf.File
	change map[string]any // nil removes a key
}

func (f fakeMeta) Uint(key string) (uint64, bool) {
	if v, ok := f.change[key]; ok {
		n, ok := v.(int)
		return uint64(n), ok
	}
	return f.file.Uint(key)
}

func (f fakeMeta) Float(key string) (float64, bool) {
	if v, ok := f.change[key]; ok {
		x, ok := v.(float64)
		return x, ok
	}
	return f.file.Float(key)
}

func (f fakeMeta) String(key string) (string, bool) {
	if v, ok := f.change[key]; ok {
		s, ok := v.(string)
		return s, ok
	}
	return f.file.String(key)
}

// Every fault of a file or of the options is refused with words that name the place.
func TestLoadRefuses(t *testing.T) {
	file, err := gguf.Open(modelPath(t, "tiny-llama.q8_0.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	keys := func(change map[string]any) fakeMeta { return fakeMeta{file, change} }
	tensors := func(f func(x *gguf.Tensor) (keep bool)) []gguf.Tensor {
		var list []gguf.Tensor
		for _, x := range file.Tensors {
			if f(&x) {
				list = append(list, x)
			}
		}
		return list
	}
	edit := func(name string, f func(x *gguf.Tensor)) []gguf.Tensor {
		return tensors(func(x *gguf.Tensor) bool {
			if x.Name == name {
				f(x)
			}
			return true
		})
	}
	without := func(name string) []gguf.Tensor {
		return tensors(func(x *gguf.Tensor) bool { return x.Name != name })
	}
	for _, tc := range []struct {
		name string
		meta metadata
		list []gguf.Tensor
		opts Options
		want string
	}{
		{"architecture", keys(map[string]any{"general.architecture": "qwen3"}), nil, Options{}, `architecture "qwen3" is not supported`},
		{"no layers", keys(map[string]any{"llama.block_count": nil}), nil, Options{}, "llama.block_count is missing"},
		{"zero heads", keys(map[string]any{"llama.attention.head_count": 0}), nil, Options{}, "llama.attention.head_count is 0"},
		{"huge size", keys(map[string]any{"llama.feed_forward_length": 1 << 40}), nil, Options{}, "llama.feed_forward_length is"},
		{"heads", keys(map[string]any{"llama.attention.head_count_kv": 3}), nil, Options{}, "can't share 3 key heads"},
		{"vocabulary", keys(map[string]any{"llama.vocab_size": 500}), nil, Options{}, "has 512 rows"},
		{"rotation", keys(map[string]any{"llama.rope.dimension_count": 8}), nil, Options{}, "rotation of 8 of 16"},
		{"scaling", keys(map[string]any{"llama.rope.scaling.type": "yarn"}), nil, Options{}, `rope scaling "yarn"`},
		{"epsilon", keys(map[string]any{"llama.attention.layer_norm_rms_epsilon": -1.0}), nil, Options{}, "norm epsilon"},
		{"one layer more", keys(map[string]any{"llama.block_count": 4}), nil, Options{}, "tensor blk.3.attn_norm.weight is missing"},
		{"one layer less", keys(map[string]any{"llama.block_count": 2}), nil, Options{}, "has no place"},
		{"no embedding", nil, without("token_embd.weight"), Options{}, "token_embd.weight is missing"},
		{"missing", nil, without("blk.1.ffn_down.weight"), Options{}, "tensor blk.1.ffn_down.weight is missing"},
		{"shape", nil, edit("blk.2.attn_k.weight", func(x *gguf.Tensor) { x.Dims = []uint64{32, 64} }), Options{}, "tensor blk.2.attn_k.weight has dimensions [32 64], want [64 32]"},
		{"type", nil, edit("blk.0.attn_v.weight", func(x *gguf.Tensor) { x.Type = gguf.Type(9) }), Options{}, "tensor blk.0.attn_v.weight: quant: tensor type"},
		{"data", nil, edit("blk.0.attn_v.weight", func(x *gguf.Tensor) { x.Data = x.Data[1:] }), Options{}, "bytes of data"},
		{"bias", nil, append(tensors(func(*gguf.Tensor) bool { return true }), gguf.Tensor{Name: "blk.0.attn_q.bias"}), Options{}, "blk.0.attn_q.bias"},
		{"threads", nil, nil, Options{Threads: 65}, "want 1..64"},
		{"sequences", nil, nil, Options{MaxSeqs: -1}, "want at least 1"},
		{"length", nil, nil, Options{MaxLen: 1 << 20}, "the context of the model"},
		{"weights beyond the limit", nil, nil, Options{MemLimit: 1000}, "the weights take"},
		{"no room for keys", nil, nil, Options{MemLimit: 300 << 10}, "raise the memory limit"},
	} {
		if tc.meta == nil {
			tc.meta = keys(nil)
		}
		if tc.list == nil {
			tc.list = file.Tensors
		}
		m, err := load(tc.meta, tc.list, tc.opts)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.name, err, tc.want)
		}
	}
	if _, err := Load("testdata/absent.gguf", Options{}); err == nil || !strings.Contains(err.Error(), "absent.gguf") {
		t.Errorf("a missing file: got error %v", err)
	}
}

func TestConfig(t *testing.T) {
	m := open(t, modelPath(t, "tiny-llama.q4_0.gguf"), Options{MaxSeqs: 2})
	want := model.Config{
		Arch: "llama", Name: m.Config().Name, Quant: "Q4_0", Layers: 3, Hidden: 64, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 160, Vocab: 512, Context: 2048,
		Params: 512*64 + 3*(2*64*64+2*64*32+3*64*160+2*64) + 64,
	}
	if got := m.Config(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if m.MaxSeqs() != 2 || m.MaxLen() != 256 || m.MaxNodes() < 256 {
		t.Errorf("got room for %d sequences of %d, batches of %d", m.MaxSeqs(), m.MaxLen(), m.MaxNodes())
	}
}

// A refused batch changes nothing, and a commit that is no path is a panic that says so.
func TestSequenceFaults(t *testing.T) {
	m := open(t, modelPath(t, "tiny-llama.q8_0.gguf"), Options{MaxSeqs: 2, MaxLen: 64})
	if err := m.Reserve(0, 65); err == nil {
		t.Error("a reservation beyond the longest sequence did not fail")
	}
	if err := m.Reserve(2, 1); err == nil {
		t.Error("a reservation for an unknown sequence did not fail")
	}
	prefill2 := []int32{1, 2, 3}
	prefill64(t, m, prefill2)
	if err := m.Forward([]model.Node{{Pos: 3, Parent: -1}, {Pos: 9, Parent: 0}}); err == nil {
		t.Error("a wrong position did not fail")
	}
	if m.Len(0) != 3 {
		t.Errorf("after a refused batch the length is %d, want 3", m.Len(0))
	}
	if err := m.Forward([]model.Node{{Token: 1, Pos: 3, Parent: -1}, {Token: 2, Pos: 4, Parent: 0}, {Token: 3, Pos: 4, Parent: 0, Want: true}}); err != nil {
		t.Fatal(err)
	}
	if m.Logits(0) != nil || m.Logits(2) == nil {
		t.Error("logits: want them for node 2 only")
	}
	for _, path := range [][]int{{3}, {-1}, {1}, {0, 0}} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), "invariant") {
					t.Errorf("commit of %v: got %v, want a panic that names the invariant", path, r)
				}
			}()
			m.Commit(0, path)
		}()
	}
	m.Commit(0, []int{2}) // the first of {0, 0} was committed
	if m.Len(0) != 5 {
		t.Errorf("length %d, want 5", m.Len(0))
	}
	m.Truncate(0, 4)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a commit after a step back did not panic")
			}
		}()
		m.Commit(0, []int{1})
	}()
}

func prefill64(t testing.TB, m *Model, tokens []int32) {
	t.Helper()
	if err := m.Reserve(0, 64); err != nil {
		t.Fatal(err)
	}
	if err := m.Forward(chain(0, 0, tokens)); err != nil {
		t.Fatal(err)
	}
	m.Commit(0, upTo(len(tokens)))
}

// Nothing allocates in a pass.
func TestForwardAllocatesNothing(t *testing.T) {
	for _, set := range kernel.Sets() {
		m := open(t, modelPath(t, "tiny-llama.q8_0.gguf"), Options{Set: set, Threads: 2})
		prefill(t, m, 0, randomTokens(20))
		tree := []model.Node{
			{Token: 1, Pos: 20, Parent: -1, Want: true},
			{Token: 2, Pos: 21, Parent: 0, Want: true},
			{Token: 3, Pos: 21, Parent: 0, Want: true},
			{Token: 4, Pos: 22, Parent: 2, Want: true},
		}
		path := []int{0, 2, 3}
		if n := testing.AllocsPerRun(20, func() {
			if err := m.Forward(tree); err != nil {
				t.Fatal(err)
			}
			m.Commit(0, path)
			m.Truncate(0, 20)
		}); n > 0 {
			t.Errorf("set %s: %v allocations a pass, want 0", set.Name, n)
		}
	}
}

func randomTokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(i*7919+13) % 512
	}
	return tokens
}

// After loading SmolLM2 and a long prefill the process holds the weights, the keys and values, and little else.
func TestSmolLM2Memory(t *testing.T) {
	path := smolPath(t)
	before := residentBytes(t)
	m := open(t, path, Options{Threads: 2, MaxLen: 2048, MaxSeqs: 4})
	tokens := make([]int32, 200)
	for i := range tokens {
		tokens[i] = int32(1000 + i)
	}
	if kernel.Best().Name == "generic" {
		tokens = tokens[:2] // plain Go takes half a second a token
	}
	prefill(t, m, 0, tokens)
	runtime.GC()
	grown := residentBytes(t) - before
	known := int64(len(m.packed.Bytes())) + 4*m.cache.PageBytes()
	t.Logf("weights %d MiB, %d MiB more with keys, values and buffers", len(m.packed.Bytes())>>20, (grown-int64(len(m.packed.Bytes())))>>20)
	if grown > known+128<<20 {
		t.Errorf("the process grew by %d MiB; weights and used keys and values take %d", grown>>20, known>>20)
	}
}

func residentBytes(t testing.TB) int64 {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	fields := strings.Fields(string(stat))
	pages := int64(0)
	for _, c := range fields[1] {
		pages = pages*10 + int64(c-'0')
	}
	return pages * int64(os.Getpagesize())
}
