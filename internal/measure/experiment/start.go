// Package experiment runs measurements: one server start (MeasureStart), and whole experiments of interleaved blocks
// of starts. It composes the other rooms of the measuring half and holds no metric and no statistic of its own.
package experiment

import (
	"crypto/tls"
	"slices"
	"time"

	"treeline/internal/host"
	"treeline/internal/measure/arrival"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/workload"
)

// StartOptions say how one running server is measured. Zero values mean: closed loop, no warm-up, server's defaults.
type StartOptions struct {
	URL         string // with or without /v1
	APIKey      string
	Model       string // "" takes the server's first
	ServerKind  string // "" detects
	Arm         string
	Block       int
	Order       int
	Prompts     []workload.Prompt
	Concurrency []int           // levels of the closed loop, in order; empty means {1}
	Arrival     *arrival.Law    // open loop by a law; nil is a closed one
	Schedule    []time.Duration // open loop at these moments, such as a trace's; nil is by Arrival
	MaxInFlight int             // open loop: more requests than this wait; 0 means no limit
	Requests    int             // measured requests per level; 0 means each prompt once
	Duration    time.Duration   // limit on a level; 0 none
	Cut         bool            // end what is in flight when Duration is over
	Ramp        time.Duration   // closed loop: its callers begin one after another over this time
	Warmup      int             // requests before the measured ones, with prompts that are not measured
	MaxTokens   int
	Temperature float64
	SLOs        []metric.SLO // limits behind the goodput, nil for none
	IgnoreEOS   bool
	ExpectSpec  string                // method this arm is meant to run ("none", "ngram", ...), "" when unknown
	Dir         string                // run folder to write, "" none
	Epoch       time.Time             // zero of the run's monotonic clock
	Progress    func(done, total int) // total is 0 when only a duration limits the load

	Finished func(*record.Request) // told of every measured request, after it is on disk; nil is nobody

	TLS          *tls.Config      // nil means the system's roots
	HTTP2, Reuse bool             // see loadgen.ClientOptions
	Seed         int64            // of arrivals, and sent with requests when Temperature is above 0
	Fingerprint  host.Fingerprint // of this machine, kept in the record
	Clock        *certify.Clock   // tests this client before the load and watches it during it; nil does neither
	Client       *record.Client   // certificate of this client from an earlier start of the same run; nil makes the test
	Idle         time.Duration    // longest silence in a stream; 0 means loadgen.DefaultIdle
	IdlePause    time.Duration    // between the two readings of the idle check; 0 means a second
}

// open reports whether the load is an open loop.
func (o StartOptions) open() bool { return o.Arrival != nil || len(o.Schedule) > 0 }

// rate is that of an open loop in requests a second, 0 for a closed one.
func (o StartOptions) rate() float64 {
	if len(o.Schedule) == 0 {
		if o.Arrival != nil {
			return o.Arrival.Rate
		}
		return 0
	}
	s := o.schedule()
	if n := len(s); n > 1 && s[n-1] > 0 {
		return float64(n-1) / s[n-1].Seconds()
	}
	return 1 // all at once
}

// perLevel is the number of requests to send on each level, 0 when only the time limits them.
func (o StartOptions) perLevel() int {
	if o.Requests <= 0 && o.Duration <= 0 {
		return len(o.Prompts)
	}
	return o.Requests
}

// schedule is that of an open loop, nil for a closed one.
func (o StartOptions) schedule() []time.Duration {
	requests := o.perLevel()
	switch {
	case len(o.Schedule) > 0:
		s := o.Schedule
		if requests > 0 {
			s = s[:min(requests, len(s))]
		}
		if o.Duration > 0 {
			n, _ := slices.BinarySearch(s, o.Duration)
			s = s[:n]
		}
		return s
	case o.Arrival != nil:
		return o.Arrival.Schedule(uint64(o.Seed), requests, o.Duration)
	}
	return nil
}
