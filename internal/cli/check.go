package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/record"
)

// certificateSchema names the form of check --client --json.
const certificateSchema = "treeline.client/1"

// certificate is what check --client found.
type certificate struct {
	Schema      string           `json:"schema"`
	Machine     host.Fingerprint `json:"machine"`
	GOMAXPROCS  int              `json:"gomaxprocs"`
	Certified   bool             `json:"certified"`
	MaxMedianMS float64          `json:"max_median_ms"` // the bar
	Highest     []highest        `json:"highest"`
	Steps       []step           `json:"steps"`
	Schedule    *record.SendLag  `json:"schedule"`
}

// highest is the largest certified event rate for a number of streams; 0 is none.
type highest struct {
	Streams    int     `json:"streams"`
	EventsPerS float64 `json:"events_per_s"`
}

// step is one test.
type step struct {
	Streams    int               `json:"streams"`
	Planned    float64           `json:"planned_events_per_s"`
	Reached    float64           `json:"events_per_s"`
	P50        float64           `json:"stamp_lag_p50_ms"`
	P90        float64           `json:"stamp_lag_p90_ms"`
	P99        float64           `json:"stamp_lag_p99_ms"`
	Max        float64           `json:"stamp_lag_max_ms"`
	N          int               `json:"n"`
	SenderLate int               `json:"sender_late"` // events that the sender itself was late with
	GCPauses   int               `json:"gc_pauses"`
	GCTotalMS  float64           `json:"gc_pause_total_ms"`
	GCP99MS    float64           `json:"gc_pause_p99_ms"`
	GCMaxMS    float64           `json:"gc_pause_max_ms"`
	CPU        *record.ClientCPU `json:"cpu"` // of the whole machine; null where it is not known
	Certified  bool              `json:"certified"`
}

func newCheck(env *Env) *cobra.Command {
	client, asJSON := false, false
	streams, rate, length := []int{16, 1000}, 0.0, time.Second
	cmd := &cobra.Command{
		Use:   "check --client",
		Short: "Certify this client: how late its stamps are, and up to which event rate",
		Long: "check --client sends the client of bench to a server in another process that stamps every event when it writes it,\n" +
			"at growing event rates, and prints how late the client's own stamps are. A rate is certified when it is reached and\n" +
			"the median lag is at most 0.1 ms. The highest certified rate is found for 16 and for 1,000 streams, in about half a\n" +
			"minute. Run it on the machine that will measure, while that is otherwise idle.",
		Example: `  treeline check --client
  treeline check --client --rate 20000 --streams 64     # one rate, as a plan would need it`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !client:
				return usageError("check needs --client: it certifies this client; with it go --streams, --rate, --duration and --json")
			case rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0) || rate > 1e6:
				return usageError("--rate takes events a second, up to 1000000")
			case length < 50*time.Millisecond || length > time.Minute:
				return usageError("--duration takes 50ms to 1m")
			}
			for _, n := range streams {
				if n < 1 || n > 100_000 {
					return usageError("--streams takes numbers from 1 to 100000")
				}
			}
			return checkClient(cmd.Context(), env, streams, rate, length, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client, "client", false, "certify this client")
	f.IntSliceVar(&streams, "streams", streams, "streams at the same time; each number is tested by itself")
	f.Float64Var(&rate, "rate", 0, "test this event rate only (default: climb until one fails)")
	f.DurationVar(&length, "duration", length, "of each test")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// scheduleRate is the request rate of the open loop that is tested beside the streams.
const scheduleRate = 100.0

// rates of the ladder, in events a second: every stream gets at least five.
func rates(only float64, streams int) []float64 {
	if only > 0 {
		return []float64{only}
	}
	all := []float64{1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000}
	return slices.DeleteFunc(all, func(rate float64) bool { return rate < float64(5*streams) })
}

