package simserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"treeline/internal/wire/openai"
)

// asked is what we read of a request, of either endpoint.
type asked struct {
	Messages  []openai.Message      `json:"messages"`
	Prompt    json.RawMessage       `json:"prompt"`
	Stream    bool                  `json:"stream"`
	MaxTokens int                   `json:"max_tokens"`
	MaxNew    int                   `json:"max_completion_tokens"`
	IgnoreEOS bool                  `json:"ignore_eos"`
	Options   *openai.StreamOptions `json:"stream_options"`
}

func (a asked) text() string {
	var b strings.Builder
	for _, m := range a.Messages {
		b.WriteString(string(m.Content))
		b.WriteByte('\n')
	}
	var prompt string
	if json.Unmarshal(a.Prompt, &prompt) == nil {
		b.WriteString(prompt)
	}
	return b.String()
}

// job is one generating request under way.
type job struct {
	asked  asked
	chat   bool
	text   string
	inputs int
	cached int
	answer answer
	truth  Truth
	began  time.Duration // the work began: after the wait for a slot
	over   bool          // counted as finished
}

// complete answers a request by the law.
func (s *Server) complete(w *reply, req *http.Request, body []byte) error {
	read := s.now()
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		return w.fail(http.StatusBadRequest, "the body is not JSON: "+err.Error())
	}
	j := &job{asked: a, chat: req.URL.Path == "/v1/chat/completions", text: a.text()}
	j.inputs = promptTokens(j.text)
	most := max(a.MaxTokens, a.MaxNew)
	if most == 0 {
		most = 128
	}
	s.begin(j, read, most)
	if j.answer.fail == "refused" {
		return w.fail(s.spec.Fails.Status, "refused, as the spec says")
	}
	if s.slots != nil {
		s.queued(1)
		s.slots <- struct{}{}
		s.queued(-1)
		defer func() { <-s.slots }()
	}
	j.began = s.now()
	s.started(j)
	var err error
	if a.Stream {
		err = s.stream(w, j)
	} else {
		err = s.whole(w, j)
	}
	s.finished(j)
	return err
}

// begin numbers the request and draws its answer.
func (s *Server) begin(j *job, read time.Duration, most int) {
	s.mu.Lock()
	s.number++
	number := s.number
	j.cached = s.lookup(j.text)
	s.mu.Unlock()
	j.answer = s.spec.plan(j.text, strconv.Itoa(number), j.inputs-j.cached, most, j.asked.IgnoreEOS)
	j.truth = Truth{ID: number, Read: int64(read), First: -1, Last: -1, Tokens: j.answer.tokens, Reasoning: j.answer.thinking}
	if len(j.answer.chunks) > 0 {
		j.truth.NFirst = j.answer.chunks[0].tokens
	}
}

// lookup is the number of a prompt's tokens that the prefix cache holds, in blocks of 16 tokens, always leaving at
// least one to compute; the prompt is put in.
func (s *Server) lookup(text string) int {
	if !s.spec.Cache {
		return 0
	}
	const block = 64 // bytes: 16 tokens
	hit, missed := 0, false
	for end := block; end <= len(text); end += block {
		if s.cached[text[:end]] && !missed {
			hit = end
		} else {
			missed = true
		}
		s.cached[text[:end]] = true
	}
	return min(hit/4, promptTokens(text)-1)
}

func (s *Server) whole(w *reply, j *job) error {
	a := j.answer
	s.wait(j.began + a.chunks[len(a.chunks)-1].at)
	now := int64(s.now())
	j.truth.First, j.truth.Last = now, now
	s.emitted(a.tokens)
	s.finished(j)
	object, choice := "text_completion", map[string]any{"index": 0, "finish_reason": a.finish}
	text := words(j.text, a.thinking, a.tokens)
	if j.chat {
		object = "chat.completion"
		message := map[string]any{"role": "assistant", "content": text}
		if a.thinking > 0 {
			message["reasoning_content"] = words(j.text, 0, a.thinking)
		}
		choice["message"] = message
	} else {
		choice["text"] = text
	}
	out := map[string]any{"id": "sim", "object": object, "model": s.spec.Model, "choices": []any{choice}}
	if s.spec.Form.Usage != "never" {
		out["usage"] = j.usage(a.tokens)
	}
	return w.json(http.StatusOK, out)
}

// stream sends the planned chunks at their times.
func (s *Server) stream(w *reply, j *job) error {
	if err := w.events(); err != nil {
		return err
	}
	form := s.spec.Form
	if form.Role == "early" && j.chat {
		if err := w.chunk(j.event(s, map[string]any{"role": "assistant", "content": ""}, 0, "")); err != nil {
			return err
		}
	}
	a, sent := j.answer, 0
	for i := 0; i < len(a.chunks); {
		var b []byte
		c := a.chunks[i]
		tokens := 0
		for next := true; next; next = i < len(a.chunks) && (a.chunks[i].same || s.lumped(j, c, a.chunks[i])) {
			d := a.chunks[i]
			b = append(b, j.event(s, j.delta(form, sent+tokens, d.tokens), sent+tokens+d.tokens, "")...)
			tokens += d.tokens
			i++
		}
		s.wait(j.began + s.release(j, c.at))
		j.sent(int64(s.now()), tokens)
		if err := w.chunk(b); err != nil {
			return err
		}
		s.emitted(tokens)
		sent += tokens
		if a.fail != "" && 2*sent >= a.tokens {
			return s.breakOff(w, a.fail)
		}
	}
	s.finished(j) // before the client can know it: who reads the counters then finds this request in them
	return s.close(w, j)
}

