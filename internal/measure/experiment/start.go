// Package experiment runs measurements: one server start (MeasureStart), and whole experiments of interleaved blocks
// of starts. It composes the other rooms of the measuring half and holds no metric and no statistic of its own.
package experiment

import (
	"time"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
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
	Concurrency []int         // levels of the closed loop, in order; empty means {1}
	Rate        float64       // requests per second (open loop) when > 0
	Requests    int           // measured requests per level; 0 means each prompt once
	Duration    time.Duration // limit on a level; 0 none
	Warmup      int           // requests before the measured ones, with prompts that are not measured
	MaxTokens   int
	Temperature float64
	IgnoreEOS   bool
	ExpectSpec  string                // method this arm is meant to run ("none", "ngram", ...), "" when unknown
	Dir         string                // run folder to write, "" none
	Epoch       time.Time             // zero of the run's monotonic clock
	Progress    func(done, total int) // total is 0 when only a duration limits the load

	Finished func(*record.Request) // told of every measured request, after it is on disk; nil is nobody

	Constant    bool             // open loop: equal gaps instead of Poisson arrivals
	Seed        int64            // of arrivals, and sent with requests when Temperature is above 0
	Fingerprint host.Fingerprint // of this machine, kept in the record
	Clock       *certify.Clock   // tests this client before the load and watches it during it; nil does neither
	Client      *record.Client   // certificate of this client from an earlier start of the same run; nil makes the test
	Idle        time.Duration    // longest silence in a stream; 0 means loadgen.DefaultIdle
	IdlePause   time.Duration    // between the two readings of the idle check; 0 means a second
}
