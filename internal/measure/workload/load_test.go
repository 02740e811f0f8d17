package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFile(t *testing.T) {
	tests := []struct {
		name, in string
		want     []Prompt
	}{
		{"plain", "Tell me a joke.\n\n  Count to ten. \r\n", []Prompt{newPrompt("", "", "Tell me a joke."), newPrompt("", "", "Count to ten.")}},
		{"prompt", `{"prompt":"Hello\nthere","id":"a","category":"chat"}`, []Prompt{{"a", "chat", "Hello\nthere"}}},
		{"text and messages", "\ufeff{\"text\":\"one\"}\n{\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}\n", []Prompt{newPrompt("", "", "one"), newPrompt("", "", "two")}},
		{"other keys ignored", `{"prompt":"x","answer":[1,2]}`, []Prompt{newPrompt("", "", "x")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseFile("f", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseFileErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "\n \n", "holds no prompt"},
		{"bad json", "{\"prompt\":\"a\"}\n{\"prompt\":\"b\",}\n", "p.jsonl:2:15: "},
		{"not an object", "{\"prompt\":\"a\"}\nplain\n", "p.jsonl:2:1: "},
		{"wrong type", `{"prompt":17}`, "p.jsonl:1:12: "},
		{"nothing given", `  {"question":"a"}`, "p.jsonl:1:3: no prompt"},
		{"two given", `{"prompt":"a","text":"b"}`, "more than one of"},
		{"system message", `{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`, "exactly one message"},
		{"duplicate", "same\nsame\n", "p.jsonl:2:1: the same prompt or id as in line 1"},
		{"encoding", "fine\nM\xfcller\n", "p.jsonl:2:2: not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseFile("p.jsonl", []byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := LoadFile(path)
	if err != nil || len(got) != 2 || got[0].Category != FileCategory {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := LoadFile(path + "x"); err == nil || !strings.Contains(err.Error(), "read prompts") {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"a\nb\n", `{"prompt":"a"}`, "{\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}\n{", "\xff", "{\"text\":\"\\ud800\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		prompts, err := parseFile("f", data)
		if err == nil && len(prompts) == 0 {
			t.Error("no prompt and no error")
		}
		for _, p := range prompts {
			if p.ID == "" || p.Text == "" || p.Category == "" {
				t.Errorf("incomplete prompt %+v", p)
			}
		}
	})
}
