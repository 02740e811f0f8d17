package gguf

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// allocated is what fn allocates in total, freed or not.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAllocationBound fills files with what costs most memory for its size and wants the promise of the package kept.
func TestAllocationBound(t *testing.T) {
	const slack = 64 << 20
	keys := newFile(3, 0, maxKeys)
	for i := range maxKeys {
		keys.key(string([]byte{'a' + byte(i&15), 'a' + byte(i>>4&15), 'a' + byte(i>>8&15), 'a' + byte(i>>12)}), kindBool).u8(0)
	}
	tensors := newFile(3, maxTensors, 0)
	for i := range uint64(maxTensors) {
		tensors.tensor(string([]byte{'a' + byte(i&15), 'a' + byte(i>>4&15), 'a' + byte(i>>8&15), 'a' + byte(i>>12&15), 'a' + byte(i>>16)}), I8, 32*i, 1, 1, 1, 1)
	}
	tensors.pad(32).b = append(tensors.b, make([]byte, 32*maxTensors)...)
	strs := newFile(3, 0, 1).key("s", kindArray).array(kindString, maxStrings)
	strs.b = append(strs.b, make([]byte, 8*maxStrings)...)
	bytes := newFile(3, 0, 1).key("s", kindArray).array(kindUint8, 8<<20)
	bytes.b = append(bytes.b, make([]byte, 8<<20)...)
	for name, w := range map[string]*builder{"keys": keys, "tensors": tensors, "strings": strs, "bytes": bytes} {
		got := allocated(func() {
			f, err := Parse(w.b)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if f.Has("s") {
				f.Strings("s")
				f.Int32s("s")
			}
		})
		if limit := uint64(len(w.b)) + slack; got > limit {
			t.Errorf("%s: a file of %d bytes made Parse allocate %d, want at most %d", name, len(w.b), got, limit)
		}
	}
	for _, path := range malformed(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := allocated(func() { Parse(b) }); got > 1<<20 {
			t.Errorf("%s: refusing it took %d bytes", path, got)
		}
	}
}

func malformed(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/malformed/*.gguf")
	if err != nil || len(files) < 40 {
		t.Fatalf("found %d malformed files: %v", len(files), err)
	}
	return files
}

func FuzzParse(f *testing.F) {
	for _, path := range malformed(f) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(newFile(3, 1, 1).key("k", kindArray).array(kindString, 1).str("v").tensor("t", Q8_0, 0, 32).pad(32).raw(strings.Repeat("x", 34)).b)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(b)
		if err != nil {
			return
		}
		total := 0
		for _, tensor := range file.Tensors {
			total += len(tensor.Data)
		}
		if total > len(b) {
			t.Errorf("tensors of %d bytes in a file of %d", total, len(b))
		}
		for _, key := range file.Keys() {
			file.String(key)
			file.Uint(key)
			file.Float(key)
			file.Bool(key)
			file.Strings(key)
			file.Int32s(key)
			file.Floats(key)
			if !file.Has(key) {
				t.Errorf("key %q is listed and not there", key)
			}
		}
	})
}
