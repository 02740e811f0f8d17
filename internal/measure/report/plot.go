package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"treeline/internal/measure/verdict"
)

// Plots are drawn by hand as SVG, in a box of fixed width that scales with the page. Colours come from the style sheet.
const (
	plotWidth  = 720.0
	plotLeft   = 96.0
	plotRight  = 84.0
	rowHeight  = 26.0
	axisHeight = 34.0
)

// scale maps values to x on a logarithmic axis: equal ratios are equally far apart.
type scale struct{ lo, hi, left, right float64 }

func newScale(left, right float64, values ...float64) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	if math.IsInf(lo, 1) {
		lo, hi = 1, 1
	}
	pad := math.Max(math.Log(hi/lo)*0.08, 0.01)
	return scale{math.Log(lo) - pad, math.Log(hi) + pad, left, right}
}

func (s scale) x(v float64) float64 {
	return s.left + (math.Log(v)-s.lo)/(s.hi-s.lo)*(s.right-s.left)
}

// ticks are round values inside the scale, at most eight of them.
func (s scale) ticks() []float64 {
	lo, hi := math.Exp(s.lo), math.Exp(s.hi)
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, factor := range []float64{0.1, 0.2, 0.25, 0.5, 1, 2, 5} {
		if (hi-lo)/(step*factor) <= 7 {
			step *= factor
			break
		}
	}
	var out []float64
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		out = append(out, k*step)
	}
	return out
}

// svg collects the elements of one plot.
type svg struct{ strings.Builder }

func (b *svg) open(height float64, class, label string) {
	fmt.Fprintf(b, `<svg class="%s" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, class, plotWidth, height, template.HTMLEscapeString(label))
}

func (b *svg) close() template.HTML {
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (b *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (b *svg) dot(class string, x, y, r float64, title string) {
	fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, class, x, y, r, template.HTMLEscapeString(title))
}

func (b *svg) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, template.HTMLEscapeString(s))
}

func (b *svg) band(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x1, y1, x2-x1, y2-y1)
}

func (b *svg) diamond(class string, x, y, r float64) {
	fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/>`, class, x-r, y, x, y-r, x+r, y, x, y+r)
}

func (b *svg) axis(s scale, bottom float64, unit func(float64) string) {
	for _, v := range s.ticks() {
		b.line("grid", s.x(v), 4, s.x(v), bottom)
		b.text("tick", "middle", s.x(v), bottom+16, unit(v))
	}
}

// figure is a text element that shows a number of the JSON.
func (f figures) figure(b *svg, class, form, path string, x, y float64) {
	value, ok := f.lookup(path).(float64)
	if !ok {
		return
	}
	fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" data-key="%s" data-value="%v">%s</text>`, class, x, y, path, value, template.HTMLEscapeString(Format(form, value)))
}

