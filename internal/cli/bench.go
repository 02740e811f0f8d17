package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/experiment"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/workload"
	"treeline/internal/term"
)

// benchFlags are the command's flags that are not fields of StartOptions.
type benchFlags struct {
	prompts, out, appendTo string
	json, printRequests    bool
	noCertify, allMetrics  bool
	slo                    string
}

func newBench(env *Env) *cobra.Command {
	o := experiment.StartOptions{Concurrency: []int{1}, Warmup: 3, MaxTokens: 128, Seed: 1}
	var flags benchFlags
	var load loadFlags
	cmd := &cobra.Command{
		Use:   "bench URL",
		Short: "Measure one running service properly and keep the result as a baseline",
		Long: "bench sends streamed chat requests and reports time to first token, time per output token and throughput, with\n" +
			"intervals that hold within this server start, and proves which method the server ran. By default it sends 32\n" +
			"built-in prompts of 8 categories, one at a time. URL is accepted with and without /v1.\n\n" +
			"--out writes a run folder with raw streams and baseline.json; --append adds this server start to a baseline, so\n" +
			"that several starts can be compared. Restart the server between two of them: the start is what is repeated.",
		Example: `  treeline bench http://localhost:8000 --out before
  treeline bench http://localhost:8000 --append before        # after a restart: another start of the same server
  treeline bench http://localhost:8000 --concurrency 1,4,16 --json`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.URL = args[0]
			if o.APIKey == "" {
				o.APIKey = env.Getenv("OPENAI_API_KEY")
			}
			if err := checkBench(o); err != nil {
				return err
			}
			if err := load.apply(cmd, &o); err != nil {
				return err
			}
			if cmd.Flags().Changed("slo") {
				var err error
				if o.SLOs, err = metric.ParseSLOs(flags.slo); err != nil {
					return usageError("--slo " + err.Error())
				}
			}
			return runBench(cmd, env, o, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "model to ask for (default: the first that the server lists)")
	f.IntSliceVar(&o.Concurrency, "concurrency", o.Concurrency, "requests in flight, closed loop; several levels separated by commas")
	f.IntVar(&o.Warmup, "warmup", o.Warmup, "requests before the measured ones")
	f.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "most tokens to generate per request")
	f.Float64Var(&o.Temperature, "temperature", 0, "sampling temperature")
	f.Int64Var(&o.Seed, "seed", o.Seed, "seed of prompt choice, arrivals and sampling")
	f.BoolVar(&o.IgnoreEOS, "ignore-eos", false, "ask the server to generate to --max-tokens always")
	f.StringVar(&o.ExpectSpec, "expect", "", "method that the server is meant to run (none, ngram, ...); another one makes the result invalid")
	f.StringVar(&flags.prompts, "prompts", "", "file of prompts: JSON lines or one array (ours, OpenAI messages, ShareGPT), or one prompt a line (default: the built-in set)")
	f.StringVar(&flags.out, "out", "", "run folder to write")
	f.StringVar(&flags.appendTo, "append", "", "baseline file or run folder to add this server start to; made when absent")
	f.BoolVar(&flags.json, "json", false, "print one JSON object")
	f.BoolVar(&flags.printRequests, "print-requests", false, "write a line of JSON to standard error for every finished request, once it is on disk")
	f.StringVar(&flags.slo, "slo", "", "limits such as ttft_ms=200,tpot_ms=50: goodput is the requests a second that met them all")
	f.BoolVar(&flags.allMetrics, "all-metrics", false, "show every metric, not only the ones that matter most")
	f.BoolVar(&flags.noCertify, "no-certify", false, "neither test this client before the load nor watch it during it; the result says so")
	serverFlags(cmd, &o.ServerKind, &o.APIKey)
	load.add(cmd, &o)
	cmd.MarkFlagsMutuallyExclusive("out", "append")
	return cmd
}

// gcPercent is how much of the live heap may be garbage before it is collected.
const gcPercent = 20

