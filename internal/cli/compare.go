package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/measure/report"
	"treeline/internal/measure/verdict"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	json      bool
	failOn    []string
	threshold float64
	report    string
	options   verdict.Options
}

func newCompare(env *Env) *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare OLD NEW...",
		Short: "Give a verdict on saved results",
		Long: "compare reads baseline files (or the folders that bench --out wrote) and says whether NEW decodes faster than\n" +
			"OLD, by how much, and how sure that is. Of two files that probe --json printed it gives the ratio, and says why\n" +
			"that is no verdict. Saved results were not measured in turn, so a verdict on them is at most likely.\n\n" +
			"It exits with 0 for any valid verdict, with 4 when the result is invalid, and with 3 when --fail-on says so.",
		Example: `  treeline compare before after
  treeline compare before after --fail-on slower              # exit code 3 for scripts
  treeline compare before.json after.json --report page.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("compare needs two results, the old one and a new one: treeline compare OLD NEW...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCompare(env, args, flags) },
	}
	resultFlags(cmd, &flags)
	f := cmd.Flags()
	f.StringVar(&flags.report, "report", "", "HTML file to write")
	f.Float64Var(&flags.options.Margin, "margin", verdict.DefaultMargin, "difference that counts as none, as a share of the speed")
	f.BoolVar(&flags.options.Altering, "altering", false, "the change is meant to alter the output (quantisation, another model): do not call it broken")
	return cmd
}

func runCompare(env *Env, args []string, flags compareFlags) error {
	if err := checkFailOn(flags); err != nil {
		return err
	}
	var sources []verdict.Source
	var errs []error
	for _, path := range args {
		s, err := verdict.ReadSource(path)
		errs = append(errs, err)
		sources = append(sources, s)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r, err := verdict.CompareSources(sources, flags.options)
	if err != nil {
		return err
	}
	if flags.report != "" {
		r.Report = flags.report
		if err := report.WriteHTML(flags.report, r, report.Options{Made: time.Now().Format("2 January 2006, 15:04")}); err != nil {
			return err
		}
	}
	return showResult(env, r, flags)
}

// showResult prints a result and turns it into an exit code.
func showResult(env *Env, r verdict.Result, flags compareFlags) error {
	show := report.Terminal
	if flags.json {
		show = report.JSON
	}
	if err := show(env.Stdout, r); err != nil {
		return err
	}
	if !r.Valid {
		return codeError{ExitInvalid, errors.New("the result is invalid: " + strings.Join(sentences(r, func(c verdict.Comparison) bool { return c.Verdict == verdict.Invalid }), " "))}
	}
	for _, reason := range flags.failOn {
		happened := sentences(r, func(c verdict.Comparison) bool { return happens(reason, c, flags.threshold) })
		if len(happened) > 0 {
			return codeError{ExitThreshold, fmt.Errorf("--fail-on %s: %s", reason, strings.Join(happened, " "))}
		}
	}
	return nil
}

// happens reports whether a comparison is what --fail-on asks to fail on.
func happens(reason string, c verdict.Comparison, threshold float64) bool {
	switch reason {
	case "slower":
		return c.Verdict == verdict.Slower
	case "undecided":
		return c.Verdict == verdict.Undecided
	}
	return c.Lo == nil || *c.Lo < threshold
}

func sentences(r verdict.Result, keep func(verdict.Comparison) bool) []string {
	var out []string
	for _, c := range r.Comparisons {
		if keep(c) {
			out = append(out, c.Sentence)
		}
	}
	return out
}

func checkFailOn(flags compareFlags) error {
	for _, reason := range flags.failOn {
		if !slices.Contains([]string{"slower", "undecided", "threshold"}, reason) {
			return usageError(fmt.Sprintf("--fail-on %q: use slower, undecided or threshold", reason))
		}
	}
	switch wants := slices.Contains(flags.failOn, "threshold"); {
	case wants && flags.threshold <= 0:
		return usageError("--fail-on threshold needs --threshold RATIO, for example --threshold 1.2")
	case !wants && flags.threshold != 0:
		return usageError("--threshold does nothing without --fail-on threshold")
	}
	if m := flags.options.Margin; !(m > 0 && m < 1) {
		return usageError(fmt.Sprintf("--margin %v: give a share between 0 and 1, such as 0.02", m))
	}
	return nil
}
