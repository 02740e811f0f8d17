package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/host"
	"treeline/internal/infer/engine"
	"treeline/internal/infer/hub"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/server"
)

// serveFlags are the flags of serve. Their names follow SGLang where it has them.
type serveFlags struct {
	path, isa                                                 string
	host, apiKey, name, dtype, memLimit, algorithm, adaptive  string
	started                                                   time.Time
	port, threads, ctx, maxRunning, maxQueue, prefill, drafts int
	drain                                                     time.Duration
}

// laterFlags are part of serve's contract but not built yet: naming one says so instead of "unknown flag".
var laterFlags = []string{
	"speculative-graft-sources", "speculative-draft-model-path", "speculative-num-steps", "speculative-eagle-topk",
	"speculative-ddtree-budget", "speculative-ddtree-topk",
}

func newServe(env *Env) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve MODEL",
		Short: "Serve a model behind an OpenAI-compatible API",
		Long: `Serve a GGUF model on this machine's CPU behind an OpenAI-compatible API.

MODEL is the path of a GGUF file, or a name that treeline pull has fetched. The first SIGTERM or Ctrl-C stops
accepting and lets running requests finish; a second one ends at once. TREELINE_ISA forces a kernel set.`,
		Example: `  treeline serve model.gguf
  treeline serve model.gguf --port 8001 --threads 4 --speculative-algorithm NGRAM`,
		Args: cobra.ExactArgs(1),

		ValidArgsFunction: knownModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return usageError(err.Error())
			}
			o, err := hubOptions(env)
			if err != nil {
				return err
			}
			if f.path, _, err = hub.Find(args[0], o); err != nil {
				return err
			}
			// The engine makes almost no garbage: a collection in mid-decode costs more than the memory that it saves.
			debug.SetGCPercent(400)
			f.started, f.isa = time.Now(), env.Getenv("TREELINE_ISA")
			if _, err := kernel.ByName(f.isa); err != nil {
				return usageError("TREELINE_ISA: " + err.Error())
			}
			return serve(cmd.Context(), env, f, loadBackend)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.host, "host", "127.0.0.1", "address to listen on")
	fs.IntVar(&f.port, "port", 8000, "port to listen on; 0 takes any free one")
	fs.StringVar(&f.name, "served-model-name", "", "name that the API shows (default: the file's name)")
	fs.StringVar(&f.apiKey, "api-key", "", "key that clients must send; /health and /metrics stay open")
	fs.IntVar(&f.threads, "threads", 0, "compute threads (default: all cores)")
	fs.IntVar(&f.ctx, "ctx-size", 0, "most tokens of prompt and answer together (default: what the model was trained for)")
	fs.StringVar(&f.memLimit, "mem-limit", "", "memory for weights, keys and values, e.g. 512M or 4G (default: what full-length sequences need)")
	fs.StringVar(&f.dtype, "dtype", "auto", "auto: compute with the file's weight types; float32: with dequantised weights")
	fs.IntVar(&f.maxRunning, "max-running-requests", 8, "requests decoded together")
	fs.IntVar(&f.maxQueue, "max-queued-requests", 128, "requests that may wait; beyond, the answer is 503")
	fs.IntVar(&f.prefill, "chunked-prefill-size", engine.DefaultPrefillTokens, "prompt tokens per round while others decode")
	fs.StringVar(&f.algorithm, "speculative-algorithm", "NONE", "NONE or NGRAM (prompt lookup)")
	fs.IntVar(&f.drafts, "speculative-num-draft-tokens", 0, "most draft tokens per round, 1 to 255 (default: by kernel set)")
	fs.StringVar(&f.adaptive, "speculative-adaptive", "on", "on: draft only as far as it is likely to pay; off: always in full")
	fs.DurationVar(&f.drain, "drain-timeout", 30*time.Second, "how long running requests may take to finish after SIGTERM")
	for _, name := range laterFlags {
		fs.String(name, "", "")
		if err := fs.MarkHidden(name); err != nil {
			panic(err) // the flag was defined one line above
		}
	}
	return cmd
}

