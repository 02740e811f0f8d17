package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Bounds on what a file may announce. Real files are far below them (50 keys, a few thousand tensors); they keep what
// this package allocates for bookkeeping under 64 MB whatever a file says.
const (
	maxKeys       = 1 << 15
	maxKeyLen     = 1<<16 - 1 // by the format's specification
	maxTensors    = 1 << 17
	maxNameLen    = 63 // ggml's limit
	maxArrayDepth = 8
	maxDims       = 4 // ggml's limit
)

const defaultAlignment = 32

// Parse reads a file that is in memory. The result's tensors alias data.
func Parse(data []byte) (*File, error) {
	f := &File{data: data, Alignment: defaultAlignment, meta: map[string]value{}, byName: map[string]int{}}
	c := &cursor{data: data}
	tensors, keys, err := f.header(c)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if err := f.pair(c); err != nil {
			return nil, fmt.Errorf("metadata pair %d of %d: %w", i+1, keys, err)
		}
	}
	if err := f.known(); err != nil {
		return nil, err
	}
	f.Tensors = make([]Tensor, 0, tensors)
	offsets := make([]uint64, 0, tensors)
	for i := range tensors {
		offset, err := f.tensor(c)
		if err != nil {
			return nil, fmt.Errorf("tensor %d of %d: %w", i+1, tensors, err)
		}
		offsets = append(offsets, offset)
	}
	if err := f.place(c.at, offsets); err != nil {
		return nil, err
	}
	return f, nil
}

// header reads magic, version and counts.
func (f *File) header(c *cursor) (tensors, keys uint64, err error) {
	if len(c.data) == 0 {
		return 0, 0, c.fault("the file is empty")
	}
	magic, err := c.take(4, "the magic number")
	if err != nil {
		return 0, 0, err
	}
	if string(magic) != "GGUF" {
		return 0, 0, faultAt(0, "the file starts with %q, not with \"GGUF\": it is no GGUF file", magic)
	}
	if f.Version, err = c.uint32("the version"); err != nil {
		return 0, 0, err
	}
	switch v := f.Version; {
	case v == 2 || v == 3:
	case v&0xffff == 0 && v != 0:
		return 0, 0, faultAt(4, "the file is big-endian, which is not supported; convert it to little-endian")
	default:
		return 0, 0, faultAt(4, "GGUF version %d is not supported (2 and 3 are)", v)
	}
	start := c.at
	if tensors, err = c.uint64("the tensor count"); err != nil {
		return 0, 0, err
	}
	if keys, err = c.uint64("the metadata count"); err != nil {
		return 0, 0, err
	}
	const leastPair, leastTensor = 8 + 1 + 4 + 1, 8 + 1 + 4 + 8 + 4 + 8 // bytes in the file
	if most := min(maxTensors, c.left()/leastTensor); tensors > most {
		return 0, 0, faultAt(start, "the file announces %d tensors, its size allows %d at most", tensors, most)
	}
	if most := min(maxKeys, c.left()/leastPair); keys > most {
		return 0, 0, faultAt(start+8, "the file announces %d metadata pairs, its size allows %d at most", keys, most)
	}
	return tensors, keys, nil
}

// pair reads one key and where its value lies.
func (f *File) pair(c *cursor) error {
	start := c.at
	b, err := c.text(maxKeyLen, "a key")
	if err != nil {
		return err
	}
	if len(b) == 0 || !utf8.Valid(b) {
		return faultAt(start, "key %q is empty or not UTF-8", clip(b))
	}
	key := string(b)
	if _, ok := f.meta[key]; ok {
		return faultAt(start, "key %q occurs twice", clip(b))
	}
	v, err := readValue(c)
	if err != nil {
		return fmt.Errorf("key %q: %w", clip(b), err)
	}
	f.keys = append(f.keys, key)
	f.meta[key] = v
	return nil
}

// known checks the keys that the format itself gives a meaning.
func (f *File) known() error {
	if v, ok := f.meta["general.architecture"]; ok && v.kind != kindString {
		return faultAt(v.at, "key general.architecture is %s, want a string", v.describe())
	}
	v, ok := f.meta["general.alignment"]
	if !ok {
		return nil
	}
	n, ok := f.Uint("general.alignment")
	if !ok {
		return faultAt(v.at, "key general.alignment is %s, want an integer", v.describe())
	}
	if n == 0 || n&(n-1) != 0 || n > math.MaxInt32 {
		return faultAt(v.at, "key general.alignment is %d, want a power of two", n)
	}
	f.Alignment = n
	return nil
}

// tensor reads the description of one tensor and returns the offset of its data from the start of the data section.
func (f *File) tensor(c *cursor) (offset uint64, err error) {
	start := c.at
	b, err := c.text(maxNameLen, "a tensor's name")
	if err != nil {
		return 0, err
	}
	if len(b) == 0 || !utf8.Valid(b) {
		return 0, faultAt(start, "tensor name %q is empty or not UTF-8", b)
	}
	t := Tensor{Name: string(b)}
	if _, ok := f.byName[t.Name]; ok {
		return 0, faultAt(start, "tensor %q occurs twice", b)
	}
	if t.Dims, err = readDims(c); err == nil {
		t.Type, offset, err = readPlace(c)
	}
	if err != nil {
		return 0, fmt.Errorf("%q: %w", b, err)
	}
	f.byName[t.Name] = len(f.Tensors)
	f.Tensors = append(f.Tensors, t)
	return offset, nil
}

func readDims(c *cursor) ([]uint64, error) {
	start := c.at
	n, err := c.uint32("the number of dimensions")
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxDims {
		return nil, faultAt(start, "it has %d dimensions, want 1 to %d", n, maxDims)
	}
	b, err := c.take(8*uint64(n), "the dimensions")
	if err != nil {
		return nil, err
	}
	dims := make([]uint64, n)
	for i := range dims {
		dims[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return dims, nil
}

func readPlace(c *cursor) (t Type, offset uint64, err error) {
	start := c.at
	n, err := c.uint32("the type")
	if err != nil {
		return 0, 0, err
	}
	if t = Type(n); !t.Known() {
		return 0, 0, faultAt(start, "tensor type %d does not exist or was removed from the format", n)
	}
	offset, err = c.uint64("the offset")
	return t, offset, err
}

// clip shortens text from a file for an error message.
func clip(b []byte) []byte {
	if len(b) > 80 {
		return b[:80]
	}
	return b
}
