package gguf

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// place gives every tensor its data. end is where the descriptions end; offsets count from the data section, which
// starts at the next multiple of the alignment.
func (f *File) place(end int, offsets []uint64) error {
	start := (uint64(end) + f.Alignment - 1) &^ (f.Alignment - 1)
	size := uint64(len(f.data))
	for i := range f.Tensors {
		t := &f.Tensors[i]
		n, err := t.bytes()
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		offset := offsets[i]
		if offset%f.Alignment != 0 {
			return fmt.Errorf("tensor %q: data offset %d is no multiple of the alignment %d", t.Name, offset, f.Alignment)
		}
		if start > size || offset > size-start || n > size-start-offset {
			return fmt.Errorf("tensor %q: %d bytes at data offset %d reach past the end of the file (data starts at %d, the file has %d bytes); it may be cut short: fetch it again",
				t.Name, n, offset, start, size)
		}
		from := start + offset
		t.Data = f.data[from : from+n : from+n]
	}
	return f.disjoint(offsets)
}

// bytes is the size of a tensor's data. The product of the dimensions and the size in bytes are checked for overflow.
func (t *Tensor) bytes() (uint64, error) {
	l, _ := layoutOf(t.Type)
	if row := t.Dims[0]; row%l.values != 0 {
		return 0, fmt.Errorf("rows of %d values are no whole number of %s blocks of %d", row, t.Type, l.values)
	}
	n := l.bytes
	for i, d := range t.Dims {
		if d == 0 {
			return 0, fmt.Errorf("dimension %d is zero (dimensions %v)", i, t.Dims)
		}
		if i == 0 {
			d /= l.values
		}
		hi, lo := bits.Mul64(n, d)
		if hi != 0 {
			return 0, fmt.Errorf("the size of dimensions %v overflows 64 bits", t.Dims)
		}
		n = lo
	}
	return n, nil
}

// disjoint refuses tensors that share bytes.
func (f *File) disjoint(offsets []uint64) error {
	order := make([]int32, len(offsets))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(offsets[a], offsets[b]) })
	for i := 1; i < len(order); i++ {
		a, b := &f.Tensors[order[i-1]], &f.Tensors[order[i]]
		if offsets[order[i-1]]+uint64(len(a.Data)) > offsets[order[i]] {
			return fmt.Errorf("tensors %q and %q overlap at data offset %d", a.Name, b.Name, offsets[order[i]])
		}
	}
	return nil
}
