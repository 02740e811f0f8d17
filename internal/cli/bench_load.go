package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/host"
	"treeline/internal/measure/arrival"
	"treeline/internal/measure/experiment"
	"treeline/internal/measure/workload"
)

// loadFlags say how requests are sent: when, how many, and over which connections.
type loadFlags struct {
	law        arrival.Law
	trace      string
	traceSpeed float64
	ramp       time.Duration
	insecure   bool
	caCert     string
}

func (l *loadFlags) add(cmd *cobra.Command, o *experiment.StartOptions) {
	f := cmd.Flags()
	f.Float64Var(&l.law.Rate, "rate", 0, "requests a second, open loop with Poisson arrivals, instead of --concurrency")
	f.Float64Var(&l.law.Burstiness, "burstiness", 1, "with --rate: shape of Gamma distributed gaps; 1 is Poisson, below 1 comes in bursts")
	f.BoolVar(&l.law.Constant, "constant-rate", false, "with --rate: equal gaps instead")
	f.StringVar(&l.trace, "trace", "", "replay the arrivals and lengths of a trace file (Mooncake, Azure, BurstGPT), instead of --concurrency")
	f.Float64Var(&l.traceSpeed, "trace-speed", 1, "with --trace: play it so many times as fast")
	f.DurationVar(&l.ramp, "ramp", 0, "time in which the rate, or the number of callers, grows to its value")
	f.IntVar(&o.MaxInFlight, "max-in-flight", 0, "open loop: most requests in flight; others wait, and their delay is shown (0: no limit)")
	f.IntVar(&o.Requests, "requests", 0, "requests per level (default 32, or as many as --duration allows)")
	f.DurationVar(&o.Duration, "duration", 0, "time per level, such as 60s; requests in flight are finished")
	f.BoolVar(&o.Cut, "cut", false, "with --duration: cut off what is in flight when the time is up; it counts as neither success nor failure")
	f.DurationVar(&o.Idle, "idle-timeout", 0, "longest silence in an answer before it has failed (default 2m); there is no limit on the whole")
	f.BoolVar(&o.Reuse, "reuse-connections", false, "keep connections for later requests; by default every request has its own")
	f.BoolVar(&o.HTTP2, "http2", false, "offer HTTP/2 over TLS: streams then share a connection")
	f.BoolVar(&l.insecure, "insecure", false, "accept any TLS certificate")
	f.StringVar(&l.caCert, "ca-cert", "", "file with the certificate (PEM) of the authority to trust")
	for _, loop := range []string{"rate", "trace"} {
		cmd.MarkFlagsMutuallyExclusive("concurrency", loop)
		cmd.MarkFlagsMutuallyExclusive("prompts", "trace")
	}
	cmd.MarkFlagsMutuallyExclusive("rate", "trace")
	cmd.MarkFlagsMutuallyExclusive("ramp", "trace")
	cmd.MarkFlagsMutuallyExclusive("burstiness", "constant-rate")
	cmd.MarkFlagsMutuallyExclusive("insecure", "ca-cert")
}

// apply checks the flags and puts what they mean into o.
func (l *loadFlags) apply(cmd *cobra.Command, o *experiment.StartOptions) error {
	given := cmd.Flags().Changed
	switch {
	case given("requests") && o.Requests < 1:
		return usageError("--requests must be at least 1")
	case o.Duration < 0 || l.ramp < 0 || o.Idle < 0:
		return usageError("--duration, --ramp and --idle-timeout cannot be negative")
	case given("idle-timeout") && o.Idle == 0:
		return usageError("--idle-timeout must be above 0; leave it out for 2m")
	case o.MaxInFlight < 0:
		return usageError("--max-in-flight cannot be negative")
	case o.MaxInFlight > 0 && !given("rate") && !given("trace"):
		return usageError("--max-in-flight needs --rate or --trace: a closed loop is limited by --concurrency")
	case o.Cut && o.Duration == 0:
		return usageError("--cut needs --duration: it says what happens when the time is up")
	case !given("rate") && (given("burstiness") || given("constant-rate")):
		return usageError("--burstiness and --constant-rate need --rate")
	case given("burstiness") && l.law.Burstiness == 0:
		return usageError("--burstiness must be above 0: 1 is Poisson, below 1 comes in bursts")
	case given("trace-speed") && !given("trace"):
		return usageError("--trace-speed needs --trace")
	case !(l.traceSpeed > 0 && l.traceSpeed <= 1e9):
		return usageError("--trace-speed must be above 0, at most 1000000000")
	case (o.HTTP2 || l.insecure || l.caCert != "") && !strings.HasPrefix(strings.ToLower(o.URL), "https://"):
		return usageError("--http2, --insecure and --ca-cert are about TLS: they need an address that begins with https://")
	}
	switch {
	case given("rate"):
		l.law.Ramp = l.ramp
		if err := l.law.Check(); err != nil {
			return usageError("--rate, --burstiness, --ramp: " + err.Error())
		}
		if n := l.law.Expect(o.Duration); o.Requests == 0 && n > maxPlanned {
			return usageError(fmt.Sprintf("--rate and --duration come to %.0f requests, at most %d can be planned; lower one of them, or add --requests", n, maxPlanned))
		}
		o.Arrival = &l.law
	case l.trace != "":
		t, err := workload.LoadTrace(l.trace)
		if err != nil {
			return fileError(err)
		}
		if o.Requests > 0 {
			t = t[:min(o.Requests, len(t))]
		}
		o.Schedule, o.Prompts, o.IgnoreEOS = arrival.Scale(t.Moments(), l.traceSpeed), t.Prompts(o.Seed), true
	default:
		o.Ramp = l.ramp
	}
	if err := l.connections(o); err != nil {
		return err
	}
	return checkFiles(*o)
}

func (l *loadFlags) connections(o *experiment.StartOptions) error {
	switch {
	case l.insecure:
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	case l.caCert != "":
		pem, err := os.ReadFile(l.caCert)
		if err != nil {
			return fmt.Errorf("read --ca-cert: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return usageError(fmt.Sprintf("--ca-cert %s: no certificate in PEM form in it", l.caCert))
		}
		o.TLS = &tls.Config{RootCAs: roots}
	}
	return nil
}

// maxPlanned is the most requests of an open loop: their moments are fixed beforehand and kept.
const maxPlanned = 10_000_000

// spareFiles are what the program itself needs beside one connection for each request in flight.
const spareFiles = 32

// checkFiles finds out before anything is sent that the system does not allow so many connections.
func checkFiles(o experiment.StartOptions) error {
	limit, need := host.FileLimit(), o.MaxInFlight
	if o.Arrival == nil && len(o.Schedule) == 0 {
		need = slices.Max(o.Concurrency)
	}
	if limit > 0 && need+spareFiles > limit {
		return usageError(fmt.Sprintf("%d requests in flight need as many connections, and this process may have %d files open; raise the limit (ulimit -n %d) or ask for fewer", need, limit, need+1024))
	}
	return nil
}
