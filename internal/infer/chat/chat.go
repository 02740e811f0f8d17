// Package chat turns the messages of a conversation into the text that a model was trained to continue, by the chat
// template that comes with the model.
//
// It knows which variables a template sees; the language is package jinja's, tokens are package tokenizer's. What a
// request may contain is checked by the server.
package chat

import (
	"errors"
	"fmt"
	"time"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/jinja"
	"treeline/internal/infer/tokenizer"
	"treeline/internal/wire/openai"
)

// ErrNoTemplate says that a model has no chat template: it can complete text, not chat.
var ErrNoTemplate = errors.New("the model has no chat template; use plain completions, or a model that was trained to chat")

// Template renders conversations. It is safe for concurrent use.
type Template struct {
	parsed   *jinja.Template
	bos, eos string
}

// Options of a template. Zero values mean what the comments say.
type Options struct {
	BOS, EOS string           // the tokens that templates call bos_token and eos_token; "": not defined
	Now      func() time.Time // what strftime_now sees; nil: the clock
}

// Parse reads a template.
func Parse(source string, o Options) (*Template, error) {
	parsed, err := jinja.Parse(source, jinja.Limits{}, o.Now)
	if err != nil {
		return nil, fmt.Errorf("read chat template: %w", err)
	}
	return &Template{parsed: parsed, bos: o.BOS, eos: o.EOS}, nil
}

// FromGGUF reads the template of a model file, with the tokenizer of the same file. It fails with ErrNoTemplate when
// there is none. The file may be closed afterwards.
func FromGGUF(f *gguf.File, tok *tokenizer.Tokenizer) (*Template, error) {
	const key = "tokenizer.chat_template"
	source, err := f.StringOr(key, "")
	if err != nil {
		return nil, fmt.Errorf("read chat template: %w", err)
	}
	if source == "" {
		return nil, ErrNoTemplate
	}
	var o Options
	if bos, ok := tok.BOS(); ok {
		o.BOS = tok.Piece(bos, false)
	}
	if eos, ok := f.Uint("tokenizer.ggml.eos_token_id"); ok && eos < uint64(tok.Vocab()) {
		o.EOS = tok.Piece(int32(eos), false)
	}
	return Parse(source, o)
}

// Render is the text of a conversation; with addGenerationPrompt it ends where the model's answer starts. kwargs are
// more variables for the template, such as enable_thinking; they do not replace those that every template has.
// A template may refuse messages: then the error is a *jinja.Error with Raised and the template's own words.
func (t *Template) Render(messages []openai.Message, addGenerationPrompt bool, kwargs map[string]any) (string, error) {
	vars := jinja.NewDict()
	for name, v := range kwargs {
		value, err := jinja.FromGo(v)
		if err != nil {
			return "", fmt.Errorf("render chat template: variable %q: %w", name, err)
		}
		vars.Set(name, value)
	}
	list := &jinja.List{}
	for _, m := range messages {
		d := jinja.NewDict().Set("role", m.Role).Set("content", string(m.Content))
		if m.Name != "" {
			d.Set("name", m.Name)
		}
		list.Items = append(list.Items, d)
	}
	vars.Set("messages", list).Set("tools", nil).Set("documents", nil).Set("add_generation_prompt", addGenerationPrompt)
	if t.bos != "" {
		vars.Set("bos_token", t.bos)
	}
	if t.eos != "" {
		vars.Set("eos_token", t.eos)
	}
	text, err := t.parsed.Render(vars)
	if err != nil {
		return "", fmt.Errorf("render chat template: %w", err)
	}
	return text, nil
}
