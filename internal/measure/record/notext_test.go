package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing that a model or a person wrote is in the copy, wherever it was in the folder, and all figures are.
func TestCopyWithoutText(t *testing.T) {
	const secret = "xyzzy"
	from, to := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "shared")
	start := StartFolder(from, 1, "a")
	if err := os.MkdirAll(start, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"host.json":     `{"schema":"treeline.record/2"}`,
		"report.html":   "<p>" + secret + "</p>",
		"notes.txt":     secret,
		"prompts.jsonl": `{"text":"` + secret + `"}`,
		"plan.yaml":     "arms: {}\n",
		"baseline.json": `{"metrics":{"tpot_ms":{"p50":12.500000000000001}},"warnings":[{"code":"requests_failed","text":"1 of 2 requests failed.` + QuotesFollow + `stream: ` + secret + `"}],"starts":[{"prompts":[{"prompt":"p1","text":"` + secret + `"}]}]}`,

		"starts/001-a/requests.jsonl":     `{"id":1,"prompt":"p1","text":"` + secret + `","reasoning":"` + secret + `","others":["` + secret + `"],"tools":[{"arguments":"` + secret + `"}],"error":"` + secret + `","done":7}` + "\n" + `{"id":2,"text":"` + secret,
		"starts/001-a/streams.raw":        secret,
		"starts/001-a/server.log":         secret,
		"starts/001-a/metrics_before.txt": "a 1\n",
	} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyWithoutText(from, to); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(to, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds text: %s", name, text)
		}
	}
	if !strings.Contains(files["baseline.json"], "12.500000000000001") || !strings.Contains(files["baseline.json"], "1 of 2 requests failed.") {
		t.Errorf("baseline.json lost figures or warnings: %s", files["baseline.json"])
	}
	if got := files["starts/001-a/requests.jsonl"]; got != `{"done":7,"id":1,"prompt":"p1"}`+"\n" {
		t.Errorf("requests.jsonl is %q", got)
	}
	if files["starts/001-a/metrics_before.txt"] == "" || files["plan.yaml"] == "" {
		t.Errorf("the copy has only %v", files)
	}
}
