package jinja

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"treeline/internal/sharedtest"
)

// corpusCase is a template (first line of a file) or one rendering of it by the reference.
type corpusCase struct {
	Kind, Name, Template, Case string
	BOS                        *string `json:"bos_token"`
	EOS                        *string `json:"eos_token"`
	Messages, Tools, Kwargs    json.RawMessage
	AddGenerationPrompt        bool `json:"add_generation_prompt"`
	Output                     *string
	Error                      *struct{ Type, Message string }
}

func readCorpus(t *testing.T, path string) (template corpusCase, cases []corpusCase) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var c corpusCase
		if err := json.Unmarshal(scan.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases[0], cases[1:]
}

func (c corpusCase) vars(t *testing.T, tpl corpusCase) *Dict {
	t.Helper()
	value := func(b json.RawMessage) Value {
		if len(b) == 0 {
			return nil
		}
		v, err := FromJSON(b)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	vars := NewDict().Set("messages", value(c.Messages)).Set("tools", value(c.Tools)).Set("documents", nil).
		Set("add_generation_prompt", c.AddGenerationPrompt)
	if tpl.BOS != nil {
		vars.Set("bos_token", *tpl.BOS)
	}
	if tpl.EOS != nil {
		vars.Set("eos_token", *tpl.EOS)
	}
	if d, ok := value(c.Kwargs).(*Dict); ok {
		for _, e := range d.entries {
			vars.set(e.key, e.value)
		}
	}
	return vars
}

// TestCorpus renders real chat templates and wants what the reference gives: the same bytes, or an error where it
// fails. Where the reference fails for a limit of its environment (its sandbox, a filter that it lacks, Python's
// types), rendering may succeed here.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "fixtures", "chat_templates", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skipf("no chat templates: %v", err)
	}
	now := func() time.Time { return time.Date(2026, 1, 15, 12, 34, 56, 0, time.UTC) }
	same, refused, laxer, total := 0, 0, 0, 0
	for _, path := range files {
		tpl, cases := readCorpus(t, path)
		parsed, err := Parse(tpl.Template, Limits{}, now)
		if err != nil {
			t.Errorf("%s: %v", tpl.Name, err)
			continue
		}
		for _, c := range cases {
			total++
			got, err := parsed.Render(c.vars(t, tpl))
			var fault *Error
			errors.As(err, &fault)
			switch {
			case c.Error == nil && err != nil:
				t.Errorf("%s %s: %v", tpl.Name, c.Case, err)
			case c.Error == nil && got != *c.Output:
				t.Errorf("%s %s: %s", tpl.Name, c.Case, firstDifference(got, *c.Output))
			case c.Error == nil:
				same++
			case c.Error.Type == "TemplateError" && (fault == nil || !fault.Raised || fault.Text != c.Error.Message):
				t.Errorf("%s %s: got %v, want the template's own error %q", tpl.Name, c.Case, err, c.Error.Message)
			case err != nil:
				refused++
			case c.Error.Type == "SecurityError" || c.Error.Type == "TemplateRuntimeError":
				laxer++
			default:
				t.Errorf("%s %s: rendered, want an error like %s: %s", tpl.Name, c.Case, c.Error.Type, c.Error.Message)
			}
		}
	}
	t.Logf("%d templates, %d cases: %d byte-identical, %d refused as by the reference, %d rendered where its environment lacks something",
		len(files), total, same, refused, laxer)
}

// firstDifference shows two texts around the first byte in which they differ.
func firstDifference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	around := func(s string) string { return s[max(0, min(i-30, len(s))):min(len(s), i+50)] }
	return strings.Join([]string{"got …", around(got), "…, want …", around(want), "…"}, "")
}
