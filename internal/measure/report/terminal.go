package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"treeline/internal/measure/verdict"
)

// Terminal writes the summary that fits on one screen: the sentence, what limits it, the arms, the kinds of prompts,
// the output check and the warnings.
func Terminal(w io.Writer, r verdict.Result) error {
	f, err := newFigures(r)
	if err != nil {
		return err
	}
	var b strings.Builder
	said := map[string]bool{}
	for i, c := range r.Comparisons {
		writeComparison(&b, f, i, c, said)
	}
	writeArms(&b, f, r)
	for i, c := range r.Comparisons {
		writeCategories(&b, f, i, c)
	}
	for _, l := range r.Lossless {
		fmt.Fprintf(&b, "\n%s\n", wrap("output", l.Sentence))
	}
	for i, warning := range r.Warnings {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(wrap("warning", warning.Code+": "+warning.Text) + "\n")
	}
	if r.Report != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap("report", r.Report))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// writeComparison leaves out reasons that an earlier comparison gave, and keeps its own in said.
func writeComparison(b *strings.Builder, f figures, i int, c verdict.Comparison, said map[string]bool) {
	b.WriteString(wrap("verdict", c.Sentence) + "\n")
	if c.Verdict != verdict.Undecided && c.Verdict != verdict.Invalid {
		b.WriteString(wrap("", c.Confidence) + "\n")
	}
	if c.Verdict != verdict.Invalid { // there the sentence holds the reasons
		for _, why := range c.Why {
			if !said[why] {
				b.WriteString(wrap("        -", why) + "\n")
			}
			said[why] = true
		}
	}
	if len(c.BlockRatios) > 0 {
		ratios := make([]string, len(c.BlockRatios))
		for j := range ratios {
			ratios[j] = f.plain("times", "comparisons", i, "block_ratios", j)
		}
		b.WriteString(wrap("blocks", strings.Join(ratios, "  ")) + "\n")
	}
	if c.TauRatio != nil && c.Verdict != verdict.Invalid {
		b.WriteString(wrap("because", fmt.Sprintf("%s tokens per round × %s round speed",
			f.plain("times", "comparisons", i, "tau_ratio"), f.plain("times", "comparisons", i, "round_time_ratio"))) + "\n")
	}
	b.WriteString("\n")
}

func writeArms(b *strings.Builder, f figures, r verdict.Result) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "arm\tmethod\tproof\ttok/s\ttokens/round\tstarts\tserver")
	for i, a := range r.Arms {
		fmt.Fprintf(t, "%s\t%s\t%d %s\t%s\t%s\t%d\t%s\n", a.Name, a.Method, a.ProofLevel, proofName(a.ProofLevel),
			f.plain("tok_s", "arms", i, "tok_s"), f.plain("decimal", "arms", i, "acceptance_length"), a.Starts, a.Server)
	}
	t.Flush() // into a strings.Builder, which can't fail
}

func writeCategories(b *strings.Builder, f figures, i int, c verdict.Comparison) {
	if len(c.Categories) < 2 {
		return
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "%s against %s\tprompts\tratio\t95 %% interval\n", c.Arm, c.Baseline)
	for j, g := range c.Categories {
		interval := "–"
		if g.Lo != nil {
			interval = f.plain("times", "comparisons", i, "categories", j, "lo") + " to " + f.plain("times", "comparisons", i, "categories", j, "hi")
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", g.Name, g.Prompts, f.plain("times", "comparisons", i, "categories", j, "ratio"), interval)
	}
	t.Flush()
}

// plain is cell for the terminal.
func (f figures) plain(form string, parts ...any) string {
	keys := make([]string, len(parts))
	for i, p := range parts {
		keys[i] = fmt.Sprint(p)
	}
	if x, ok := f.lookup(strings.Join(keys, ".")).(float64); ok {
		return Format(form, x)
	}
	return "–"
}

// wrap sets text beside a label of fixed width, in lines of at most 100 characters.
func wrap(label, text string) string {
	const indent, width = 10, 100
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", indent, label)
	column := indent
	for i, word := range strings.Split(text, " ") {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
