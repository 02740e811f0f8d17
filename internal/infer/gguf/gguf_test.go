package gguf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/sharedtest"
)

// TestMalformed wants every defect refused in words that name it; an empty want means that the file is good.
func TestMalformed(t *testing.T) {
	tests := []struct{ file, want string }{
		{"01-empty", "offset 0: the file is empty"},
		{"02-magic-only", "offset 4: the version takes 4 bytes, but only 0 are left"},
		{"03-bad-magic", "offset 0: the file starts with"},
		{"04-version-1", "offset 4: GGUF version 1 is not supported"},
		{"05-version-99", "offset 4: GGUF version 99 is not supported"},
		{"06-big-endian", "offset 4: the file is big-endian"},
		{"07-truncated-kv", "the file announces 2 tensors, its size allows 0"},
		{"08-truncated-tensor-info", "bytes, but only"},
		{"09-huge-tensor-count", "offset 8: the file announces 4611686018427387904 tensors"},
		{"10-huge-kv-count", "offset 16: the file announces"},
		{"11-string-len-2e63", `takes 9223372036854775808 bytes`},
		{"12-key-len-2e64m1", "a key is 18446744073709551615 bytes long"},
		{"13-array-count-overflow", "values of type"},
		{"14-array-string-bomb", "1099511627776 values of type string"},
		{"16-unknown-kv-type", "value type 13 does not exist"},
		{"17-bad-bool", "a bool is 7"},
		{"18-duplicate-key", `occurs twice`},
		{"19-duplicate-tensor", `tensor "a" occurs twice`},
		{"20-five-dims", "it has 5 dimensions"},
		{"21-huge-ndims", "it has 2147483648 dimensions"},
		{"22-negative-dim", "overflows 64 bits"},
		{"23-dim-product-overflow", "overflows 64 bits"},
		{"24-dim-times-size-overflow", "overflows 64 bits"},
		{"25-offset-past-end", "past the end of the file"},
		{"26-offset-overflow", "past the end of the file"},
		{"27-offset-unaligned", "data offset 4 is no multiple of the alignment 32"},
		{"28-overlap", `tensors "a" and "b" overlap`},
		{"29-truncated-data", "past the end of the file"},
		{"30-alignment-zero", "general.alignment is 0"},
		{"31-alignment-not-pow2", "general.alignment is 24"},
		{"32-alignment-wrong-type", "general.alignment is a value of type string"},
		{"33-unknown-tensor-type", "tensor type 250 does not exist"},
		{"34-removed-tensor-type", "tensor type 4 does not exist"},
		{"35-partial-block", "rows of 33 values are no whole number of Q4_0 blocks"},
		{"36-zero-dim", "is zero"},
		{"37-invalid-utf8-key", "not UTF-8"},
		{"39-arch-wrong-type", "general.architecture is a value of type uint32"},
		{"40-no-arch", "general.architecture is missing"},
		{"ok-1-alignment-64", ""},
		{"ok-2-no-tensors", ""},
		{"ok-3-unpadded-tail", ""},
		{"ok-4-tensor-order", ""},
		{"ok-5-shallow-nesting", ""},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			f, err := Open(filepath.Join("testdata", "malformed", "gguf-"+tt.file+".gguf"))
			if err == nil {
				defer f.Close()
				_, err = f.Architecture()
			}
			checkError(t, err, tt.want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && err == nil:
		t.Errorf("got no error, want one with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

func TestRefused(t *testing.T) {
	nested := newFile(3, 0, 1).key("deep", kindArray)
	for range 20000 {
		nested.array(kindArray, 1)
	}
	tests := []struct {
		name string
		file *builder
		want string
	}{
		{"nested arrays", nested.array(kindUint8, 1).u8(0), "nested more than 8 deep"},
		{"long name", newFile(3, 1, 0).tensor(strings.Repeat("n", 70000), F32, 0, 1).pad(32).u32(0), "70000 bytes long, at most 63"},
		{"empty name", newFile(3, 1, 0).tensor("", F32, 0, 1).pad(64).u32(0), "is empty"},
		{"no dimensions", newFile(3, 1, 0).tensor("a", F32, 0).pad(64).u32(0), "it has 0 dimensions"},
		{"architecture in an array", newFile(3, 0, 1).key("general.architecture", kindArray).array(kindUint8, 2).u8(0).u8(0), "an array of 2 × uint8"},
		{"negative alignment", newFile(3, 0, 1).key("general.alignment", kindInt32).u32(1 << 31), "want an integer"},
		{"huge alignment", newFile(3, 0, 1).key("general.alignment", kindUint64).u64(1 << 63), "want a power of two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.file.b)
			checkError(t, err, tt.want)
		})
	}
}

func TestOpenFaults(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	checkError(t, err, "not a regular file")
	_, err = Open(filepath.Join(dir, "none.gguf"))
	checkError(t, err, "none.gguf: no such file")
}

// TestTypes checks the size of every type against a file with one tensor of each.
func TestTypes(t *testing.T) {
	b, err := os.ReadFile("testdata/types.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Types map[string]struct {
			ID, Block     int
			BytesPerBlock int `json:"bytes_per_block"`
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	for name, w := range want.Types {
		typ := Type(w.ID)
		values, bytes := typ.Block()
		if typ.String() != name || values != w.Block || bytes != w.BytesPerBlock {
			t.Errorf("type %d: got %s with %d values in %d bytes, want %s with %d in %d", w.ID, typ, values, bytes, name, w.Block, w.BytesPerBlock)
		}
	}
	f, err := Open("testdata/types.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Tensors) < len(want.Types) {
		t.Errorf("got %d tensors, want at least %d", len(f.Tensors), len(want.Types))
	}
	seen := map[string]bool{}
	for _, tensor := range f.Tensors {
		values, bytes := tensor.Type.Block()
		n := uint64(1)
		for _, d := range tensor.Dims {
			n *= d
		}
		if got, want := len(tensor.Data), int(n)/values*bytes; got != want {
			t.Errorf("tensor %s: %d bytes, want %d", tensor.Name, got, want)
		}
		seen[tensor.Type.String()] = true
	}
	for name := range want.Types {
		if !seen[name] {
			t.Errorf("no tensor of type %s", name)
		}
	}
	if got := Type(250).String(); got != "type 250" {
		t.Errorf("unknown type: got %q", got)
	}
	if got := len(Types()); got != 33 {
		t.Errorf("got %d known types, want 33", got)
	}
}

func TestTinyModels(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "fixtures", "gguf", "tiny-*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tiny models: %v", err)
	}
	for _, path := range files {
		f, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		arch, err := f.Architecture()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		embed, ok := f.Tensor("token_embd.weight")
		tokens, err := f.Strings("tokenizer.ggml.tokens")
		if err != nil || !ok || embed.Dims[1] != uint64(len(tokens)) {
			t.Errorf("%s: embedding %v, %d tokens: %v", path, embed.Dims, len(tokens), err)
		}
		if n, ok := f.Uint(arch + ".block_count"); !ok || n == 0 {
			t.Errorf("%s: block count %d, %v", path, n, ok)
		}
		if err := f.Close(); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("close %s again: %v", path, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	f, err := Parse(newFile(2, 0, 12).
		key("string", kindString).str("text").
		key("int8", kindInt8).u8(0xff).
		key("uint8", kindUint8).u8(0xff).
		key("uint64", kindUint64).u64(1<<64-1).
		key("float32", kindFloat32).u32(0x3fc00000).
		key("float64", kindFloat64).u64(0x3ff8000000000000).
		key("bool", kindBool).u8(1).
		key("strings", kindArray).array(kindString, 2).str("a").str("bc").
		key("ints", kindArray).array(kindInt8, 2).u8(0xff).u8(1).
		key("floats", kindArray).array(kindFloat32, 1).u32(0x3fc00000).
		key("wide", kindArray).array(kindUint32, 1).u32(1<<31).
		key("none", kindArray).array(kindString, 0).b)
	if err != nil {
		t.Fatal(err)
	}
	uints := map[string]uint64{"uint8": 255, "uint64": 1<<64 - 1}
	floats := map[string]float64{"uint8": 255, "int8": -1, "uint64": 1 << 64, "float32": 1.5, "float64": 1.5}
	for _, key := range append(f.Keys(), "missing") {
		s, ok := f.String(key)
		if want := key == "string"; ok != want || ok && s != "text" {
			t.Errorf("String(%s) = %q, %v", key, s, ok)
		}
		b, ok := f.Bool(key)
		if want := key == "bool"; ok != want || b != want {
			t.Errorf("Bool(%s) = %v, %v", key, b, ok)
		}
		n, ok := f.Uint(key)
		if want, has := uints[key]; ok != has || n != want && ok {
			t.Errorf("Uint(%s) = %d, %v", key, n, ok)
		}
		x, ok := f.Float(key)
		if want, has := floats[key]; ok != has || x != want {
			t.Errorf("Float(%s) = %v, %v", key, x, ok)
		}
	}
	list, err := f.Strings("strings")
	if diff := cmp.Diff([]string{"a", "bc"}, list); err != nil || diff != "" {
		t.Errorf("Strings: %v %s", err, diff)
	}
	ints, err := f.Int32s("ints")
	if diff := cmp.Diff([]int32{-1, 1}, ints); err != nil || diff != "" {
		t.Errorf("Int32s: %v %s", err, diff)
	}
	xs, err := f.Floats("floats")
	if diff := cmp.Diff([]float32{1.5}, xs); err != nil || diff != "" {
		t.Errorf("Floats: %v %s", err, diff)
	}
	_, err = f.Int32s("wide")
	checkError(t, err, "element 0 (at offset")
	_, err = f.Int32s("strings")
	checkError(t, err, "an array of 2 × string")
	_, err = f.Strings("missing")
	checkError(t, err, "metadata key missing is missing, want an array of strings")
	if n, err := f.UintOr("missing", 7); n != 7 || err != nil {
		t.Errorf("UintOr of a missing key: %d, %v", n, err)
	}
	_, err = f.UintOr("int8", 7)
	checkError(t, err, "metadata key int8 is a value of type int8")
	if s, err := f.StringOr("string", ""); s != "text" || err != nil {
		t.Errorf("StringOr: %q, %v", s, err)
	}
}
