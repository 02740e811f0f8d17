package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/measure/report"
	"treeline/internal/measure/verdict"
)

func newReport(env *Env) *cobra.Command {
	format, out, asJSON := "text", "", false
	var again recomputeFlags
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Show a finished run again, as text, HTML, Markdown, CSV, JSON or benchstat",
		Long: "report reads a run folder, or a file with a verdict or a baseline, and shows it in another form. With --json it\n" +
			"prints the object that the command printed which made the run. It measures and computes nothing, unless told to\n" +
			"--recompute: then every figure is computed again from the raw streams, compared with what the run stored, and shown;\n" +
			"a bench that was killed gets the result of what it had finished. --no-text writes a copy of a run folder that holds\n" +
			"no prompt and no model output.",
		Example: `  treeline report run
  treeline report run --format html --out page.html
  treeline report run --format benchstat
  treeline report run --recompute --json
  treeline report run --no-text --out run-to-share`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			if again.noText {
				return copyWithoutText(env, args[0], out)
			}
			read := report.Read
			if again.recompute {
				read = again.read(env)
			}
			run, err := read(args[0])
			if err != nil {
				return err
			}
			show, err := inFormat(run, format, args[0])
			if err != nil {
				return err
			}
			if err := writeOut(env, out, show); err != nil {
				return err
			}
			return again.verdict(run)
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", format, "text, html, md, csv, json or benchstat")
	f.StringVar(&out, "out", "", "file to write instead of standard output")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVar(&again.recompute, "recompute", false, "compute every figure again from the raw streams of a run folder")
	f.BoolVar(&again.printRequests, "print-requests", false, "with --recompute: the lines of bench --print-requests, on standard error")
	f.BoolVar(&again.noText, "no-text", false, "write a copy of the run folder without prompts and model output to --out")
	cmd.MarkFlagsMutuallyExclusive("recompute", "no-text")
	return cmd
}

// inFormat gives the function that shows a run in a form, or says which forms there are for it.
func inFormat(run report.Finished, format, path string) (func(io.Writer) error, error) {
	if b := run.Bench; b != nil {
		switch format {
		case "text":
			return func(w io.Writer) error { printBench(w, b, true); return nil }, nil
		case "json":
			plain := *b
			plain.Starts = nil // as bench prints it
			return func(w io.Writer) error { return writeJSON(w, plain) }, nil
		}
		return nil, usageError(fmt.Sprintf("report %s: a measurement of one service is shown as text or json, not as %q; compare it with another one for a page", path, format))
	}
	forms := map[string]func(io.Writer, verdict.Result) error{
		"text": report.Terminal, "json": report.JSON, "md": report.Markdown, "csv": report.CSV, "benchstat": report.Benchstat,
		"html": func(w io.Writer, r verdict.Result) error {
			return report.HTML(w, r, report.Options{Made: time.Now().Format("2 January 2006, 15:04")})
		},
	}
	show, known := forms[format]
	if !known {
		return nil, usageError(fmt.Sprintf("--format %q: use text, html, md, csv, json or benchstat", format))
	}
	return func(w io.Writer) error { return show(w, *run.Result) }, nil
}

// writeOut writes to a file, or to standard output when there is none.
func writeOut(env *Env, path string, show func(io.Writer) error) error {
	if path == "" {
		return show(env.Stdout)
	}
	var b bytes.Buffer
	if err := show(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write report: %w; choose another --out", err)
	}
	return nil
}
