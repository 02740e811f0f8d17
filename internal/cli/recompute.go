package cli

import (
	"fmt"
	"strings"

	"treeline/internal/measure/experiment"
	"treeline/internal/measure/record"
	"treeline/internal/measure/report"
)

// recomputeFlags are those of report that go back to the records.
type recomputeFlags struct {
	recompute, printRequests, noText bool
}

// read computes a run folder again and says whether it came to the same.
func (f recomputeFlags) read(env *Env) func(string) (report.Finished, error) {
	return func(dir string) (report.Finished, error) {
		got, err := experiment.Recompute(dir)
		if err != nil {
			return report.Finished{}, err
		}
		if f.printRequests {
			for i := range got.Requests {
				if r := &got.Requests[i]; !r.Warmup {
					printRequest(env.Stderr, r)
				}
			}
		}
		if got.NoStream > 0 {
			fmt.Fprintf(env.Stderr, "recomputed: %d requests have no whole stream and stand as their lines have them\n", got.NoStream)
		}
		switch {
		case len(got.Differs) > 0:
			return got.Finished, fmt.Errorf("recompute %s: %s differ from what the run stored; were its files changed, or was it another version?", dir, strings.Join(got.Differs, ", "))
		case got.Compared == 0:
			fmt.Fprintf(env.Stderr, "recomputed: %d requests; the run had stored no figures to compare with\n", len(got.Requests))
		default:
			fmt.Fprintf(env.Stderr, "recomputed: equal, bit for bit, in %d places over %d requests\n", got.Compared, len(got.Requests))
		}
		return got.Finished, nil
	}
}

// verdict is the exit of a recomputed result that must not be used.
func (f recomputeFlags) verdict(run report.Finished) error {
	if f.recompute && run.Bench != nil && !run.Bench.Valid {
		return invalidResult(run.Bench.Warnings)
	}
	return nil
}

func copyWithoutText(env *Env, from, to string) error {
	if to == "" {
		return usageError("--no-text writes a folder: name it with --out")
	}
	if err := record.CopyWithoutText(from, to); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "report: %s holds the run without prompts and model output\n", to)
	return nil
}
