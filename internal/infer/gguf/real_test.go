package gguf

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRealModel opens the model that the demo runs on, when it was pulled.
func TestRealModel(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(cache, "treeline", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no pulled model: %v", err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := map[string]int{}
	for _, tensor := range f.Tensors {
		count[tensor.Type.String()]++
	}
	if len(f.Tensors) != 272 || len(f.Keys()) != 33 || count["Q4_1"] != 210 || count["Q8_0"] != 1 || count["F32"] != 61 {
		t.Errorf("got %d tensors, %d keys, types %v", len(f.Tensors), len(f.Keys()), count)
	}
	if n, ok := f.Uint("llama.block_count"); n != 30 || !ok {
		t.Errorf("llama.block_count = %d, %v", n, ok)
	}
	if merges, err := f.Strings("tokenizer.ggml.merges"); len(merges) != 48900 || err != nil {
		t.Errorf("got %d merges: %v", len(merges), err)
	}
}
