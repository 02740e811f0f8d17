package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"treeline/internal/measure/simserver"
	"treeline/internal/measure/strictyaml"
)

func newSimulate(env *Env) *cobra.Command {
	host, port, withStdin := "127.0.0.1", 0, false
	over := simserver.Default()
	cmd := &cobra.Command{
		Use:   "simulate [SPEC.yaml]",
		Short: "Serve answers of known timing, for tests and for trying a plan",
		Long: "simulate is a server whose answers follow a law that you write down: times, their variance, speculation, a queue,\n" +
			"a prefix cache, failures. It tells what it is and counts under the names of vLLM, SGLang or llama.cpp, and GET /truth\n" +
			"gives what was really sent. docs/simulate.md describes the spec; without one it is a plain server with 20 ms to the\n" +
			"first token and 5 ms a token. The first line on standard output is the address.",
		Example: `  treeline simulate
  treeline simulate examples/simulated/ngram.yaml --port 8000
  treeline simulate examples/simulated/ngram.yaml --start 2     # another start of the same server: other draws`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := simserver.Default()
			if len(args) == 1 {
				var err error
				if spec, err = simserver.Load(args[0]); err != nil {
					var faults strictyaml.Errors
					if errors.As(err, &faults) {
						return usageError(err.Error())
					}
					return err
				}
			}
			f := cmd.Flags()
			if f.Changed("seed") {
				spec.Seed = over.Seed
			}
			if f.Changed("start") {
				spec.Start = over.Start
			}
			if f.Changed("mode") {
				spec.Mode = over.Mode
			}
			return simulate(cmd.Context(), env, spec, net.JoinHostPort(host, strconv.Itoa(port)), withStdin)
		},
	}
	f := cmd.Flags()
	f.StringVar(&host, "host", host, "address to listen on")
	f.IntVar(&port, "port", port, "port to listen on; 0 takes a free one")
	f.Uint64Var(&over.Seed, "seed", over.Seed, "seed of all draws, instead of the spec's")
	f.Uint64Var(&over.Start, "start", over.Start, "number of this start, instead of the spec's: the start's effect and its requests' are drawn anew")
	f.StringVar(&over.Mode, "mode", over.Mode, "law, script or clock, instead of the spec's")
	f.BoolVar(&withStdin, "exit-with-stdin", withStdin, "end when standard input is closed, so that no server outlives the program that started it")
	return cmd
}

func simulate(ctx context.Context, env *Env, spec simserver.Spec, address string, withStdin bool) error {
	s, err := simserver.New(spec)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another --port", address, err)
	}
	if _, err := fmt.Fprintf(env.Stdout, "listening on http://%s\n", l.Addr()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, env.Stdin) // its end is what counts
			stop()
		}()
	}
	go func() {
		<-ctx.Done()
		s.Close()
	}()
	return s.Serve(l)
}
