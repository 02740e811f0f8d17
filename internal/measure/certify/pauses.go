package certify

import (
	"math"
	"runtime/metrics"
)

// Pauses are the moments in which Go's garbage collector stopped all of this process.
type Pauses struct {
	N     int
	MaxMS float64 // upper bound of the longest one's bucket
	count []uint64
	edges []float64
}

// readPauses reads the runtime's histogram of them since the process began.
func readPauses() Pauses {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return Pauses{}
	}
	h := sample[0].Value.Float64Histogram()
	return Pauses{count: append([]uint64{}, h.Counts...), edges: h.Buckets}
}

// since is what happened after the earlier reading.
func (p Pauses) since(before Pauses) Pauses {
	for i, n := range p.count {
		if i < len(before.count) {
			n -= before.count[i]
		}
		if n > 0 {
			p.N += int(n)
			edge := p.edges[i+1]
			if math.IsInf(edge, 1) {
				edge = p.edges[i]
			}
			p.MaxMS = edge * 1e3
		}
	}
	return p
}
