package metric

import "treeline/internal/measure/record"

// View is a request with what several metrics need of it, computed once.
type View struct {
	*record.Request
	Arrivals   []record.Arrival
	N          int  // output tokens
	Known      bool // N is
	NFirst     int  // tokens of the first arrival
	FirstKnown bool // NFirst is; otherwise it is the number of events
	Lumped     bool // see Buffered
}

// NewView computes the view of a request.
func NewView(r *record.Request) *View {
	v := &View{Request: r, Arrivals: r.Arrivals(), Lumped: Buffered(r)}
	v.N, v.Known = r.OutputTokens()
	v.NFirst, v.FirstKnown = firstTokens(v.Arrivals)
	return v
}

// decode is the time of decoding in milliseconds and the tokens that came in it, where both are known.
func (v *View) decode() (tokens int, ms float64, ok bool) {
	if !v.Known || v.First < 0 || v.N <= v.NFirst || v.Last <= v.First || len(v.Others) > 0 || v.Lumped {
		return 0, 0, false
	}
	return v.N - v.NFirst, float64(v.Last-v.First) / 1e6, true
}

// whole is the time of the answer in milliseconds: to its last output, or to the end of a body that was no stream.
func (v *View) whole() []float64 {
	if v.Last < 0 {
		return between(v.Wrote, v.Done)
	}
	return between(v.Wrote, v.Last)
}
