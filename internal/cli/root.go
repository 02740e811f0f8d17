package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Main runs the command line in env and returns the exit code.
func Main(env *Env) int {
	root := newRoot(env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	if err := root.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintf(env.Stderr, "treeline: %v\n", err)
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			return coded.ExitCode()
		}
		return 1
	}
	return 0
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "treeline",
		Short:         "Know, with evidence, whether a change made an LLM service faster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newProbe(env))
	root.AddCommand(newBench(env))
	root.AddCommand(newCompare(env))
	return root
}
