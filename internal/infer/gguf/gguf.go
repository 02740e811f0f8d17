// Package gguf reads GGUF model files. It treats them as hostile: nothing is allocated beyond the file's own size plus
// a small constant, and every refusal says what is wrong and where.
//
// It knows file structure and tensor types, not architectures or quantisation arithmetic.
package gguf

// Type is a ggml tensor type.
type Type uint32

// The types that the engine computes with, by their number in the file.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q4_1 Type = 3
	Q8_0 Type = 8
)

// Tensor is one tensor of a file. Dims are in file order: Dims[0] is the length of a row. Data aliases the mapped
// file and is valid until File.Close.
type Tensor struct {
	Name string
	Type Type
	Dims []uint64
	Data []byte
}
