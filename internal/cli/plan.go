package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"treeline/internal/measure/plan"
)

func newPlan(env *Env) *cobra.Command {
	var o plan.InitOptions
	init, out := false, ""
	cmd := &cobra.Command{
		Use:   "plan --init --treeline MODEL --arms NAME=METHOD,... --out FILE",
		Short: "Write the plan of an experiment",
		Long: "plan --init writes a plan that compares speculative methods of treeline serve on one model; treeline run carries\n" +
			"it out. The file explains itself, and arms of other servers (any command) can be written into it.",
		Example: `  treeline plan --init --treeline model.gguf --out plan.yaml
  treeline plan --init --treeline model.gguf --arms plain=NONE,lookup=NGRAM --blocks 6 --out plan.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !init {
				return usageError("plan writes a plan with --init: treeline plan --init --treeline MODEL --arms plain=NONE,lookup=NGRAM --out plan.yaml")
			}
			return runInit(env, o, out)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&init, "init", false, "write a new plan")
	f.StringVar(&o.Model, "treeline", "", "model that treeline serve runs: a GGUF file, or a name that treeline pull knows")
	f.StringSliceVar(&o.Arms, "arms", []string{"plain=NONE", "lookup=NGRAM"}, "arms as NAME=METHOD, separated by commas; the first is the baseline")
	f.IntVar(&o.Blocks, "blocks", 4, "blocks, each with a fresh start of every arm; 3 at least for a verdict")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the draw of prompts and of the order of starts")
	f.StringVar(&out, "out", "", "file to write (default: standard output)")
	return cmd
}

func runInit(env *Env, o plan.InitOptions, out string) error {
	if o.Model == "" {
		return usageError("plan --init needs --treeline MODEL: a GGUF file, or a name that treeline pull knows")
	}
	if o.Blocks < 1 {
		return usageError(fmt.Sprintf("--blocks is %d; give at least 1 (3 for a verdict)", o.Blocks))
	}
	var err error
	if o.Model, err = existingModel(o.Model); err != nil {
		return err
	}
	text, err := plan.Init(o)
	if err != nil {
		return usageError(err.Error())
	}
	if out == "" {
		_, err := fmt.Fprint(env.Stdout, text)
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("write plan %s: the file exists; choose another --out", out)
	case err != nil:
		return fmt.Errorf("write plan: %w; choose another --out", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write plan %s: %w", out, err)
	}
	p, err := plan.Load(out)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\nrun it: treeline run %s\n", out, scheduleText(p), out)
	return nil
}

// existingModel makes the path of a model absolute: paths in a plan start at the plan's folder. What looks like a path
// must exist; anything else is the name of a model.
func existingModel(model string) (string, error) {
	_, err := os.Stat(model)
	switch {
	case err == nil:
		return filepath.Abs(model)
	case strings.ContainsAny(model, `/\`) || strings.HasSuffix(model, ".gguf"):
		return "", fmt.Errorf("model: %w; give a GGUF file that exists, or a name that treeline pull knows", err)
	}
	return model, nil
}
