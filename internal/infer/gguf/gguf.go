// Package gguf reads GGUF model files, versions 2 and 3, little-endian. It treats them as hostile: nothing is
// allocated beyond the file's own size plus a small constant, and every refusal says what is wrong and where.
//
// It knows file structure and tensor types, not architectures or quantisation arithmetic (packages model and quant).
package gguf

import (
	"fmt"
	"os"
)

// Tensor is one tensor of a file. Dims are in file order: Dims[0] is the length of a row. Data aliases the mapped
// file, is read-only, and is valid until File.Close.
type Tensor struct {
	Name string
	Type Type
	Dims []uint64
	Data []byte
}

// File is an open GGUF file. All of its structure was checked when it was opened: types are known, every tensor's
// data lies within the file and no two overlap. Metadata accessors may be called from several goroutines.
type File struct {
	Version   uint32
	Alignment uint64   // of tensor data, in bytes; a power of two
	Tensors   []Tensor // in the order of the file

	data   []byte
	unmap  func() error
	keys   []string // in the order of the file
	meta   map[string]value
	byName map[string]int // index in Tensors
}

// Open maps the file at path into memory where the system can do that, reads it otherwise, and checks its structure.
// The file must not be shortened while it is open.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err) // names the path itself
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open model %s: not a regular file", path)
	}
	if info.Size() != int64(int(info.Size())) {
		return nil, fmt.Errorf("open model %s: %d bytes are more than this platform can address", path, info.Size())
	}
	var data []byte
	unmap := func() error { return nil }
	if info.Size() > 0 { // nothing can be mapped of an empty file; Parse refuses it
		if data, unmap, err = mapFile(file, int(info.Size())); err != nil {
			return nil, fmt.Errorf("map model %s: %w", path, err)
		}
	}
	f, err := Parse(data)
	if err != nil {
		unmap()
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	f.unmap = unmap
	return f, nil
}

// Close gives the mapping back; the Data of all tensors becomes invalid. Strings and slices that the metadata
// accessors returned stay valid. Closing twice, or a File from Parse, is allowed and does nothing.
func (f *File) Close() error {
	unmap := f.unmap
	f.unmap = nil
	if unmap == nil {
		return nil
	}
	f.data, f.Tensors, f.byName, f.meta = nil, nil, nil, nil
	return unmap()
}

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}
