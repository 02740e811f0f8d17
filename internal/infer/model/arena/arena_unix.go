//go:build unix

package arena

import "golang.org/x/sys/unix"

// reserve maps n bytes of anonymous memory.
func reserve(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|noReserve)
}

func release(b []byte) error { return unix.Munmap(b) }
