package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
)

// requestLine is one finished request as --print-requests shows it. Times are in milliseconds; null is undefined.
type requestLine struct {
	ID     int      `json:"id"`
	Prompt string   `json:"prompt"`
	OK     bool     `json:"ok"`
	Class  string   `json:"error_class,omitempty"`
	TTFT   *float64 `json:"ttft_ms"`
	TPOT   *float64 `json:"tpot_ms"`
	E2E    *float64 `json:"e2e_ms"`
	Tokens *int     `json:"tokens"`
}

// printRequest writes a request's line. Printed again from the raw streams it has the same bytes.
func printRequest(w io.Writer, r *record.Request) {
	line := requestLine{ID: r.ID, Prompt: r.Prompt, OK: r.OK, Class: r.ErrorClass}
	for _, m := range metric.All() {
		to := map[string]**float64{"ttft_ms": &line.TTFT, "tpot_ms": &line.TPOT, "e2e_ms": &line.E2E}[m.Name]
		if to == nil || !r.OK {
			continue
		}
		if v := m.Of(metric.NewView(r)); len(v) == 1 {
			*to = &v[0]
		}
	}
	if n, known := r.OutputTokens(); known {
		line.Tokens = &n
	}
	b, err := json.Marshal(line)
	if err != nil {
		return // numbers and strings
	}
	fmt.Fprintf(w, "request %s\n", b)
}
