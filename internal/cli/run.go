package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/host"
	"treeline/internal/measure/certify"
	"treeline/internal/measure/experiment"
	"treeline/internal/measure/plan"
)

// runFlags are the flags of run.
type runFlags struct {
	out            string
	resume, dryRun bool
	result         compareFlags // how the result is shown and turned into an exit code
}

func newRun(env *Env) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run PLAN.yaml",
		Short: "Carry out a plan: interleaved server starts, proof, output check, verdict, report",
		Long: "run starts every arm of a plan once in each block, freshly and alone, measures it, and gives a verdict with an\n" +
			"interval over blocks. Everything finished is on disk at every moment: after an interruption --resume goes on.\n\n" +
			"It exits with 0 for any valid verdict, with 4 when the result is invalid, and with 3 when --fail-on says so.",
		Example: `  treeline run plan.yaml --dry-run
  treeline run plan.yaml --out run
  treeline run plan.yaml --out run --resume                   # after an interruption`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("run needs one plan: treeline run PLAN.yaml; treeline plan --init writes one")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), env, args[0], flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "", "run folder (default: treeline-run-DATE-TIME in the current folder)")
	f.BoolVar(&flags.resume, "resume", false, "continue the run in --out; the plan must be the same")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show what would be started, in which order, and start nothing")
	resultFlags(cmd, &flags.result)
	return cmd
}

// resultFlags are those of every command that ends in a verdict.
func resultFlags(cmd *cobra.Command, flags *compareFlags) {
	f := cmd.Flags()
	f.BoolVar(&flags.json, "json", false, "print one JSON object")
	f.StringSliceVar(&flags.failOn, "fail-on", nil, "exit with 3 on these: slower, undecided, threshold; several separated by commas")
	f.Float64Var(&flags.threshold, "threshold", 0, "with --fail-on threshold: the ratio that the lower end of the interval has to reach")
}

func runPlan(ctx context.Context, env *Env, path string, flags runFlags) error {
	flags.result.options.Margin = plan.DefaultMargin // the plan's own is used; this one passes the check
	if err := checkFailOn(flags.result); err != nil {
		return err
	}
	if flags.resume && flags.out == "" {
		return usageError("--resume needs --out FOLDER, the folder of the run to continue")
	}
	p, err := plan.Load(path)
	if err != nil {
		return err
	}
	if flags.dryRun {
		return printPlan(env.Stdout, p)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	if flags.out == "" {
		flags.out = datedFolder("run")
	}
	return carryOut(ctx, env, experiment.RunOptions{Plan: p, PlanText: text, Dir: flags.out, Resume: flags.resume}, flags.result)
}

// carryOut runs an experiment with talk on stderr, and shows its result.
func carryOut(ctx context.Context, env *Env, o experiment.RunOptions, flags compareFlags) error {
	var err error
	o.Executable = env.Executable
	talk := newNarrator(env, o.Plan)
	defer talk.Close()
	stopTalk := context.AfterFunc(ctx, func() {
		talk.Line("\nStopping the server; what is finished stays. A second Ctrl-C ends at once.")
	})
	defer stopTalk()
	if o.Fingerprint.Machine == "" {
		o.Fingerprint = host.Collect()
	}
	if o.Clock, err = certify.StartClock(o.Executable); err != nil {
		return err
	}
	defer o.Clock.Close()
	introduce(env.Stderr, o)
	o.Notify = talk.Event
	out, err := experiment.Run(ctx, o)
	talk.Close()
	switch {
	case err != nil && out != nil:
		return fmt.Errorf("%w\n%d of %d starts are finished, in %s; go on with: treeline run %s --out %s --resume",
			err, len(out.Starts), out.Planned, o.Dir, o.Plan.Source, o.Dir)
	case err != nil:
		return err
	}
	fmt.Fprintln(env.Stderr)
	return showResult(env, out.Result, flags)
}

// introduce says what is about to happen, and where.
func introduce(w io.Writer, o experiment.RunOptions) {
	fmt.Fprintf(w, "machine  %s\n", o.Fingerprint.Summary())
	fmt.Fprintf(w, "plan     %s\n", scheduleText(o.Plan))
	fmt.Fprintf(w, "folder   %s\n\n", o.Dir)
}

// scheduleText is the plan in a sentence.
func scheduleText(p plan.Plan) string {
	categories := map[string]bool{}
	for _, prompt := range p.Prompts {
		categories[prompt.Category] = true
	}
	passes := ""
	if p.Workload.Trials > 1 {
		passes = fmt.Sprintf(" %d times over", p.Workload.Trials)
	}
	return fmt.Sprintf("%d blocks x %d arms = %d fresh server starts; each gets %d warm-up request(s), then %d prompts of %d categories%s, one at a time, up to %d tokens each",
		len(p.Order), len(p.Arms), p.Starts(), p.Workload.Warmup, len(p.Prompts), len(categories), passes, p.Workload.MaxTokens)
}

// printPlan shows everything that a run of the plan would do.
func printPlan(w io.Writer, p plan.Plan) error {
	_, hash, err := plan.Lock(p, host.Version())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\nplan hash %s, seed %d\nbaseline %s; primary comparisons with %s; margin %g %%\n\norder of starts\n",
		scheduleText(p), hash, p.Seed, p.Baseline, strings.Join(p.Others(), ", "), 100*p.Margin)
	for i, row := range p.Order {
		fmt.Fprintf(w, "  block %d: %s\n", i+1, strings.Join(row, ", "))
	}
	fmt.Fprintln(w, "\narms")
	for _, a := range p.Arms {
		command := strings.Join(a.Command, " ")
		if a.Model != "" {
			command = strings.Join(append([]string{"treeline serve", a.Model, "--speculative-algorithm", strings.ToUpper(a.Method)}, a.Flags...), " ")
		}
		fmt.Fprintf(w, "  %s: method %s: %s\n", a.Name, a.Method, command)
	}
	fmt.Fprintln(w, "\nprompts")
	for _, prompt := range p.Prompts {
		fmt.Fprintf(w, "  %s\n", prompt.ID)
	}
	return nil
}

// datedFolder names a new run folder in the current one.
func datedFolder(what string) string {
	return "treeline-" + what + "-" + time.Now().Format("20060102-150405")
}
