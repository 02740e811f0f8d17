package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/infer/hub"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hubOptions(env)
			if err != nil {
				return err
			}
			o.Offline = offline
			path, source, err := hub.Resolve(cmd.Context(), args[0], o)
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
	var last time.Time
	return hub.Options{
		Cache:    cache,
		Endpoint: env.Getenv("HF_ENDPOINT"),
		Token:    env.Getenv("HF_TOKEN"),
		Talk:     func(format string, args ...any) { fmt.Fprintf(env.Stderr, "treeline: "+format+"\n", args...) },
		Progress: func(done, total int64) {
			every := 5 * time.Second
			if env.TTY {
				every = 250 * time.Millisecond
			}
			if now := time.Now(); now.Sub(last) >= every || done == total {
				last = now
				showBytes(env, done, total)
			}
		},
	}, nil
}

// showBytes draws a progress bar on a terminal, and a line elsewhere.
func showBytes(env *Env, done, total int64) {
	if !env.TTY {
		fmt.Fprintf(env.Stderr, "treeline: %d of %d MB\n", done>>20, total>>20)
		return
	}
	const width = 40
	fill := int(done * width / max(total, 1))
	fmt.Fprintf(env.Stderr, "\r[%s%s] %d of %d MB", strings.Repeat("=", fill), strings.Repeat(" ", width-fill), done>>20, total>>20)
	if done == total {
		fmt.Fprintln(env.Stderr)
	}
}
