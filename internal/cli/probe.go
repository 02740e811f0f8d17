package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"treeline/internal/measure/experiment"
)

func newProbe(env *Env) *cobra.Command {
	o := experiment.ProbeOptions{Prompt: experiment.ProbePrompt, MaxTokens: 128}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Send one request: four figures, what server this is, and what one request cannot tell",
		Long: "probe sends one request that is not streamed and prints seconds, completion tokens, tokens a second and the\n" +
			"finish reason. It says which server answered and which method was seen at work, and what such a figure is not\n" +
			"good for. URL is accepted with and without /v1.",
		Example: `  treeline probe http://localhost:30000
  treeline probe http://localhost:30000 --json > before.json`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.URL = args[0]
			if o.APIKey == "" {
				o.APIKey = env.Getenv("OPENAI_API_KEY")
			}
			p, err := experiment.Probe(cmd.Context(), o)
			if p == nil {
				return err
			}
			if asJSON {
				if werr := writeJSON(env.Stdout, p); werr != nil {
					return werr
				}
			} else if err == nil {
				printProbe(env.Stdout, p)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&o.Prompt, "prompt", o.Prompt, "what to ask")
	f.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "most tokens to generate")
	f.Float64Var(&o.Temperature, "temperature", 0, "sampling temperature")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	serverFlags(cmd, &o.ServerKind, &o.APIKey)
	return cmd
}

// oneURL takes the address of a server as the only argument.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError(fmt.Sprintf("%s needs the address of one server: treeline %s http://127.0.0.1:8080", cmd.Name(), cmd.Name()))
	}
	return nil
}

// serverFlags are those of every command that talks to a server.
func serverFlags(cmd *cobra.Command, kind, key *string) {
	cmd.Flags().StringVar(kind, "server-kind", "", "what the server is, where a proxy hides it: treeline, llamacpp, vllm, sglang, trtllm, transformers or generic")
	cmd.Flags().StringVar(key, "api-key", "", "key to send (default: OPENAI_API_KEY)")
}

func printProbe(w io.Writer, p *experiment.ProbeResult) {
	fmt.Fprintf(w, "%-18s %.3f\n%-18s %d\n%-18s %.2f\n%-18s %s\n", "seconds", p.Seconds, "completion_tokens", p.CompletionTokens, "tok_s", p.TokS, "finish_reason", p.FinishReason)
	fmt.Fprintf(w, "\n%s %s at %s, model %s\nmethod %s (proof level %d of 3)\n", p.Server.Kind, p.Server.Version, p.URL, p.Model, p.Server.Method, p.Server.ProofLevel)
	for _, e := range p.Server.Evidence {
		fmt.Fprintf(w, "  %s\n", e)
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "warning: %s: %s\n", warning.Code, warning.Text)
	}
	fmt.Fprintf(w, "\nWhat this one request cannot tell:\n  - %s\n", strings.Join(p.CannotTell, "\n  - "))
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
