package llama

import (
	"os"
	"path/filepath"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/sharedtest"
)

// modelPath finds a tiny model: in testdata, else among the shared fixtures.
func modelPath(t testing.TB, file string) string {
	t.Helper()
	path := filepath.Join("testdata", file)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return filepath.Join(sharedtest.Dir(t), "fixtures/gguf", file)
}

// open loads a model and closes it at the end of the test.
func open(t testing.TB, path string, opts Options) *Model {
	t.Helper()
	if opts.MaxLen == 0 {
		opts.MaxLen = 256
	}
	m, err := Load(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

// readOracle reads the tensors of a file for the reference forward.
func readOracle(t testing.TB, path string) *oracle {
	t.Helper()
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	size := func(key string) int {
		n, ok := file.Uint("llama." + key)
		if !ok {
			t.Fatalf("%s: no key %s", path, key)
		}
		return int(n)
	}
	o := &oracle{
		layers: size("block_count"), hidden: size("embedding_length"), ffn: size("feed_forward_length"),
		heads: size("attention.head_count"), kvHeads: size("attention.head_count_kv"), vocab: size("vocab_size"),
		tensors: map[string][]float32{},
	}
	o.headDim = o.hidden / o.heads
	o.eps, _ = file.Float("llama.attention.layer_norm_rms_epsilon")
	o.ropeBase, _ = file.Float("llama.rope.freq_base")
	for _, x := range file.Tensors {
		o.tensors[x.Name] = dequantizeAll(t, x)
	}
	return o
}
