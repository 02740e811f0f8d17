package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
)

// printBench shows the measurement of one service to people: the headline metrics, or all of them.
func printBench(w io.Writer, b *record.Bench, all bool) {
	t := b.Target
	fmt.Fprintf(w, "%s %s, model %s\nmethod %s (proof level %d of 3)\n", t.Kind, t.Version, t.Model, t.Method, t.ProofLevel)
	for _, e := range t.Evidence {
		fmt.Fprintf(w, "  %s\n", e)
	}
	r := b.Requests
	fmt.Fprintf(w, "\nrequests: %d sent, %d ok, %d failed, %d excluded\n", r.Sent, r.OK, r.Failed, r.Excluded)
	if len(b.Levels) > 1 {
		for _, l := range b.Levels {
			fmt.Fprintf(w, "\nconcurrency %d (%d ok, %d failed)\n", l.Concurrency, l.Requests.OK, l.Requests.Failed)
			printMetrics(w, l.Metrics, all)
			printGoodput(w, l.Goodput)
		}
	} else {
		if len(b.Levels) == 1 {
			fmt.Fprintf(w, "open loop: %.3g requests a second planned, %.3g sent\n", b.Levels[0].Rate, b.Levels[0].Achieved)
		}
		fmt.Fprintln(w)
		printMetrics(w, b.Metrics, all)
		printGoodput(w, b.Goodput)
	}
	printAcceptance(w, b)
	printBands(w, "tokens of the answer", b.ByPosition)
	printBands(w, "depth of the context", b.ByContext)
	printClient(w, b.Client)
	printChecks(w, b)
	for _, warning := range b.Warnings {
		fmt.Fprintf(w, "warning: %s: %s\n", warning.Code, warning.Text)
	}
	if !b.Valid {
		fmt.Fprintln(w, "this result is INVALID")
	}
	fmt.Fprintln(w, "\nIntervals hold within this server start. Another start may differ by more: add starts with --append.")
}

// printAcceptance sets what the server counted beside what the client saw.
func printAcceptance(w io.Writer, b *record.Bench) {
	seen, ok := b.Metrics["tokens_per_chunk"]
	if b.Tau != nil && ok {
		fmt.Fprintf(w, "acceptance length: %.3f by the server's counters, %.3f tokens a chunk at the client\n", *b.Tau, seen.Mean)
	}
}

func printGoodput(w io.Writer, g *record.Goodput) {
	if g == nil {
		return
	}
	var limits []string
	for _, name := range slices.Sorted(maps.Keys(g.SLOs)) {
		limits = append(limits, fmt.Sprintf("%s <= %g", name, g.SLOs[name]))
	}
	fmt.Fprintf(w, "goodput: %.3g requests a second, %d of %d (%.1f %%) met %s\n", g.PerS, g.Met, g.Of, 100*g.Share, strings.Join(limits, ", "))
}

// printBands shows the time per token by position.
func printBands(w io.Writer, what string, bands []record.Band) {
	if len(bands) == 0 {
		return
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\ttpot_ms p50\t95 %% interval\tn\n", what)
	for _, b := range bands {
		interval := "-"
		if b.TPOTms.Lo != nil {
			interval = fmt.Sprintf("%.2f .. %.2f", *b.TPOTms.Lo, *b.TPOTms.Hi)
		}
		fmt.Fprintf(tw, "%d to %d\t%.2f\t%s\t%d%s\n", b.From, b.To, b.TPOTms.P50, interval, b.TPOTms.N, spread(b))
	}
	tw.Flush()
}

// spread says where positions are guessed.
func spread(b record.Band) string {
	if b.Spread == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d with chunks of unknown size, spread evenly)", b.Spread)
}

// printChecks says how many identities hold, and which do not.
func printChecks(w io.Writer, b *record.Bench) {
	if b.RTT != nil {
		fmt.Fprintf(w, "round trip: %.3f ms at least, %.3f ms in the median of %d connections; subtracted from nothing\n", b.RTT.MinMS, b.RTT.MedianMS, b.RTT.N)
	}
	if len(b.Checks) == 0 {
		return
	}
	held, tried := 0, 0
	for _, c := range b.Checks {
		if c.Skipped == "" {
			tried++
			if c.OK {
				held++
			}
		}
	}
	fmt.Fprintf(w, "checks: %d of %d identities hold (%d could not be tried)\n", held, tried, len(b.Checks)-tried)
	for _, c := range b.Checks {
		if c.Skipped == "" && !c.OK {
			fmt.Fprintf(w, "  %s fails: %s\n", c.Name, c.Text)
		}
	}
}

// printClient says how late this client's stamps were.
func printClient(w io.Writer, c record.Client) {
	mark := "certified"
	if !c.Certified {
		mark = "not certified"
	}
	fmt.Fprintf(w, "\nclient: %s at %.0f events/s, stamps late by %.3f ms in the median, %.3f ms at p99", mark, c.EventsPerS, c.StampLagP50MS, c.StampLagP99MS)
	if d := c.During; d != nil {
		fmt.Fprintf(w, "; during the load %.3f and %.3f ms", d.StampLagP50MS, d.StampLagP99MS)
	}
	fmt.Fprintln(w)
}

func printMetrics(w io.Writer, metrics map[string]record.Summary, all bool) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "metric\tp50\t95 % interval of p50\tmean\tp90\tp99\tn")
	for _, m := range metric.All() {
		s, ok := metrics[m.Name]
		if !ok || (!all && !m.Headline) {
			continue
		}
		interval := "-"
		if s.Lo != nil && s.Hi != nil {
			interval = fmt.Sprintf("%.2f .. %.2f", *s.Lo, *s.Hi)
		}
		fmt.Fprintf(tw, "%s\t%.2f\t%s\t%.2f\t%s\t%s\t%d\n", m.Name, s.P50, interval, s.Mean, orDash(s.P90), orDash(s.P99), s.N)
	}
	tw.Flush()
}

func orDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *v)
}