// blockPlot shows the ratio of every block, and below them the estimate with its interval.
func (f figures) blockPlot(index int, c verdict.Comparison) template.HTML {
	if len(c.BlockRatios) == 0 || c.Ratio == nil {
		return ""
	}
	values := append([]float64{1, 1 + c.Margin, 1 / (1 + c.Margin), *c.Ratio}, c.BlockRatios...)
	if c.Lo != nil {
		values = append(values, *c.Lo, *c.Hi)
	}
	s := newScale(plotLeft, plotWidth-plotRight, values...)
	bottom := rowHeight*float64(len(c.BlockRatios)+1) + 10
	var b svg
	b.open(bottom+axisHeight, "plot", fmt.Sprintf("Ratio of each of %d blocks and of all together; above 1 %s is faster.", len(c.BlockRatios), c.Arm))
	b.band("margin", s.x(1/(1+c.Margin)), 4, s.x(1+c.Margin), bottom)
	b.axis(s, bottom, func(v float64) string { return trimZeros(v) + "x" })
	b.line("one", s.x(1), 4, s.x(1), bottom)
	for i, ratio := range c.BlockRatios {
		y := rowHeight*float64(i) + rowHeight/2 + 4
		b.text("label", "end", plotLeft-14, y+4, fmt.Sprintf("block %d", i+1))
		b.line("stem", s.x(1), y, s.x(ratio), y)
		b.dot("block", s.x(ratio), y, 5, fmt.Sprintf("block %d: %s", i+1, verdict.Times(ratio)))
		f.figure(&b, "value", "times", fmt.Sprintf("comparisons.%d.block_ratios.%d", index, i), plotWidth-plotRight+12, y+4)
	}
	y := rowHeight*float64(len(c.BlockRatios)) + rowHeight/2 + 8
	b.text("label strong", "end", plotLeft-14, y+4, "all blocks")
	if c.Lo != nil {
		b.line("interval", s.x(*c.Lo), y, s.x(*c.Hi), y)
		b.line("interval", s.x(*c.Lo), y-6, s.x(*c.Lo), y+6)
		b.line("interval", s.x(*c.Hi), y-6, s.x(*c.Hi), y+6)
	}
	b.diamond("estimate", s.x(*c.Ratio), y, 7)
	f.figure(&b, "value strong", "times", fmt.Sprintf("comparisons.%d.ratio", index), plotWidth-plotRight+12, y+4)
	return b.close()
}

// startPlot shows the speed of every start of both arms on one axis.
func (f figures) startPlot(index int, c verdict.Comparison) template.HTML {
	if len(c.BaselineTokS) == 0 || len(c.ArmTokS) == 0 {
		return ""
	}
	s := newScale(plotLeft, plotWidth-plotRight, append(append([]float64{}, c.BaselineTokS...), c.ArmTokS...)...)
	bottom := 2*rowHeight + 12
	var b svg
	b.open(bottom+axisHeight, "plot", fmt.Sprintf("Tokens per second of every server start of %s and %s.", c.Baseline, c.Arm))
	b.axis(s, bottom, trimZeros)
	for row, side := range []struct {
		name, class, key string
		values           []float64
	}{{c.Baseline, "base", "baseline_tok_s", c.BaselineTokS}, {c.Arm, "arm", "arm_tok_s", c.ArmTokS}} {
		y := rowHeight*float64(row) + rowHeight/2 + 6
		b.text("label", "end", plotLeft-14, y+4, shorten(side.name, 13))
		b.line("rail", plotLeft, y, plotWidth-plotRight, y)
		for i, v := range side.values {
			fmt.Fprintf(&b, `<circle class="%s" cx="%.1f" cy="%.1f" r="5" data-key="comparisons.%d.%s.%d" data-value="%v"><title>%s tok/s</title></circle>`,
				side.class, s.x(v), y, index, side.key, i, v, Format("tok_s", v))
		}
	}
	b.text("unit", "start", plotWidth-plotRight+12, bottom+16, "tok/s")
	return b.close()
}

// categoryPlots draws one small interval per category, all on the scale of the comparison.
func categoryPlots(c verdict.Comparison) []template.HTML {
	const width, height = 220.0, 20.0
	values := []float64{1}
	for _, g := range c.Categories {
		values = append(values, g.Ratio)
		if g.Lo != nil {
			values = append(values, *g.Lo, *g.Hi)
		}
	}
	s := newScale(6, width-6, values...)
	var out []template.HTML
	for _, g := range c.Categories {
		var b svg
		fmt.Fprintf(&b, `<svg class="mini" viewBox="0 0 %.0f %.0f" aria-hidden="true">`, width, height)
		b.line("one", s.x(1), 1, s.x(1), height-1)
		if g.Lo != nil {
			b.line("interval", s.x(*g.Lo), height/2, s.x(*g.Hi), height/2)
		}
		b.dot("block", s.x(g.Ratio), height/2, 4.5, verdict.Times(g.Ratio))
		out = append(out, b.close())
	}
	return out
}

func trimZeros(v float64) string {
	text := fmt.Sprintf("%.3f", v)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

func shorten(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}
