// Package arena hands out large zeroed memory outside the Go heap: weights, keys and values, and the buffers of a
// forward pass. Such memory costs the garbage collector nothing, is touched only when used, and sits on huge pages
// where the system has them (4 KB pages cost 5 to 30 % of the memory bandwidth that decoding lives on).
//
// It is not an allocator: a block is one mapping, given back as a whole.
package arena

import (
	"fmt"
	"unsafe"
)

// Align is the alignment of every block in bytes: a huge page.
const Align = 2 << 20

// Block is one piece of memory. The zero Block is empty and may be freed.
type Block struct {
	raw  []byte // what the system gave
	data []byte // the aligned part that was asked for
}

// New returns n zeroed bytes, aligned to Align. Pages get real memory when they are first written. It fails when the
// system refuses the address space.
func New(n int) (Block, error) {
	if n < 0 {
		return Block{}, fmt.Errorf("arena: size %d is negative", n)
	}
	if n == 0 {
		return Block{}, nil
	}
	raw, err := reserve(n + Align)
	if err != nil {
		return Block{}, fmt.Errorf("arena: reserve %d MiB: %w", n>>20, err)
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Align - 1))
	data := raw[skip : skip+n : skip+n]
	adviseHuge(raw)
	return Block{raw: raw, data: data}, nil
}

// Bytes is the memory as bytes.
func (b Block) Bytes() []byte { return b.data }

// Float32s is the memory as float32 values; a remainder of less than four bytes is left out.
func (b Block) Float32s() []float32 {
	if len(b.data) < 4 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b.data))), len(b.data)/4)
}

// Free gives the memory back. Slices made from it must not be used any more.
func (b *Block) Free() error {
	raw := b.raw
	*b = Block{}
	if raw == nil {
		return nil
	}
	if err := release(raw); err != nil {
		return fmt.Errorf("arena: release: %w", err)
	}
	return nil
}