// release is when a chunk that is ready goes out: at once, or at the end of the period of a buffering proxy.
func (s *Server) release(j *job, at time.Duration) time.Duration {
	lump := s.spec.Form.Lump
	if lump == 0 {
		return at
	}
	periods := (j.began + at + lump - 1) / lump
	return periods*lump - j.began
}

func (s *Server) lumped(j *job, first, next chunk) bool {
	return s.spec.Form.Lump > 0 && s.release(j, first.at) == s.release(j, next.at)
}

func (s *Server) breakOff(w *reply, how string) error {
	if how == "cut" {
		return errHangUp
	}
	err := w.chunk([]byte("data: {\"error\":{\"message\":\"simulated failure\",\"type\":\"server_error\",\"code\":500}}\n\ndata: [DONE]\n\n"))
	if err != nil {
		return err
	}
	return w.end()
}

// close sends what follows the last token: finish, usage and [DONE], in one write.
func (s *Server) close(w *reply, j *job) error {
	form := s.spec.Form
	b := j.event(s, map[string]any{}, 0, j.answer.finish)
	include := j.asked.Options != nil && j.asked.Options.IncludeUsage
	if form.Usage == "always" || (include && form.Usage != "never") {
		b = append(b, data(s.tail(j))...)
	}
	if !form.NoDone {
		b = append(b, "data: [DONE]\n\n"...)
	}
	if err := w.chunk(b); err != nil {
		return err
	}
	return w.end()
}

// tail is the last chunk, with usage and, as llama.cpp sends them, timings.
func (s *Server) tail(j *job) map[string]any {
	out := map[string]any{"id": "sim", "object": j.object(), "model": s.spec.Model, "choices": []any{}, "usage": j.usage(j.answer.tokens)}
	if s.spec.As == "llamacpp" {
		ms := func(ns int64) float64 { return float64(ns) / 1e6 }
		t := map[string]any{
			"prompt_n": j.inputs - j.cached, "prompt_ms": ms(j.truth.First - int64(j.began)), "cache_n": j.cached,
			"predicted_n": j.answer.tokens, "predicted_ms": ms(j.truth.Last - j.truth.First),
		}
		if s.spec.Spec != nil && !s.spec.Spec.Silent {
			t["draft_n"], t["draft_n_accepted"] = j.answer.drafted, j.answer.accepted
		}
		out["timings"] = t
	}
	return out
}

func (j *job) object() string {
	if j.chat {
		return "chat.completion.chunk"
	}
	return "text_completion"
}

// delta is the text of n tokens from the given one on.
func (j *job) delta(form Form, from, n int) map[string]any {
	d := map[string]any{}
	thought := min(j.answer.thinking, from+n)
	if thought > from {
		d["reasoning_content"] = words(j.text, from, thought)
	}
	if from+n > thought {
		d["content"] = words(j.text, max(from, thought), from+n)
	}
	if from == 0 && form.Role == "with_first" {
		d["role"] = "assistant"
	}
	return d
}

// event is one event of the stream; total is the running number of tokens.
func (j *job) event(s *Server, delta map[string]any, total int, finish string) []byte {
	choice := map[string]any{"index": 0, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	if j.chat {
		choice["delta"] = delta
	} else {
		choice["text"] = fmt.Sprint(delta["content"])
		if delta["content"] == nil {
			choice["text"] = ""
		}
	}
	v := map[string]any{"id": "sim", "object": j.object(), "created": 1, "model": s.spec.Model, "choices": []any{choice}}
	continuous := j.asked.Options != nil && j.asked.Options.ContinuousUsageStats && s.spec.Form.Usage == "continuous"
	if continuous && finish == "" {
		v["usage"] = j.usage(total)
	}
	b := data(v)
	if pad := s.spec.Form.Pad - len(b); pad > 0 {
		v["pad"] = strings.Repeat("x", max(0, pad-len(`,"pad":""`)))
		b = data(v)
	}
	return b
}

func (j *job) usage(n int) map[string]any {
	u := map[string]any{"prompt_tokens": j.inputs, "completion_tokens": n, "total_tokens": j.inputs + n}
	if j.cached > 0 {
		u["prompt_tokens_details"] = map[string]int{"cached_tokens": j.cached}
	}
	return u
}

func data(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return bytes.Join([][]byte{[]byte("data: "), b, []byte("\n\n")}, nil)
}