func runBench(cmd *cobra.Command, env *Env, o experiment.StartOptions, flags benchFlags) error {
	if err := choosePrompts(&o, flags.prompts); err != nil {
		return err
	}
	old, file, err := openBaseline(&o, flags)
	if err != nil {
		return err
	}
	if env.Getenv("GOGC") == "" {
		// Events are what memory goes to, and few of them become garbage: let the heap grow by a part, not to its double.
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	o.Fingerprint = host.Collect()
	if !flags.noCertify {
		if o.Clock, err = certify.StartClock(env.Executable); err != nil {
			return err
		}
		defer o.Clock.Close()
	}
	o.Epoch = time.Now()
	progress := env.progress()
	if flags.printRequests {
		o.Finished = func(r *record.Request) { printRequest(env.Stderr, r) }
	} else {
		o.Progress = func(done, total int) { showRequests(progress, done, total) }
	}
	b, err := experiment.MeasureStart(cmd.Context(), o)
	progress.Close()
	if b == nil {
		return err
	}
	if werr := keepBench(env, file, old, b); werr != nil && err == nil {
		err = werr
	}
	shown := *b
	shown.Starts = nil
	if flags.json {
		if werr := writeJSON(env.Stdout, &shown); werr != nil {
			return werr
		}
	} else {
		printBench(env.Stdout, b, flags.allMetrics)
	}
	switch failed := experiment.Failure(b); {
	case cmd.Context().Err() != nil:
		return fmt.Errorf("interrupted after %d finished requests%s", b.Requests.OK+b.Requests.Excluded, keptIn(o.Dir))
	case err != nil:
		return err
	case failed != nil:
		return failed
	case !b.Valid:
		return invalidResult(b.Warnings)
	}
	return nil
}

// showRequests tells how many requests are done; total is 0 where time ends the measurement.
func showRequests(p *term.Progress, done, total int) {
	switch {
	case total == 0:
		p.Set(fmt.Sprintf("bench: %d requests done", done))
	case done < total:
		p.Set(fmt.Sprintf("bench: %d of %d requests done", done, total))
	default:
		p.Line("bench: %d of %d requests done", done, total)
	}
}

// keepBench writes the baseline. A start that must not be used is never added to one that can be.
func keepBench(env *Env, file string, old, b *record.Bench) error {
	switch {
	case file == "":
		return nil
	case old == nil:
		return record.WriteBench(file, b)
	case !b.Valid:
		fmt.Fprintf(env.Stderr, "bench: this start is invalid and was not added to %s\n", file)
		return nil
	}
	return record.WriteBench(file, record.Append(old, b))
}

func keptIn(dir string) string {
	if dir == "" {
		return ""
	}
	return "; they are kept in " + dir
}

func checkBench(o experiment.StartOptions) error {
	switch {
	case o.Warmup < 0:
		return usageError("--warmup cannot be negative")
	case o.MaxTokens < 1:
		return usageError("--max-tokens must be at least 1")
	case !(o.Temperature >= 0 && o.Temperature <= 100):
		return usageError("--temperature must be a number from 0")
	}
	seen := map[int]bool{}
	for _, c := range o.Concurrency {
		if c < 1 || seen[c] {
			return usageError("--concurrency takes different numbers of at least 1, such as 1,4,16")
		}
		seen[c] = true
	}
	return nil
}

// choosePrompts draws the prompts evenly from all categories; with a file they are used as they stand.
func choosePrompts(o *experiment.StartOptions, file string) error {
	const usual = 32
	if len(o.Prompts) > 0 { // of a trace
		return nil
	}
	if file != "" {
		var err error
		o.Prompts, err = workload.LoadFile(file)
		return fileError(err)
	}
	all := workload.BuiltIn()
	n := o.Requests
	if n == 0 {
		n = usual
		if o.Duration > 0 {
			n = len(all)
		}
	}
	o.Prompts = workload.Sample(all, min(n, len(all)), uint64(o.Seed))
	return nil
}

// openBaseline finds where the result goes, before anything is measured: an unwritable place is told at once.
func openBaseline(o *experiment.StartOptions, flags benchFlags) (old *record.Bench, file string, err error) {
	if flags.out != "" {
		o.Dir = flags.out
		return nil, flags.out, record.CreateFolder(flags.out, host.Fingerprint{})
	}
	if flags.appendTo == "" {
		return nil, "", nil
	}
	info, err := os.Stat(flags.appendTo)
	folder := err == nil && info.IsDir()
	if folder {
		o.Dir = flags.appendTo
	}
	old, err = record.ReadBench(flags.appendTo)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return nil, "", err
	default:
		o.Order = len(old.Starts) + 1
	}
	if folder {
		o.Order, err = record.NextOrder(o.Dir)
		return old, flags.appendTo, err
	}
	f, err := os.OpenFile(flags.appendTo, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, "", fmt.Errorf("write baseline: %w", err)
	}
	if old == nil {
		os.Remove(flags.appendTo)
	}
	return old, flags.appendTo, f.Close()
}
