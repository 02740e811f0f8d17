//go:build unix

package team

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An idle team uses no processor time.
func TestIdle(t *testing.T) {
	tm := New(16, true, runtime.Gosched)
	defer tm.Close()
	tm.Run(func(int) {})
	time.Sleep(10 * time.Millisecond)
	before := processTime(t)
	const rest = 200 * time.Millisecond
	time.Sleep(rest)
	if used := processTime(t) - before; used > rest/4 {
		t.Errorf("an idle team used %v of processor time in %v", used, rest)
	}
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Skipf("no resource usage: %v", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
