package server

import (
	"fmt"
	"net/http"

	"treeline/internal/wire/openai"
)

// Info is what /server_info tells that the engine does not know itself.
type Info struct {
	ModelPath   string
	ISA         string // kernel set in use
	Threads     int
	Weights     string // type of the weights as computed with, e.g. "Q4_1"
	Method      string // "NONE", "NGRAM"
	MaxTokens   int    // tokens of all sequences together that memory allows; 0: as many as the sequences hold
	PID         int
	StartUnixNS int64
	Extra       map[string]any // more members of "treeline"
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request, b *Backend) {
	status, text := http.StatusOK, "ok"
	switch {
	case b == nil:
		status, text = http.StatusServiceUnavailable, "loading"
	case s.draining.Load():
		status, text = http.StatusServiceUnavailable, "draining"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"status\":%q}\n", text)
}

func (s *Server) card(b *Backend) openai.Model {
	return openai.Model{ID: s.opt.Model, Object: "model", Created: s.started.Unix(), OwnedBy: "treeline", MaxModelLen: b.Engine.MaxLen()}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request, b *Backend) {
	writeJSON(w, openai.ModelList{Object: "list", Data: []openai.Model{s.card(b)}})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request, b *Backend) {
	if id := r.PathValue("id"); id != s.opt.Model {
		fail(w, &apiError{status: http.StatusNotFound, param: "model", code: "model_not_found", message: fmt.Sprintf("the model %q does not exist here; this server has %q", id, s.opt.Model)})
		return
	}
	writeJSON(w, s.card(b))
}

// serverInfo uses SGLang's names for what SGLang has; speculative_algorithm is null for plain decoding.
func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request, b *Backend) {
	o, c, i := b.Engine.Options(), b.Engine.Config(), b.Info
	maxTokens := i.MaxTokens
	if maxTokens == 0 {
		maxTokens = o.MaxRunning * b.Engine.MaxLen()
	}
	var method, drafts any
	if i.Method != "" && i.Method != "NONE" {
		method, drafts = i.Method, o.DraftTokens
	}
	own := map[string]any{
		"version": s.opt.Version, "isa": i.ISA, "threads": i.Threads, "weights": i.Weights, "pid": i.PID,
		"start_time_unix_ns": i.StartUnixNS, "arch": c.Arch, "model": c.Name, "quantization": c.Quant, "parameters": c.Params,
	}
	for k, v := range i.Extra {
		own[k] = v
	}
	writeJSON(w, map[string]any{
		"model_path": i.ModelPath, "served_model_name": s.opt.Model, "version": s.opt.Version,
		"speculative_algorithm": method, "speculative_num_draft_tokens": drafts,
		"speculative_num_steps": nil, "speculative_eagle_topk": nil, "speculative_draft_model_path": nil,
		"max_total_num_tokens": maxTokens, "context_length": b.Engine.MaxLen(), "max_running_requests": o.MaxRunning,
		"max_queued_requests": o.MaxQueue, "chunked_prefill_size": o.PrefillTokens, "disable_radix_cache": true,
		"tp_size": 1, "dp_size": 1, "pp_size": 1, "device": "cpu", "treeline": own,
	})
}

// flushCache has nothing to do as long as no prefix is kept across requests.
func (s *Server) flushCache(w http.ResponseWriter, _ *http.Request, _ *Backend) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "Nothing is kept across requests: there is no prefix cache to flush.")
}

// tokenize takes "prompt" or "content", so that clients written for either convention work.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request, b *Backend) {
	var req struct {
		Prompt, Content *string
		AddSpecial      *bool `json:"add_special_tokens"`
	}
	if err := readBody(w, r, &req); err != nil {
		fail(w, err)
		return
	}
	text := req.Prompt
	if text == nil {
		text = req.Content
	}
	if text == nil {
		fail(w, invalid("prompt", "prompt is missing"))
		return
	}
	var ids []int32
	if b.Prompt != nil && (req.AddSpecial == nil || *req.AddSpecial) && *text != "" {
		ids = b.Prompt(*text)
	} else {
		ids = b.Text.Encode(*text, true)
	}
	if ids == nil {
		ids = []int32{}
	}
	writeJSON(w, map[string]any{"tokens": ids, "count": len(ids), "max_model_len": b.Engine.MaxLen()})
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request, b *Backend) {
	var req struct{ Tokens []int32 }
	if err := readBody(w, r, &req); err != nil {
		fail(w, err)
		return
	}
	vocab := b.Engine.Config().Vocab
	for i, t := range req.Tokens {
		if t < 0 || int(t) >= vocab {
			fail(w, invalid("tokens", "tokens[%d] is %d; this model's tokens are 0 to %d", i, t, vocab-1))
			return
		}
	}
	text := b.Text.Decode(req.Tokens)
	writeJSON(w, map[string]string{"prompt": text, "content": text})
}
