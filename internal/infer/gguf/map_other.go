//go:build !unix

package gguf

import (
	"io"
	"os"
)

// mapFile reads a whole file into memory.
func mapFile(f *os.File, size int) (data []byte, unmap func() error, err error) {
	data = make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
