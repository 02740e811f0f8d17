package llama

import (
	"fmt"
	"testing"
	"time"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model"
)

// BenchmarkSmolLM2 measures a pass of m nodes at depth 128, logits for all of them: rows=1 is plain decoding, the others
// are the verification of drafts. It reports tokens per second.
func BenchmarkSmolLM2(b *testing.B) {
	path := smolPath(b)
	for _, set := range kernel.Sets() {
		if set.Name == "generic" {
			continue
		}
		for _, threads := range []int{1, 2} {
			m := open(b, path, Options{Set: set, Threads: threads, MaxLen: 1024})
			for _, rows := range []int{1, 2, 4, 8, 16, 32, 64} {
				b.Run(fmt.Sprintf("isa=%s/threads=%d/rows=%d", set.Name, threads, rows), func(b *testing.B) {
					depth(b, m, 128)
					batch := make([]model.Node, rows)
					for i := range batch {
						batch[i] = model.Node{Token: int32(5000 + i), Pos: 128 + i, Parent: i - 1, Want: true}
					}
					fastest := time.Hour // what the machine can do while others use it too
					for b.Loop() {
						begin := time.Now()
						if err := m.Forward(batch); err != nil {
							b.Fatal(err)
						}
						fastest = min(fastest, time.Since(begin))
					}
					b.ReportMetric(fastest.Seconds()*1000, "best-ms")
					b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "tok/s")
				})
			}
		}
	}
}

// BenchmarkDecode measures 128 committed tokens, as a request makes them.
func BenchmarkDecode(b *testing.B) {
	path := smolPath(b)
	for _, threads := range []int{1, 2} {
		m := open(b, path, Options{Threads: threads, MaxLen: 1024})
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				depth(b, m, 32)
				greedy(b, m, 0, 1000, 129)
			}
			b.ReportMetric(float64(128*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// depth fills sequence 0 with n committed tokens.
func depth(b *testing.B, m *Model, n int) {
	b.Helper()
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(2000 + i*37%1000)
	}
	m.Truncate(0, 0)
	if err := m.Reserve(0, 1024-1); err != nil {
		b.Fatal(err)
	}
	if err := m.Forward(chain(0, 0, tokens)); err != nil {
		b.Fatal(err)
	}
	m.Commit(0, upTo(n))
}
