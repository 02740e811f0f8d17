package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"treeline/internal/measure/verdict"
)

// Markdown writes the result for a pull request or a wiki: the sentence, the arms, the categories, what limits it.
func Markdown(w io.Writer, r verdict.Result) error {
	f, err := newFigures(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, c := range r.Comparisons {
		fmt.Fprintf(&b, "**%s** (%s)\n\n", cell(c.Sentence), plainWord(c.Verdict)+confidence(c))
		for _, why := range c.Why {
			fmt.Fprintf(&b, "* %s\n", cell(why))
		}
		if len(c.Categories) > 1 {
			fmt.Fprintf(&b, "\n| category | prompts | %s tok/s | %s tok/s | ratio | 95 %% interval |\n|---|--:|--:|--:|--:|--:|\n", cell(c.Baseline), cell(c.Arm))
			for j, g := range c.Categories {
				at := func(form, key string) string { return f.plain(form, "comparisons", i, "categories", j, key) }
				fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s to %s |\n", cell(g.Name), g.Prompts, at("tok_s", "baseline_tok_s"), at("tok_s", "arm_tok_s"), at("times", "ratio"), at("times", "lo"), at("times", "hi"))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("| arm | method | proof | tok/s | tokens/round | starts | server |\n|---|---|---|--:|--:|--:|---|\n")
	for i, a := range r.Arms {
		fmt.Fprintf(&b, "| %s | %s | %d %s | %s | %s | %d | %s |\n", cell(a.Name), cell(a.Method), a.ProofLevel, proofName(a.ProofLevel),
			f.plain("tok_s", "arms", i, "tok_s"), f.plain("decimal", "arms", i, "acceptance_length"), a.Starts, cell(a.Server))
	}
	for _, l := range r.Lossless {
		fmt.Fprintf(&b, "\n%s\n", cell(l.Sentence))
	}
	if len(r.Warnings) > 0 {
		b.WriteString("\n")
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "* `%s` %s\n", warning.Code, cell(warning.Text))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func confidence(c verdict.Comparison) string {
	if c.Verdict == verdict.Undecided || c.Verdict == verdict.Invalid {
		return ""
	}
	return ", " + c.Confidence
}

// cell keeps a text from ending a cell of a table or a line.
func cell(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(s) }

// CSV writes one line per comparison, and one per category of it, with full precision; empty means not known.
func CSV(w io.Writer, r verdict.Result) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"baseline", "arm", "metric", "category", "ratio", "lo", "hi", "blocks", "prompts", "verdict", "confidence", "p", "mde", "tau_ratio", "round_time_ratio"}}
	for _, c := range r.Comparisons {
		rows = append(rows, []string{
			c.Baseline, c.Arm, c.Metric, "", exact(c.Ratio), exact(c.Lo), exact(c.Hi), strconv.Itoa(c.Blocks), strconv.Itoa(c.Prompts),
			string(c.Verdict), c.Confidence, exact(c.P), exact(c.MDE), exact(c.TauRatio), exact(c.RoundTimeRatio),
		})
		for _, g := range c.Categories {
			rows = append(rows, []string{c.Baseline, c.Arm, c.Metric, g.Name, exact(&g.Ratio), exact(g.Lo), exact(g.Hi), strconv.Itoa(c.Blocks), strconv.Itoa(g.Prompts), "", "", "", "", "", ""})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// Benchstat writes the speed of every server start as Go benchmark text, so that benchstat -col /arm can read it. Its
// test takes the starts as two groups; ours pairs them by block where they alternated.
func Benchstat(w io.Writer, r verdict.Result) error {
	var b strings.Builder
	written := map[string]bool{}
	for _, c := range r.Comparisons {
		for _, side := range []struct {
			name   string
			values []float64
		}{{c.Baseline, c.BaselineTokS}, {c.Arm, c.ArmTokS}} {
			if written[side.name] {
				continue
			}
			written[side.name] = true
			for _, v := range side.values {
				fmt.Fprintf(&b, "BenchmarkDecode/arm=%s 1 %s tok/s\n", strings.Join(strings.Fields(side.name), "_"), strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func exact(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
