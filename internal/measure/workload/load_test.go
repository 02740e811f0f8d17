package workload

import (
	"bytes"
	"errors"
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
		{"prompt", `{"prompt":"Hello\nthere","id":"a","category":"chat"}`, []Prompt{{ID: "a", Category: "chat", Text: "Hello\nthere"}}},
		{"text and messages", "\ufeff{\"text\":\"one\"}\n{\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}\n", []Prompt{newPrompt("", "", "one"), newPrompt("", "", "two")}},
		{
			"conversation", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":"v"},{"role":"assistant","content":"answer"}],"max_tokens":9,"id":7}`,
			[]Prompt{{ID: "7", Category: FileCategory, Text: "v", Before: []Message{{"system", "s"}, {"user", "u"}, {"assistant", "a"}}, MaxTokens: 9}},
		},
		{
			"ShareGPT, one array", "[{\"id\":\"x\",\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\",\"value\":\"a\"},{\"from\":\"human\",\"value\":\"r\"}]},\n {\"id\":\"y\",\"conversations\":[{\"from\":\"system\",\"value\":\"s\"},{\"from\":\"human\",\"value\":\"q\"}]}]\n",
			[]Prompt{{ID: "x", Category: FileCategory, Text: "q"}, {ID: "y", Category: FileCategory, Text: "q", Before: []Message{{"system", "s"}}}},
		},
		{
			"ShareGPT from the middle", `{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"q"}]}`,
			[]Prompt{newPrompt("", "", "q")},
		},
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
		{"system message only", `{"messages":[{"role":"system","content":"a"}]}`, "p.jsonl:1:1: no message of the user"},
		{"role", `{"messages":[{"role":"bot","content":"a"}]}`, `message 1 has role "bot"; known: system`},
		{"from", `{"conversations":[{"from":"me","value":"a"}]}`, `conversations[0] is "from" "me"; known: human`},
		{"array, type", "[\n {\"prompt\":\"a\"},\n {\"prompt\":17}\n]", "p.jsonl:3:13: "},
		{"array, syntax", "[\n {\"prompt\":\"a\"}\n {\"prompt\":\"b\"}\n]", "p.jsonl:3:2: "},
		{"array, open", "[{\"prompt\":\"a\"}\n", "p.jsonl:2:1: "},
		{"array, more", "[{\"prompt\":\"a\"}]\n[]", "something follows the array"},
		{"array, empty object", "[{}]", "p.jsonl:1:2: no prompt"},
		{"array, empty", "[]", "holds no prompt"},
		{"array, encoding", "[\n\"\xff\"]", "p.jsonl:2:2: not valid UTF-8"},
		{"max_tokens", `{"prompt":"a","max_tokens":-1}`, "max_tokens"},
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
	for _, s := range []string{"[{\"prompt\":\"a\"},\n{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"}]}]", "[{}", "a\nb\n", `{"prompt":"a"}`, "{\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}\n{", "\xff", "{\"text\":\"\\ud800\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		prompts, err := parseFile("f", data)
		if err == nil && len(prompts) == 0 {
			t.Error("no prompt and no error")
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, fault := range faultsOf(err) {
			if fault.Line < 1 || fault.Line > lines || fault.Col < 1 || fault.Col > len(data)+1 {
				t.Errorf("fault at %d:%d in a file of %d lines: %v", fault.Line, fault.Col, lines, fault)
			}
		}
		for _, p := range prompts {
			if p.ID == "" || p.Text == "" || p.Category == "" {
				t.Errorf("incomplete prompt %+v", p)
			}
		}
	})
}

// faultsOf lists the faults that a joined error holds.
func faultsOf(err error) (out []*SyntaxError) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, e := range joined.Unwrap() {
		var fault *SyntaxError
		if errors.As(e, &fault) {
			out = append(out, fault)
		}
	}
	return out
}
