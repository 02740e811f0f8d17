package experiment

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"treeline/internal/host"
	"treeline/internal/measure/record"
	"treeline/internal/sharedtest"
)

// follows validates v against a schema of docs/format.
func follows(t *testing.T, schema string, v any) error {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(sharedtest.Root(t), "docs", "format", schema))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(instance)
}

// What is measured has the form that docs/format/bench.schema.json promises, at several levels too, and when every
// request fails.
func TestBenchFollowsSchema(t *testing.T) {
	f := &fake{tpot: 100 * time.Microsecond, method: "NGRAM", tokens: 9}
	tests := []struct {
		name   string
		change func(*StartOptions)
	}{
		{"one level", func(*StartOptions) {}},
		{"levels", func(o *StartOptions) { o.Concurrency = []int{1, 2} }},
		{"many requests", func(o *StartOptions) { o.Requests = 70 }},
		{"all fail", func(o *StartOptions) { o.MaxTokens = refusedTokens }},
	}
	for _, tt := range tests {
		s := httptest.NewServer(f.handler())
		o := StartOptions{URL: s.URL, Prompts: prompts(7), MaxTokens: 9, IdlePause: time.Millisecond, Client: certified(), Fingerprint: host.Collect()}
		tt.change(&o)
		b, err := MeasureStart(t.Context(), o)
		s.Close()
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := follows(t, "bench.schema.json", b); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if (Failure(b) != nil) != (tt.name == "all fail") {
			t.Errorf("%s: %+v", tt.name, b.Requests)
		}
	}
}

// The schema is not so wide that anything passes.
func TestBenchSchemaRefuses(t *testing.T) {
	good := func() *record.Bench {
		return &record.Bench{
			Schema: record.BenchSchema, Target: record.Target{Kind: "treeline", Method: "none"}, Metrics: map[string]record.Summary{},
			Requests: record.Counts{Errors: map[string]int{}}, Warnings: []record.Warning{},
		}
	}
	if err := follows(t, "bench.schema.json", good()); err != nil {
		t.Fatalf("a plain result is refused: %v", err)
	}
	half := 0.5
	tests := []struct {
		name   string
		change func(*record.Bench)
		want   string
	}{
		{"schema", func(b *record.Bench) { b.Schema = "x" }, "/schema"},
		{"method", func(b *record.Bench) { b.Target.Method = "magic" }, "/target/method"},
		{"negative count", func(b *record.Bench) { b.Requests.Sent = -1 }, "/requests/sent"},
		{"interval of too few values", func(b *record.Bench) { b.Metrics["tpot_ms"] = record.Summary{N: 5, Lo: &half} }, "/metrics/tpot_ms/lo"},
		{"p90 of too few values", func(b *record.Bench) { b.Metrics["tpot_ms"] = record.Summary{N: 63, P90: &half} }, "/metrics/tpot_ms/p90"},
		{"warnings null", func(b *record.Bench) { b.Warnings = nil }, "/warnings"},
	}
	for _, tt := range tests {
		b := good()
		tt.change(b)
		if err := follows(t, "bench.schema.json", b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want a fault at %s", tt.name, err, tt.want)
		}
	}
}
