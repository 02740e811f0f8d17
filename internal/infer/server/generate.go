package server

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/sample"
	"treeline/internal/wire/openai"
)

// generation is one call to a generating endpoint, checked and ready to run.
type generation struct {
	chat     bool
	stream   *openai.StreamOptions // nil: one answer at the end
	tokenIDs bool                  // choices carry token ids
	prompts  [][]int32
	n        int // choices per prompt; choice index = prompt*n + k
	base     engine.Request
	seed     int64

	id      string
	created int64
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, b *Backend) {
	var req openai.ChatRequest
	var x extras
	if err := readBody(w, r, &req, &x); err != nil {
		fail(w, err)
		return
	}
	g := generation{chat: true}
	maxTokens := req.MaxTokens
	if req.MaxCompletionTokens != nil {
		maxTokens = req.MaxCompletionTokens
	}
	err := s.prepare(&g, b, &req.Sampling, &x, maxTokens, 0)
	if err == nil {
		var tokens []int32
		tokens, err = chatPrompt(&req, b)
		g.prompts = [][]int32{tokens}
	}
	s.run(w, r, b, &g, err)
}

var roles = map[string]bool{"system": true, "developer": true, "user": true, "assistant": true, "tool": true}

// chatPrompt checks and renders the messages.
func chatPrompt(req *openai.ChatRequest, b *Backend) ([]int32, error) {
	if len(req.Messages) == 0 {
		return nil, invalid("messages", "messages is empty; send at least one message")
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if !roles[m.Role] {
			return nil, invalid("messages", "messages[%d].role is %q; want system, developer, user, assistant or tool", i, m.Role)
		}
		if m.Role == "developer" { // the newer name of the same thing; templates know the older
			m.Role = "system"
		}
	}
	if b.Chat == nil {
		return nil, invalid("", "this model has no chat template; use /v1/completions")
	}
	text, err := b.Chat(req.Messages, req.ChatTemplateKwargs)
	if err != nil {
		return nil, invalid("messages", "the model's chat template refuses these messages: %v", err)
	}
	return b.Text.Encode(text, true), nil
}

// defaultCompletionTokens is OpenAI's max_tokens of a plain completion that names none.
const defaultCompletionTokens = 16

func (s *Server) completion(w http.ResponseWriter, r *http.Request, b *Backend) {
	var req openai.CompletionRequest
	var x extras
	if err := readBody(w, r, &req, &x); err != nil {
		fail(w, err)
		return
	}
	var g generation
	err := s.prepare(&g, b, &req.Sampling, &x, req.MaxTokens, defaultCompletionTokens)
	if err == nil && req.Echo {
		err = invalid("echo", "echo is not supported")
	}
	if err == nil {
		g.prompts, err = prompts(req.Prompt, b)
	}
	if err == nil && len(g.prompts)*g.n > b.Engine.Capacity() {
		err = invalid("prompt", "%d prompts with n = %d are more than the %d choices this server takes at once", len(g.prompts), g.n, b.Engine.Capacity())
	}
	s.run(w, r, b, &g, err)
}

// prompts decodes the four forms of "prompt": a string, a list of strings, a list of token ids, a list of such lists.
func prompts(raw json.RawMessage, b *Backend) ([][]int32, error) {
	encode := b.Prompt
	if encode == nil {
		encode = func(text string) []int32 { return b.Text.Encode(text, true) }
	}
	var one *string
	var texts []string
	var ids []int32
	var lists [][]int32
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, invalid("prompt", "prompt is missing")
	case json.Unmarshal(raw, &one) == nil:
		lists = [][]int32{encode(*one)}
	case json.Unmarshal(raw, &texts) == nil:
		for _, t := range texts {
			lists = append(lists, encode(t))
		}
	case json.Unmarshal(raw, &ids) == nil:
		lists = [][]int32{ids}
	case json.Unmarshal(raw, &lists) == nil:
	default:
		return nil, invalid("prompt", "prompt must be a string, a list of strings, a list of token ids, or a list of such lists")
	}
	if len(lists) == 0 {
		return nil, invalid("prompt", "prompt is an empty list")
	}
	for i, l := range lists {
		if len(l) == 0 {
			return nil, invalid("prompt", "prompt %d is empty", i)
		}
	}
	return lists, nil
}

