package arena

import (
	"testing"
	"unsafe"
)

func TestNew(t *testing.T) {
	for _, n := range []int{1, 4, 4095, Align, Align + 1, 5 << 20} {
		b, err := New(n)
		if err != nil {
			t.Fatalf("New(%d): %v", n, err)
		}
		data := b.Bytes()
		if len(data) != n {
			t.Errorf("New(%d): got %d bytes", n, len(data))
		}
		if a := uintptr(unsafe.Pointer(&data[0])); a%Align != 0 {
			t.Errorf("New(%d): address %#x is not aligned to %#x", n, a, Align)
		}
		if data[0] != 0 || data[n-1] != 0 {
			t.Errorf("New(%d): memory is not zero", n)
		}
		data[0], data[n-1] = 1, 2
		if got, want := len(b.Float32s()), n/4; got != want {
			t.Errorf("New(%d): got %d floats, want %d", n, got, want)
		}
		if err := b.Free(); err != nil {
			t.Errorf("Free of %d bytes: %v", n, err)
		}
		if b.Bytes() != nil {
			t.Errorf("a freed block of %d bytes still hands out memory", n)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(-1); err == nil {
		t.Error("New(-1) did not fail")
	}
	b, err := New(0)
	if err != nil || b.Bytes() != nil || b.Free() != nil {
		t.Errorf("New(0): got %v, %v, want an empty block", b, err)
	}
}
