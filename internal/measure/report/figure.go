package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"treeline/internal/measure/verdict"
)

// figures looks numbers up in the JSON form of a result.
type figures struct{ root any }

func newFigures(r verdict.Result) (figures, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return figures{}, fmt.Errorf("report: the result has no JSON form: %w", err)
	}
	var f figures
	if err := json.Unmarshal(data, &f.root); err != nil {
		return figures{}, fmt.Errorf("report: %w", err)
	}
	return f, nil
}

// lookup follows keys and indexes; nil when the value is null or not there.
func (f figures) lookup(path string) any {
	at := f.root
	for key := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// cell shows the number at a path of the JSON in a form: "times", "tok_s", "decimal", "count", "p" or "percent_above".
// The element carries the full value and the path, for machines and for the test that compares page and JSON.
func (f figures) cell(form string, parts ...any) template.HTML {
	keys := make([]string, len(parts))
	for i, p := range parts {
		keys[i] = fmt.Sprint(p)
	}
	path := strings.Join(keys, ".")
	x, ok := f.lookup(path).(float64)
	if !ok {
		return template.HTML(fmt.Sprintf(`<span class="none" data-key="%s" title="not known">–</span>`, template.HTMLEscapeString(path)))
	}
	return template.HTML(fmt.Sprintf(`<data data-key="%s" value="%s">%s</data>`,
		template.HTMLEscapeString(path), strconv.FormatFloat(x, 'g', -1, 64), template.HTMLEscapeString(Format(form, x))))
}

// Format writes a number in one of the forms of the page.
func Format(form string, x float64) string {
	switch form {
	case "times":
		return verdict.Times(x)
	case "tok_s":
		if x >= 100 {
			return fmt.Sprintf("%.1f", x)
		}
		return fmt.Sprintf("%.2f", x)
	case "decimal":
		return fmt.Sprintf("%.2f", x)
	case "count":
		return fmt.Sprintf("%.0f", x)
	case "percent_above": // a ratio as what it exceeds 1 by
		return fmt.Sprintf("%.1f %%", 100*(x-1))
	case "percent":
		return fmt.Sprintf("%.3g %%", 100*x)
	case "p":
		if x < 0.001 {
			return "< 0.001"
		}
		return fmt.Sprintf("%.3f", x)
	}
	panic("report: unknown form " + form)
}