// check refuses values that flags' types let through.
func (f *serveFlags) check(cmd *cobra.Command) error {
	for _, name := range laterFlags {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is not available yet", name)
		}
	}
	f.algorithm = strings.ToUpper(f.algorithm)
	switch f.algorithm {
	case "NONE", "NGRAM":
	case "NEXTN", "DFLASH", "DDTREE", "GRAFT":
		return fmt.Errorf("--speculative-algorithm %s is not available yet; use NONE or NGRAM", f.algorithm)
	default:
		return fmt.Errorf("--speculative-algorithm %q: want NONE or NGRAM", f.algorithm)
	}
	drafts := cmd.Flags().Changed("speculative-num-draft-tokens")
	for _, c := range []struct {
		bad  bool
		text string
	}{
		{f.dtype != "auto" && f.dtype != "float32", fmt.Sprintf("--dtype %q: want auto or float32", f.dtype)},
		{f.adaptive != "on" && f.adaptive != "off", fmt.Sprintf("--speculative-adaptive %q: want on or off", f.adaptive)},
		{drafts && f.algorithm == "NONE", "--speculative-num-draft-tokens needs --speculative-algorithm NGRAM"},
		{drafts && (f.drafts < 1 || f.drafts > engine.MaxDraftTokens), fmt.Sprintf("--speculative-num-draft-tokens %d: want 1 to %d", f.drafts, engine.MaxDraftTokens)},
		{f.port < 0 || f.port > 65535, fmt.Sprintf("--port %d: want 0 to 65535", f.port)},
		{f.threads < 0 || f.threads > 64, fmt.Sprintf("--threads %d: want 1 to 64", f.threads)},
		{f.ctx < 0, fmt.Sprintf("--ctx-size %d: want a positive number", f.ctx)},
		{f.maxRunning < 1, fmt.Sprintf("--max-running-requests %d: want at least 1", f.maxRunning)},
		{f.maxQueue < 0, fmt.Sprintf("--max-queued-requests %d: want 0 or more", f.maxQueue)},
		{f.prefill < 1, fmt.Sprintf("--chunked-prefill-size %d: want at least 1", f.prefill)},
		{f.drain < 0, fmt.Sprintf("--drain-timeout %v: want 0 or more", f.drain)},
	} {
		if c.bad {
			return errors.New(c.text)
		}
	}
	_, err := parseBytes(f.memLimit)
	return err
}

// parseBytes reads 512M, 4G, or plain bytes; "" is 0.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := strings.TrimRight(strings.ToUpper(s), "KMGIB"), int64(1)
	switch suffix := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s)[len(digits):], "B"), "I"); suffix {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	default:
		return 0, fmt.Errorf("--mem-limit %q: want a size such as 512M or 4G", s)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n > 0) || n*float64(unit) > 1<<60 {
		return 0, fmt.Errorf("--mem-limit %q: want a size such as 512M or 4G", s)
	}
	return int64(n * float64(unit)), nil
}

// serve loads and serves until a signal. The port is taken before the model is loaded, so that the answer to a taken
// port does not come after a minute.
func serve(ctx context.Context, env *Env, f serveFlags, load func(serveFlags, *server.Metrics) (*server.Backend, error)) error {
	ln, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("listen on %s port %d: %w; choose another --port, or 0 for any free one", f.host, f.port, err)
	}
	if f.name == "" {
		f.name = strings.TrimSuffix(filepath.Base(f.path), ".gguf")
	}
	metrics := server.NewMetrics(f.name)
	srv := server.New(server.Options{Model: f.name, APIKey: f.apiKey, Version: host.Version(), Metrics: metrics})
	var backend *server.Backend
	return srv.Run(ctx, server.RunOptions{
		Listener: ln, Drain: f.drain,
		Load: func() (b *server.Backend, err error) {
			backend, err = load(f, metrics)
			return backend, err
		},
		Ready: func() {
			fmt.Fprintf(env.Stderr, "treeline: serving %s on http://%s (%s, %d threads, %s)\n",
				f.name, ln.Addr(), backend.Info.ISA, backend.Info.Threads, f.algorithm)
		},
	})
}
