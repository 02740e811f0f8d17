package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"treeline/internal/host"
)

// Main runs the command line in env and returns the exit code (see exit.go). The first interrupt cancels the command's
// context; the second ends the process.
func Main(env *Env) int {
	ctx, stop := interruptible(context.Background(), env)
	defer stop()
	root, ran := newRoot(env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !*ran {
		// The command line was refused before any command ran.
		err = usageError(err.Error() + "\nRun 'treeline --help' or 'treeline COMMAND --help' for usage.")
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "treeline: %v\n", err)
	}
	return exitCode(ctx, err)
}

// newRoot builds the command tree. ran becomes true when a command starts to work, so that errors before that are
// known to be the command line's.
func newRoot(env *Env) (root *cobra.Command, ran *bool) {
	root = &cobra.Command{
		Use:   "treeline",
		Short: "Know, with evidence, whether a change made an LLM service faster",
		Long: "Treeline measures LLM services (any OpenAI-compatible server) in interleaved server starts, proves which method\n" +
			"each one ran, checks that outputs stayed the same, and gives a verdict with an interval. It also serves models\n" +
			"itself on a CPU, so that everything can be tried on a bare machine: treeline demo.",
		Version:       host.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("treeline {{.Version}}\n")
	for _, newCommand := range commands() {
		root.AddCommand(newCommand(env))
	}
	ran = new(bool)
	markRun(root, ran)
	return root, ran
}

// commands lists the constructors of all commands, in the order of the help text's groups.
func commands() []func(*Env) *cobra.Command {
	return []func(*Env) *cobra.Command{
		newDemo,
		newCheck,
		newProbe,
		newBench,
		newCompare,
		newReport,
		newPlan,
		newRun,
		newPull,
		newServe,
		newSimulate,
	}
}

// markRun wraps every command so that it sets ran when it starts.
func markRun(cmd *cobra.Command, ran *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			*ran = true
			return run(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		markRun(sub, ran)
	}
}

// errInterrupted is the cause of a context that a signal cancelled.
var errInterrupted = errors.New("interrupted")
