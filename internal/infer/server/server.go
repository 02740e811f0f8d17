// Package server is the OpenAI-compatible HTTP interface of the engine: it checks requests, turns text into tokens and
// back, streams answers, and shows state and counters under the names that SGLang uses.
//
// It does not schedule, sample or speculate (package engine), and does not listen or handle signals (the command line
// does). A server exists before its model is loaded and answers 503 until Ready.
package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/wire/openai"
)

// MaxBodyBytes bounds a request's body.
const MaxBodyBytes = 16 << 20

// writeTimeout is how long one write to a reader that takes nothing may hang before the request is given up.
const writeTimeout = 60 * time.Second

// Text is the tokenizer.
type Text interface {
	Encode(text string, parseSpecial bool) []int32
	Decode(ids []int32) string
}

// Backend is a loaded model. All members but Chat are needed; without Chat, chat requests are refused.
type Backend struct {
	Engine *engine.Engine
	Text   Text
	// Prompt turns the text of a plain completion into tokens, with what the model wants at the start of a text.
	// Nil: Text.Encode.
	Prompt func(text string) []int32
	// Chat renders messages with the model's template, ready for the answer.
	Chat func(messages []openai.Message, kwargs map[string]any) (string, error)
	Info Info
}

// Options of a server.
type Options struct {
	Model   string // name that /v1/models and answers carry
	APIKey  string // "": none needed
	Version string
	Metrics *Metrics
}

// Server answers HTTP. Create with New, then Ready once the model is there.
type Server struct {
	opt      Options
	backend  atomic.Pointer[Backend]
	draining atomic.Bool
	started  time.Time
	mux      *http.ServeMux
}

// New returns a server that answers 503 to everything that needs the model.
func New(o Options) *Server {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(o.Model)
	}
	s := &Server{opt: o, started: time.Now(), mux: http.NewServeMux()}
	s.routes()
	return s
}

// Ready gives the server its model.
func (s *Server) Ready(b *Backend) {
	s.opt.Metrics.engine.Store(b.Engine)
	s.backend.Store(b)
}

// Drain makes /health say 503 and refuses new generations; those under way go on.
func (s *Server) Drain() { s.draining.Store(true) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

type handler func(w http.ResponseWriter, r *http.Request, b *Backend)

// route is one path: its handlers by method, who may call it, and whether it works without a model.
type route struct {
	path    string
	methods map[string]handler
	open    bool // no API key needed
	early   bool // answers before the model is loaded
}

func (s *Server) routes() {
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	post := func(h handler) map[string]handler { return map[string]handler{http.MethodPost: h} }
	both := func(h handler) map[string]handler {
		return map[string]handler{http.MethodGet: h, http.MethodPost: h}
	}
	for _, rt := range []route{
		{path: "/health", methods: get(s.health), open: true, early: true},
		{path: "/metrics", methods: get(s.opt.Metrics.serve), open: true, early: true},
		{path: "/v1/models", methods: get(s.models)},
		{path: "/v1/models/{id...}", methods: get(s.model)},
		{path: "/v1/chat/completions", methods: post(s.chat)},
		{path: "/v1/completions", methods: post(s.completion)},
		{path: "/server_info", methods: get(s.serverInfo)},
		{path: "/get_server_info", methods: get(s.serverInfo)},
		{path: "/flush_cache", methods: both(s.flushCache)},
		{path: "/tokenize", methods: post(s.tokenize)},
		{path: "/detokenize", methods: post(s.detokenize)},
	} {
		s.mux.HandleFunc(rt.path, s.guard(rt))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &apiError{status: http.StatusNotFound, message: "there is nothing at " + r.URL.Path, code: "not_found"})
	})
}

// guard checks method, key and readiness, in this order.
func (s *Server) guard(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		h, ok := rt.methods[method]
		if !ok {
			for m := range rt.methods {
				w.Header().Add("Allow", m)
			}
			fail(w, &apiError{status: http.StatusMethodNotAllowed, message: r.Method + " is not possible at " + r.URL.Path, code: "method_not_allowed"})
			return
		}
		if !rt.open && !s.authorised(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, &apiError{status: http.StatusUnauthorized, message: "this server needs an API key: send the header Authorization: Bearer KEY", kind: "authentication_error", code: "invalid_api_key"})
			return
		}
		b := s.backend.Load()
		if b == nil && !rt.early {
			fail(w, &apiError{status: http.StatusServiceUnavailable, message: "the model is still loading; try again in a moment", kind: "server_error", code: "loading"})
			return
		}
		h(w, r, b)
	}
}

// authorised compares in constant time, whatever the lengths.
func (s *Server) authorised(r *http.Request) bool {
	if s.opt.APIKey == "" {
		return true
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(s.opt.APIKey))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
