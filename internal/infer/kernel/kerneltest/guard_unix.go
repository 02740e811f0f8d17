//go:build unix

package kerneltest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fence returns n elements of memory right before a page that faults when touched, and right behind one when front:
// a kernel that reads or writes one byte beyond its operands ends the test.
func fence[T byte | float32](t testing.TB, n int, front bool) []T {
	t.Helper()
	var zero T
	page := unix.Getpagesize()
	size := n * int(unsafe.Sizeof(zero))
	inner := (size + page - 1) / page * page
	raw, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(raw) })
	for _, p := range [][]byte{raw[:page], raw[page+inner:]} {
		if err := unix.Mprotect(p, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page + inner - size
	if front {
		at = page
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&raw[at])), n)
}
