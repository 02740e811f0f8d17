package certify

import (
	"math"
	"runtime/metrics"
)

// Pauses are the moments in which Go's garbage collector stopped all of this process.
type Pauses struct {
	N       int
	TotalMS float64 // of all; this and the next two are upper bounds, from the runtime's buckets
	P99MS   float64
	MaxMS   float64
	count   []uint64
	edges   []float64
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
	var out Pauses
	var lengths []float64 // ascending, as the buckets are
	for i, n := range p.count {
		if i < len(before.count) {
			n -= before.count[i]
		}
		edge := p.edges[i+1]
		if math.IsInf(edge, 1) {
			edge = p.edges[i]
		}
		for range n {
			lengths = append(lengths, edge*1e3)
			out.TotalMS += edge * 1e3
		}
	}
	if out.N = len(lengths); out.N > 0 {
		out.P99MS, out.MaxMS = lengths[rank(0.99, out.N)], lengths[out.N-1]
	}
	return out
}
