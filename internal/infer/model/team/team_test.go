package team

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Every worker adds its share in each phase; a phase reads what the one before wrote in all places, so a barrier that
// lets one worker through early is seen.
func TestRun(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7, 16, 64} {
		for _, spin := range []bool{true, false} {
			spin := spin && size <= runtime.GOMAXPROCS(0)
			tm := New(size, spin, runtime.Gosched)
			const calls, phases = 20, 10
			sum := make([]int64, size)
			next := make([]int64, size)
			var wrong atomic.Int64
			for range calls {
				tm.Run(func(tid int) {
					for range phases {
						total := int64(0)
						for _, v := range sum {
							total += v
						}
						next[tid] = total + int64(tid)
						tm.Barrier(tid)
						sum[tid] = next[tid] % 1009
						tm.Barrier(tid)
						for i, v := range next {
							if v != next[0]+int64(i) {
								wrong.Add(1)
							}
						}
						tm.Barrier(tid)
					}
				})
			}
			tm.Close()
			if n := wrong.Load(); n != 0 {
				t.Errorf("size %d: %d values were read before they were written", size, n)
			}
			if tm.Size() != size {
				t.Errorf("size: got %d, want %d", tm.Size(), size)
			}
		}
	}
}

// Workers that went to sleep between calls must wake up, and Run must allocate nothing.
func TestSleepAndWake(t *testing.T) {
	tm := New(3, false, runtime.Gosched)
	defer tm.Close()
	var n atomic.Int64
	work := func(int) { n.Add(1) }
	for range 5 {
		tm.Run(work)
		time.Sleep(2 * time.Millisecond)
	}
	if got := n.Load(); got != 15 {
		t.Errorf("got %d executions, want 15", got)
	}
	if a := testing.AllocsPerRun(50, func() { tm.Run(work) }); a > 0 {
		t.Errorf("a call allocates %v times, want 0", a)
	}
}

func BenchmarkBarrier(b *testing.B) {
	tm := New(min(2, runtime.GOMAXPROCS(0)), true, func() {})
	defer tm.Close()
	tm.Run(func(tid int) {
		for range b.N {
			tm.Barrier(tid)
		}
	})
}

// Calls of random length with random rests in between, on more workers than cores: sleeping, late wakers and yielding
// all occur. A lost or a spurious wake-up shows as a hang or as a wrong count.
func TestRandomRests(t *testing.T) {
	for _, size := range []int{2, 3, 16} {
		tm := New(size, true, func() {})
		rng := rand.New(rand.NewPCG(1, 2))
		var n, phase atomic.Int64
		want := int64(0)
		for range 300 {
			rest, phases := rng.IntN(40), 1+rng.IntN(4)
			tm.Run(func(tid int) {
				for p := range phases {
					if tid == rest {
						time.Sleep(50 * time.Microsecond)
					}
					n.Add(1)
					tm.Barrier(tid)
					if tid == 0 {
						phase.Store(int64(p))
					}
					tm.Barrier(tid)
					if phase.Load() != int64(p) {
						t.Errorf("size %d: worker %d sees phase %d, want %d", size, tid, phase.Load(), p)
					}
				}
			})
			want += int64(size * phases)
			if rng.IntN(4) == 0 {
				time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
			}
		}
		tm.Close()
		if n.Load() != want {
			t.Errorf("size %d: %d phases were worked, want %d", size, n.Load(), want)
		}
	}
}