// prepare fills g with what both endpoints share.
func (s *Server) prepare(g *generation, b *Backend, p *openai.Sampling, x *extras, maxTokens *int, defaultMax int) (err error) {
	if err := x.refuse(); err != nil {
		return err
	}
	if g.base, g.n, g.seed, err = s.sampling(p, b, maxTokens, defaultMax); err != nil {
		return err
	}
	g.tokenIDs = x.ReturnTokenIDs
	if p.StreamOptions != nil && !p.Stream {
		return invalid("stream_options", "stream_options is only allowed with stream: true")
	}
	if p.Stream {
		if g.stream = p.StreamOptions; g.stream == nil {
			g.stream = &openai.StreamOptions{}
		}
	}
	g.created = time.Now().Unix()
	var b8 [12]byte
	rand.Read(b8[:])
	g.id = map[bool]string{true: "chatcmpl-", false: "cmpl-"}[g.chat] + hex.EncodeToString(b8[:])
	return nil
}

// run submits a generation, unless err says that it is none, and answers.
func (s *Server) run(w http.ResponseWriter, r *http.Request, b *Backend, g *generation, err error) {
	if err == nil && s.draining.Load() {
		err = engine.ErrClosed
	}
	if err != nil {
		fail(w, err)
		return
	}
	var choices []engine.Request
	for _, p := range g.prompts {
		for k := range g.n {
			c := g.base
			c.Prompt = p
			c.Sample.Seed = sample.ChoiceSeed(uint64(g.seed), k)
			choices = append(choices, c)
		}
	}
	a, err := b.Engine.Submit(r.Context(), choices...)
	if err != nil {
		if s := asAPIError(err); s.status == http.StatusInternalServerError { // what is left are faults of the request
			err = invalid("prompt", "%v", err)
		}
		fail(w, err)
		return
	}
	if g.stream != nil {
		s.answerStream(w, g, a)
	} else {
		s.answerOnce(w, g, a)
	}
}

// envelope is an answer or chunk without choices.
func (s *Server) envelope(g *generation) openai.Response {
	object := "text_completion"
	if g.chat {
		object = "chat.completion"
		if g.stream != nil {
			object = "chat.completion.chunk"
		}
	}
	return openai.Response{
		ID: g.id, Object: object, Created: g.created, Model: s.opt.Model,
		SystemFingerprint: "treeline-" + s.opt.Version, Choices: []openai.Choice{},
	}
}

// usage counts each prompt once, as OpenAI does, and all choices.
func (g *generation) usage(completion int) *openai.Usage {
	u := &openai.Usage{CompletionTokens: completion}
	for _, p := range g.prompts {
		u.PromptTokens += len(p)
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// answerOnce collects everything and answers with one object.
func (s *Server) answerOnce(w http.ResponseWriter, g *generation, a *engine.Answer) {
	out := s.envelope(g)
	out.Seed = &g.seed
	texts := make([]bytes.Buffer, len(g.prompts)*g.n)
	out.Choices = make([]openai.Choice, len(texts))
	completion := 0
	for left := len(texts); left > 0; {
		ev, err := a.Next()
		if err == nil && ev.Result != nil && ev.Result.Err != nil {
			err = ev.Result.Err
		}
		if err != nil { // the request's context ends the other choices when the handler returns
			fail(w, err)
			return
		}
		c := &out.Choices[ev.Choice]
		texts[ev.Choice].WriteString(ev.Text)
		if g.tokenIDs {
			c.TokenIDs = append(c.TokenIDs, ev.Tokens...)
		}
		if ev.Result == nil {
			continue
		}
		left--
		completion += ev.Result.CompletionTokens
		c.Index, c.FinishReason = ev.Choice, &ev.Result.FinishReason
		out.Timings = &ev.Result.Timings // of the choice that ended last
		text := texts[ev.Choice].String()
		if g.chat {
			c.Message = &openai.Delta{Role: "assistant", Content: &text}
		} else {
			c.Text = &text
		}
	}
	out.Usage = g.usage(completion)
	writeJSON(w, &out)
}

func writeJSON(w http.ResponseWriter, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fail(w, fmt.Errorf("encode the answer: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(buf.Bytes())
}
