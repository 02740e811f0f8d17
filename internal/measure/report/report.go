// Package report shows a verdict.Result to people: a summary for the terminal and one self-contained HTML file. It
// computes no statistic; every figure on the page is looked up in the JSON form of the result by the path that the
// page names beside it, so page and JSON cannot disagree.
package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"treeline/internal/measure/verdict"
)

//go:embed report.html.tmpl
var pageSource string

//go:embed report.css
var style string

// Options of a report; zero values leave things out.
type Options struct {
	Title string // of the page, "" means "Treeline report"
	Made  string // when, as it should be printed
	Text  string // a line under the sentence: what was run
}

// page is what the template sees.
type page struct {
	Options
	Result      verdict.Result
	Style       template.CSS
	Comparisons []shownComparison
	NotShown    []string
	Glossary    []term
}

// shownComparison is one comparison with its plots.
type shownComparison struct {
	verdict.Comparison
	Index      int
	Blocks     template.HTML // ratio of each block, "" when the starts did not alternate
	Starts     template.HTML // speed of each start
	Categories []template.HTML
	Lossless   *verdict.Lossless
	LosslessAt int
}

// HTML writes the page. It needs no network, no script and no font, and its JSON is embedded under the id "result".
func HTML(w io.Writer, r verdict.Result, o Options) error {
	figures, err := newFigures(r)
	if err != nil {
		return err
	}
	t, err := template.New("report").Funcs(template.FuncMap{"fig": figures.cell, "proof": proofName, "tone": tone, "word": plainWord}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("report template: %w", err)
	}
	if o.Title == "" {
		o.Title = "Treeline report"
	}
	p := page{Options: o, Result: r, Style: template.CSS(style), NotShown: notShown(r), Glossary: glossary()}
	for i, c := range r.Comparisons {
		shown := shownComparison{Comparison: c, Index: i, Blocks: figures.blockPlot(i, c), Starts: figures.startPlot(i, c), Categories: categoryPlots(c)}
		if i < len(r.Lossless) {
			shown.Lossless, shown.LosslessAt = &r.Lossless[i], i
		}
		p.Comparisons = append(p.Comparisons, shown)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// WriteHTML writes the page to a file, all of it or nothing.
func WriteHTML(path string, r verdict.Result, o Options) error {
	var b bytes.Buffer
	if err := HTML(&b, r, o); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	defer os.Remove(temporary.Name()) // fails after the rename, as it should
	_, err = temporary.Write(b.Bytes())
	if err := firstError(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}

// JSON writes the result as --json prints it: indented, with a final newline.
func JSON(w io.Writer, r verdict.Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
