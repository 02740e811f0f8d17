//go:build unix

package gguf

import (
	"os"
	"syscall"
)

// mapFile maps a whole file read-only: the weights stay off the Go heap and in the page cache, shared between
// processes.
func mapFile(f *os.File, size int) (data []byte, unmap func() error, err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