func checkClient(ctx context.Context, env *Env, streams []int, only float64, length time.Duration, asJSON bool) error {
	clock, err := certify.StartClock(env.Executable)
	if err != nil {
		return err
	}
	defer clock.Close()
	out := certificate{
		Schema: certificateSchema, Machine: host.Collect(), GOMAXPROCS: runtime.GOMAXPROCS(0), Certified: true, MaxMedianMS: certify.MaxMedianMS, Steps: []step{},
	}
	progress := env.progress()
	defer progress.Close()
	for _, n := range streams {
		measure := func(ctx context.Context, rate float64) (certify.Result, error) {
			progress.Set(fmt.Sprintf("check: %d streams, %.0f events/s", n, rate))
			return certify.Run(ctx, certify.Options{Clock: clock, EventsPerS: rate, Streams: n, Duration: length})
		}
		told := func(s certify.Step) {
			r := s.Result
			out.Steps = append(out.Steps, step{
				Streams: n, Planned: r.Planned, Reached: r.EventsPerS, P50: r.Lags.P50, P90: r.Lags.P90, P99: r.Lags.P99, Max: r.Lags.Max, N: r.Lags.N,
				SenderLate: r.SenderLate, GCPauses: r.GC.N, GCTotalMS: r.GC.TotalMS, GCP99MS: r.GC.P99MS, GCMaxMS: r.GC.MaxMS, CPU: r.CPU.Record(), Certified: s.OK,
			})
		}
		best, err := certify.Highest(ctx, rates(only, n), 2, measure, told)
		if err != nil {
			return err
		}
		out.Highest = append(out.Highest, highest{n, best})
		out.Certified = out.Certified && best > 0
	}
	progress.Set(fmt.Sprintf("check: schedule of %g requests/s", scheduleRate))
	sent, err := certify.Schedule(ctx, clock, scheduleRate, length)
	if err != nil {
		return err
	}
	out.Schedule = sent.Sent(scheduleRate)
	progress.Close()
	if asJSON {
		err = writeJSON(env.Stdout, out)
	} else {
		err = printCertificate(env.Stdout, out)
	}
	if err == nil && !out.Certified {
		return codeError{ExitInvalid, fmt.Errorf("this client is not certified: no tested rate of some number of streams was reached with a median lag of at most %g ms; is the machine idle?", certify.MaxMedianMS)}
	}
	return err
}

func printCertificate(w io.Writer, c certificate) error {
	fmt.Fprintf(w, "client of treeline %s on %s\n\n", c.Machine.Treeline, c.Machine.Summary())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "streams\tevents/s\treached\tlag p50\tp90\tp99\tmax, ms\tsent late\tGC pauses\tmax, ms\tCPU own\tothers\tcertified")
	for _, s := range c.Steps {
		mark := "no"
		if s.Certified {
			mark = "yes"
		}
		own, others := "?", "?"
		if s.CPU != nil {
			own, others = fmt.Sprintf("%.0f %%", 100*s.CPU.Own), fmt.Sprintf("%.0f %%", 100*(s.CPU.Others+s.CPU.Steal))
		}
		fmt.Fprintf(tw, "%d\t%.0f\t%.0f\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%.2f\t%s\t%s\t%s\n",
			s.Streams, s.Planned, s.Reached, s.P50, s.P90, s.P99, s.Max, s.SenderLate, s.GCPauses, s.GCMaxMS, own, others, mark)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nA lag is the time from the writing of an event in another process to the client's stamp, loopback and scheduler included.\n"+
		"CPU is of all %d processors; own is client and sender together.\n", c.GOMAXPROCS)
	if s := c.Schedule; s != nil {
		fmt.Fprintf(w, "Open loop, Poisson arrivals, %g requests/s: sent later than planned by %.3f ms in the median, %.3f at p99, %.3f at most (n %d).\n",
			s.RequestsPerS, s.P50MS, s.P99MS, s.MaxMS, s.N)
	}
	if len(c.Steps) > 0 && c.Steps[0].CPU == nil {
		fmt.Fprintln(w, "Use of the processors is not told by this operating system: whether others disturbed the tests is unknown.")
	}
	for _, h := range c.Highest {
		if h.EventsPerS == 0 {
			fmt.Fprintf(w, "%d streams: no rate is certified\n", h.Streams)
			continue
		}
		fmt.Fprintf(w, "%d streams: certified up to %.0f events/s\n", h.Streams, h.EventsPerS)
	}
	return nil
}
