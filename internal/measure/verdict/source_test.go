package verdict

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSourceErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "no.json"), "no such file or folder; bench --out DIR"},
		{"empty file", put("zero.json", ""), "line 1 column 1"},
		{"html", put("page.json", "<!DOCTYPE html>\n<p>"), "not the JSON of a result, line 1 column 1"},
		{"an array", put("array.json", "[1,2]"), "not the JSON of a result"},
		{"null", put("null.json", "null"), "neither a baseline file"},
		{"folder without", filepath.Dir(put("run/host.json", "{}")), "holds no baseline.json"},
		{"other schema", put("other.json", `{"schema":"x/2"}`), `its schema is "x/2"`},
		{"verdict", put("result.json", `{"schema":"treeline.result/1"}`), "a verdict already"},
		{"no starts", put("nostarts.json", `{"schema":"treeline.bench/1"}`), `no "starts"`},
		{"probe of text", put("probe.json", `{"tok_s":1,"seconds":"x"}`), "line 1 column"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ReadSource(tt.path); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestProbeCheck(t *testing.T) {
	tests := []struct {
		name string
		p    Probe
		want string
	}{
		{"fine", Probe{Seconds: 2, CompletionTokens: 100, TokS: 50}, ""},
		{"rounded", Probe{Seconds: 2.156, CompletionTokens: 128, TokS: 59.36}, ""},
		{"failed", Probe{Seconds: 0.3}, "holds no speed"},
		{"contradiction", Probe{Seconds: 2, CompletionTokens: 100, TokS: 60}, "contradicts itself"},
	}
	for _, tt := range tests {
		err := tt.p.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func FuzzReadSource(f *testing.F) {
	for _, s := range []string{"", "{}", `{"schema":"treeline.bench/1","starts":[{}]}`, `{"tok_s":1,"completion_tokens":1,"seconds":1}`, "[", `{"schema":3}`} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "f.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSource(path)
		if err == nil && s.Probe == nil && len(s.Starts) == 0 {
			t.Error("a source without content and without error")
		}
		if err == nil { // whatever was read must be comparable without a panic
			_, _ = CompareSources([]Source{s, s}, Options{})
		}
	})
}
