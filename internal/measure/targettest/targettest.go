// Package targettest is a stand-in server for tests of the measuring half: it speaks the OpenAI API and Treeline's
// routes, with known truth about steps, tokens and drafts. It is not used outside tests and generates no language.
package targettest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"treeline/internal/wire/openai"
	"treeline/internal/wire/sse"
)

// Options say how the server behaves. The zero Options decode plainly, 16 tokens at once.
type Options struct {
	Method   string        // speculative_algorithm, "" is null
	PerStep  int           // tokens of a decode step, 0 means 1; PerStep-1 of them count as accepted drafts
	Step     time.Duration // time between steps
	Tokens   int           // tokens of an answer, 0 means 16
	NoUsage  bool          // never tell the number of tokens
	Break    int           // answers are cut off after so many steps, 0 never
	Status   int           // chat requests are refused with this status, 0 never
	Quiet    bool          // counters of speculation stay still whatever happens
	Busy     float64       // foreign requests running, as shown by the gauges
	OwnedBy  string        // "" means treeline
	Refuses  []string      // request members answered with 422
	Handlers map[string]http.HandlerFunc
}

// Server is a running stand-in.
type Server struct {
	URL   string
	Close func()

	o  Options
	mu sync.Mutex
	// Requests are the bodies of the chat requests so far.
	requests                                       []map[string]any
	gen, prompt, drafts, drafted, accepted, passes int
	pid                                            int
}

// Start runs a stand-in until the test ends.
func Start(t testing.TB, o Options) *Server {
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

// New runs a stand-in until it is closed.
func New(o Options) *Server {
	o.PerStep = max(o.PerStep, 1)
	if o.Tokens == 0 {
		o.Tokens = 16
	}
	if o.OwnedBy == "" {
		o.OwnedBy = "treeline"
	}
	s := &Server{o: o, pid: 41}
	mux := http.NewServeMux()
	for path, h := range map[string]http.HandlerFunc{
		"/v1/models": s.models, "/server_info": s.info, "/metrics": s.metrics, "/v1/chat/completions": s.chat,
	} {
		if own, ok := o.Handlers[path]; ok {
			h = own
		}
		mux.HandleFunc(path, h)
	}
	h := httptest.NewServer(mux)
	s.URL, s.Close = h.URL, h.Close
	return s
}

// Requests gives the bodies of the chat requests so far.
func (s *Server) Requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any{}, s.requests...)
}

// Restart makes the server another start of itself: another process, counters at zero.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid++
	s.gen, s.prompt, s.drafts, s.drafted, s.accepted, s.passes = 0, 0, 0, 0, 0, 0
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, openai.ModelList{Object: "list", Data: []openai.Model{{ID: "stand-in", Object: "model", OwnedBy: s.o.OwnedBy, MaxModelLen: 4096}}})
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var method any
	if s.o.Method != "" {
		method = s.o.Method
	}
	reply(w, http.StatusOK, map[string]any{
		"version": "0.0-test", "speculative_algorithm": method, "api_key": "secret",
		"treeline": map[string]any{"version": "0.0-test", "pid": s.pid, "start_time_unix_ns": 1000 + s.pid},
	})
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(w, "sglang:num_running_reqs %g\nsglang:num_queue_reqs 0\nsglang:prompt_tokens_total %d\nsglang:generation_tokens_total %d\n", s.o.Busy, s.prompt, s.gen)
	fmt.Fprintf(w, "treeline:spec_drafts_total %d\ntreeline:spec_draft_tokens_total %d\ntreeline:spec_accepted_tokens_total %d\ntreeline:decode_passes_total %d\n",
		s.drafts, s.drafted, s.accepted, s.passes)
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req map[string]any
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	for _, member := range s.o.Refuses {
		if _, sent := req[member]; sent {
			reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": fmt.Sprintf("Unexpected fields in the request: {'%s'}", member)})
			return
		}
	}
	if s.o.Status != 0 {
		reply(w, s.o.Status, map[string]any{"error": openai.Error{Message: "refused by the test", Type: "test"}})
		return
	}
	if stream, _ := req["stream"].(bool); !stream {
		s.whole(w)
		return
	}
	s.stream(w)
}

func (s *Server) usage(n int) *openai.Usage {
	if s.o.NoUsage {
		return nil
	}
	return &openai.Usage{PromptTokens: 20, CompletionTokens: n, TotalTokens: 20 + n}
}

func (s *Server) whole(w http.ResponseWriter) {
	text, stop := "", "length"
	for n, done := s.step(0); ; n, done = s.step(n) {
		if text = words(n); done {
			break
		}
	}
	reply(w, http.StatusOK, openai.Response{
		Object: "chat.completion", Model: "stand-in", Usage: s.usage(s.o.Tokens),
		Choices: []openai.Choice{{Message: &openai.Delta{Role: "assistant", Content: &text}, FinishReason: &stop}},
	})
}

func (s *Server) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for n, steps := 0, 1; ; steps++ {
		before := n
		var done bool
		n, done = s.step(n)
		text := words(n)[len(words(before)):]
		send(w, openai.Response{Object: "chat.completion.chunk", Choices: []openai.Choice{{Delta: &openai.Delta{Content: &text}}}, Usage: s.usage(n)})
		if s.o.Break > 0 && steps == s.o.Break {
			panic(http.ErrAbortHandler)
		}
		if done {
			break
		}
		time.Sleep(s.o.Step)
	}
	stop := "length"
	send(w, openai.Response{Object: "chat.completion.chunk", Choices: []openai.Choice{{Delta: &openai.Delta{}, FinishReason: &stop}}})
	sse.Write(w, "", []byte("[DONE]"))
}

// step advances an answer of n tokens: the first token comes from prefill, every step after it brings PerStep.
func (s *Server) step(n int) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := 1
	if n == 0 {
		s.prompt += 20
	} else {
		made = min(s.o.PerStep, s.o.Tokens-n)
		s.passes++
		if made > 1 && !s.o.Quiet {
			s.drafts++
			s.drafted += s.o.PerStep
			s.accepted += made - 1
		}
	}
	s.gen += made
	return n + made, n+made >= s.o.Tokens
}

func words(n int) string {
	out := ""
	for i := range n {
		out += fmt.Sprintf("w%d ", i)
	}
	return out
}

func send(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sse.Write(w, "", b)
	w.(http.Flusher).Flush()
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
