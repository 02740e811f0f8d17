package record

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/sharedtest"
)

var update = flag.Bool("update", false, "rewrite generated documents")

func TestWarningsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Warnings\n\nA warning is a doubt about a result, in every JSON output as `{\"code\", \"text\"}`. This page is generated from the table in\n" +
		"internal/measure/record; `go test ./internal/measure/record -update` rewrites it.\n\n| code | what it says | what it does |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, w := range WarningTable() {
		if seen[w.Code] {
			t.Errorf("code %s appears twice", w.Code)
		}
		seen[w.Code] = true
		b.WriteString("| `" + w.Code + "` | " + w.Means + " | " + w.Effect + " |\n")
	}
	path := filepath.Join(sharedtest.Root(t), "docs", "warnings.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("docs/warnings.md is not up to date; run with -update (-table +file):\n%s", diff)
	}
}
