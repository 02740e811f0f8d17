package verdict

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"treeline/internal/sharedtest"
)

func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(sharedtest.Root(t), "docs", "format", "result.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, v any) error {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(instance)
}

// Every kind of result has the form that docs/format/result.schema.json promises.
func TestResultsFollowSchema(t *testing.T) {
	schema := resultSchema(t)
	worlds := map[string]func(*world){
		"certain":         func(*world) {},
		"undecided":       func(w *world) { w.ratio, w.start, w.starts = 1.02, 0.06, 4 },
		"one block":       func(w *world) { w.starts = 1 },
		"not interleaved": func(w *world) { w.interleaved, w.machineB = false, "m2" },
		"invalid":         func(w *world) { w.proofB = 0 },
		"no text":         func(w *world) { w.textA = func(int, int) string { return "" } },
		"nothing in common": func(w *world) {
			w.prompts = 1
			w.textA = text
			w.starts = 3
			w.kind = "generic"
		},
	}
	for name, change := range worlds {
		w := usual()
		change(&w)
		r, _ := compare(t, w, Options{})
		if err := validate(t, schema, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	empty := usual().build()
	for i := range empty {
		if empty[i].Arm == "b" {
			empty[i].Prompts = nil
		}
	}
	r, err := Compare(empty, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, schema, r); err != nil {
		t.Errorf("nothing measured: %v", err)
	}
	probes, err := CompareProbes(Probe{Name: "a", Seconds: 1, CompletionTokens: 10, TokS: 10}, []Probe{{Name: "b", Seconds: 1, CompletionTokens: 20, TokS: 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, schema, probes); err != nil {
		t.Errorf("probes: %v", err)
	}
}

// The schema is not so loose that it lets anything pass.
func TestSchemaRefuses(t *testing.T) {
	schema := resultSchema(t)
	for name, spoil := range map[string]func(*Result){
		"verdict":             func(r *Result) { r.Comparisons[0].Verdict = "better" },
		"faster without ends": func(r *Result) { r.Comparisons[0].Lo = nil },
		"negative ratio":      func(r *Result) { r.Comparisons[0].Ratio = number(-1) },
		"no comparison":       func(r *Result) { r.Comparisons = []Comparison{} },
		"null lists":          func(r *Result) { r.Warnings = nil },
		"method":              func(r *Result) { r.Arms[0].Method = "magic" },
	} {
		r, _ := compare(t, usual(), Options{})
		r.Arms, r.Comparisons = slices.Clone(r.Arms), slices.Clone(r.Comparisons)
		spoil(&r)
		if err := validate(t, schema, r); err == nil {
			t.Errorf("%s: passed", name)
		}
	}
}
