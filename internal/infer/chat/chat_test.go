package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/jinja"
	"treeline/internal/infer/tokenizer"
	"treeline/internal/sharedtest"
	"treeline/internal/wire/openai"
)

func load(t *testing.T, path string) (*Template, *tokenizer.Tokenizer) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := FromGGUF(f, tok)
	if err != nil {
		t.Fatal(err)
	}
	return tpl, tok
}

// TestSmolLM2 wants the reference's text and tokens for the request of the founding measurement.
func TestSmolLM2(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(cache, "treeline", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no pulled model: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(sharedtest.Dir(t), "fixtures", "smollm2", "facts.json"))
	if err != nil {
		t.Skip(err)
	}
	var facts struct {
		Greedy struct {
			UserPrompt string  `json:"user_prompt"`
			ChatText   string  `json:"chat_text"`
			PromptIDs  []int32 `json:"prompt_ids"`
		}
	}
	if err := json.Unmarshal(b, &facts); err != nil {
		t.Fatal(err)
	}
	tpl, tok := load(t, path)
	got, err := tpl.Render([]openai.Message{{Role: "user", Content: openai.Content(facts.Greedy.UserPrompt)}}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got != facts.Greedy.ChatText {
		t.Errorf("got %q, want %q", got, facts.Greedy.ChatText)
	}
	if ids := tok.Encode(got, true); !slices.Equal(ids, facts.Greedy.PromptIDs) {
		t.Errorf("got tokens %v, want %v", ids, facts.Greedy.PromptIDs)
	}
}

func TestTinyModel(t *testing.T) {
	tpl, _ := load(t, filepath.Join(sharedtest.Dir(t), "fixtures", "gguf", "tiny-llama.q4_0.gguf"))
	got, err := tpl.Render([]openai.Message{{Role: "system", Content: "be"}, {Role: "user", Content: "hi"}}, true, nil)
	if want := "system: be\nuser: hi\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestRender(t *testing.T) {
	tpl, err := Parse("{{ bos_token }}{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no ' ~ m.role) }}{% endif %}"+
		"{{ m.role }}{{ m.name }}:{{ m.content }};{% endfor %}{% if thinking is true %}T{% endif %}{{ n + 1 if n is defined }}"+
		"{% if add_generation_prompt %}>{% endif %}{{ eos_token is defined }}{{ strftime_now('%Y') }}",
		Options{BOS: "<s>", Now: func() time.Time { return time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	hi := []openai.Message{{Role: "user", Content: "hi", Name: "Ada"}}
	got, err := tpl.Render(hi, true, map[string]any{"thinking": true, "n": 3.0, "messages": "not these"})
	if want := "<s>userAda:hi;T4>False2020"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = tpl.Render([]openai.Message{{Role: "tool"}}, true, nil)
	var fault *jinja.Error
	if !errors.As(err, &fault) || !fault.Raised || fault.Text != "no tool" {
		t.Errorf("a refusal gives %v", err)
	}
	if _, err := tpl.Render(hi, true, map[string]any{"f": func() {}}); err == nil || !strings.Contains(err.Error(), `variable "f"`) {
		t.Errorf("a variable without a value gives %v", err)
	}
	if _, err := Parse("a\n{% if %}", Options{}); err == nil || !strings.Contains(err.Error(), "read chat template: template line 2") {
		t.Errorf("a broken template gives %v", err)
	}
}

// TestNoTemplate wants a clear refusal of files that cannot chat.
func TestNoTemplate(t *testing.T) {
	f, err := gguf.Parse([]byte("GGUF\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromGGUF(f, nil); !errors.Is(err, ErrNoTemplate) {
		t.Errorf("got %v, want %v", err, ErrNoTemplate)
	}
}
