// Package modeltest reads golden tensors for the tests of model packages. It is not used outside tests.
package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// Tensor is a float32 array in row-major order.
type Tensor struct {
	Shape []int
	Data  []float32
}

// Row is row i of a matrix.
func (x Tensor) Row(i int) []float32 {
	n := x.Shape[len(x.Shape)-1]
	return x.Data[i*n : (i+1)*n]
}

// ReadSafetensors reads a file of F32 tensors: eight bytes of header length, a JSON header with the place of every
// tensor, then the data.
func ReadSafetensors(t testing.TB, path string) map[string]Tensor {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read goldens: %v", err)
	}
	n := binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		t.Fatalf("read goldens %s: header: %v", path, err)
	}
	data, out := file[8+n:], map[string]Tensor{}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var entry struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil {
			t.Fatalf("read goldens %s: tensor %s: %v", path, name, err)
		}
		if entry.DType != "F32" {
			continue
		}
		bytes := data[entry.Offsets[0]:entry.Offsets[1]]
		x := Tensor{Shape: entry.Shape, Data: make([]float32, len(bytes)/4)}
		for i := range x.Data {
			x.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
		out[name] = x
	}
	return out
}

// ReadJSON reads a JSON file into v.
func ReadJSON(t testing.TB, path string, v any) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(file, v)
	}
	if err != nil {
		t.Fatalf("read goldens %s: %v", path, err)
	}
}
