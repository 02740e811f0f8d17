// Package target knows the servers that can be measured: how to find out which one answers at an address, what it says
// about itself, where its counters are and how to see that it is idle. One file per server.
//
// It changes nothing on a server and judges nothing; whether a method is proven is the business of package proof.
package target

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"treeline/internal/wire/openai"
	"treeline/internal/wire/promtext"
)

// The kinds of servers that Identify tells apart. Generic is any other server that speaks the OpenAI API.
const (
	Treeline     = "treeline"
	LlamaCpp     = "llamacpp"
	VLLM         = "vllm"
	SGLang       = "sglang"
	TensorRT     = "trtllm"
	Transformers = "transformers"
	Generic      = "generic"
)

// The canonical names of methods. Servers have others; Identify translates.
const (
	MethodNone    = "none"
	MethodUnknown = "unknown"
)

// Options say which server is meant.
type Options struct {
	URL    string // with or without /v1
	APIKey string
	Model  string // "" takes the first that the server lists
	Kind   string // "" detects; needed behind proxies that hide what a server is
	// Client replaces the HTTP client; nil means one without redirects, proxies and retries.
	TLS    *tls.Config // nil means the system's roots; without effect when there is a Client
	Client *http.Client
}

// Server is what a server says about itself. Configured is the method that its configuration names: MethodNone when
// it says that there is none, MethodUnknown when it does not say.
type Server struct {
	Base       string   `json:"base"` // address without /v1
	Kind       string   `json:"kind"`
	Version    string   `json:"version"`
	Model      string   `json:"model"`
	Models     []string `json:"models,omitempty"`
	MaxLen     int      `json:"max_model_len,omitempty"`
	Configured string   `json:"configured_method"`
	Evidence   string   `json:"evidence,omitempty"`     // the sentence behind Configured
	Start      string   `json:"server_start,omitempty"` // what tells one start from another, "" unknown
	PID        int      `json:"pid,omitempty"`          // of the server's process when it says so, 0 unknown

	web     web
	adapter adapter
}

// adapter is what differs between servers. Any function may be nil: the server does not tell.
type adapter struct {
	identify func(context.Context, *Server) error
	load     func(context.Context, *Server, *promtext.Scrape) (Load, bool)
	counters func(*promtext.Scrape) Counters
	metrics  string         // path of the Prometheus text, "" none
	extras   map[string]any // request members that make measuring more exact
	spec     bool           // counters of speculation are there, or their absence tells that there is none
}

func adapters() map[string]adapter {
	return map[string]adapter{
		Treeline: treelineAdapter(), LlamaCpp: llamacppAdapter(), VLLM: vllmAdapter(), SGLang: sglangAdapter(),
		TensorRT: {}, Transformers: {}, Generic: {},
	}
}

// Identify asks the server at o.URL what it is, with at most four small requests. Every error says what was tried and
// what to do.
func Identify(ctx context.Context, o Options) (*Server, error) {
	base, err := NormalizeURL(o.URL)
	if err != nil {
		return nil, err
	}
	s := &Server{Base: base, Kind: o.Kind, Configured: MethodUnknown, web: newWeb(base, o)}
	if o.Kind != "" {
		if _, known := adapters()[o.Kind]; !known {
			return nil, fmt.Errorf("server kind %q is not known: use treeline, llamacpp, vllm, sglang, trtllm, transformers or generic", o.Kind)
		}
	}
	if err := s.detect(ctx, o); err != nil {
		return nil, err
	}
	s.adapter = adapters()[s.Kind]
	if err := s.chooseModel(o.Model); err != nil {
		return nil, err
	}
	return s, s.Refresh(ctx)
}

// Refresh reads the server's description again. Some servers (llama.cpp) name their method only after a first request.
func (s *Server) Refresh(ctx context.Context) error {
	if s.adapter.identify == nil {
		return nil
	}
	if err := s.adapter.identify(ctx, s); err != nil {
		return fmt.Errorf("identify %s server at %s: %w", s.Kind, s.Base, err)
	}
	return nil
}

// Extras are request members that this kind of server understands and that make measuring more exact: a cold prompt
// cache, token counts in every chunk.
func (s *Server) Extras() map[string]any { return s.adapter.extras }

// detect finds the kind by /v1/models: owned_by decides, because servers imitate each other's other routes.
func (s *Server) detect(ctx context.Context, o Options) error {
	res, err := s.web.get(ctx, "/v1/models")
	if err != nil {
		return fmt.Errorf("reach %s: %w: is the server running, and is the address right?", s.Base, err)
	}
	var list openai.ModelList
	switch {
	case res.status == http.StatusUnauthorized || res.status == http.StatusForbidden:
		return fmt.Errorf("server at %s answers HTTP %d to /v1/models: an API key is needed, give it with --api-key or OPENAI_API_KEY", s.Base, res.status)
	case res.status == http.StatusServiceUnavailable:
		return fmt.Errorf("server at %s answers HTTP 503 to /v1/models: it is still starting, try again when it is ready", s.Base)
	case res.isHTML():
		return fmt.Errorf("server at %s answers /v1/models with a web page, not with the OpenAI API: give the address of the API server itself", s.Base)
	case res.status == http.StatusOK && res.json(&list) == nil && list.Data != nil:
		return s.fromModels(ctx, list, res.header)
	}
	return s.fromOpenAPI(ctx, o, res)
}

func (s *Server) fromModels(ctx context.Context, list openai.ModelList, h http.Header) error {
	owner := ""
	for _, m := range list.Data {
		s.Models = append(s.Models, m.ID)
	}
	if len(list.Data) > 0 {
		owner, s.MaxLen = list.Data[0].OwnedBy, list.Data[0].MaxModelLen
	}
	if s.Kind != "" {
		return nil
	}
	switch {
	case owner == "treeline":
		s.Kind = Treeline
	case owner == "llamacpp" || h.Get("Server") == "llama.cpp":
		s.Kind = LlamaCpp
	case owner == "vllm":
		s.Kind = VLLM
	case owner == "sglang":
		s.Kind = SGLang
	case owner == "tensorrt_llm":
		s.Kind = TensorRT
	default:
		s.Kind = Generic
	}
	return nil
}

// fromOpenAPI takes a server whose /v1/models does not work: transformers answers it with 500 when it is offline.
func (s *Server) fromOpenAPI(ctx context.Context, o Options, models response) error {
	var api struct {
		Paths map[string]any `json:"paths"`
	}
	if res, err := s.web.get(ctx, "/openapi.json"); err == nil && res.status == http.StatusOK {
		res.json(&api)
	}
	_, chat := api.Paths["/v1/chat/completions"]
	_, loads := api.Paths["/load_model"]
	switch {
	case chat && loads && s.Kind == "":
		s.Kind = Transformers
	case s.Kind == "" && (chat || (o.Model != "" && models.status == http.StatusNotFound && models.isJSON())):
		s.Kind = Generic
	case s.Kind == "":
		return fmt.Errorf("server at %s answers HTTP %d to /v1/models and is no OpenAI API that we know: check the address; if it is one, give --model and --server-kind generic", s.Base, models.status)
	}
	if o.Model == "" {
		return fmt.Errorf("server at %s does not list its models (HTTP %d): name one with --model", s.Base, models.status)
	}
	return nil
}

func (s *Server) chooseModel(want string) error {
	switch {
	case want == "" && len(s.Models) > 0:
		s.Model = s.Models[0]
	case want == "":
		return fmt.Errorf("server at %s lists no model: name one with --model", s.Base)
	default:
		s.Model = want
		for _, m := range s.Models {
			if m == want {
				return nil
			}
		}
		if len(s.Models) > 0 {
			return fmt.Errorf("server at %s does not have model %q; it has %s", s.Base, want, strings.Join(s.Models, ", "))
		}
	}
	return nil
}

// NormalizeURL gives the address without /v1 and without a path of the API behind it. Without a scheme it is http.
func NormalizeURL(raw string) (string, error) {
	u := strings.TrimSpace(raw)
	if u == "" {
		return "", fmt.Errorf("no address given: say for example http://127.0.0.1:8080")
	}
	if !strings.Contains(u, "://") {
		u = "http://" + u
	}
	if scheme, rest, _ := strings.Cut(u, "://"); (scheme != "http" && scheme != "https") || rest == "" || strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, " ?#") {
		return "", fmt.Errorf("address %q is not an http or https address: say for example http://127.0.0.1:8080", raw)
	}
	u = strings.TrimRight(u, "/")
	for _, path := range []string{"/chat/completions", "/completions", "/models", "/v1"} {
		u = strings.TrimRight(strings.TrimSuffix(u, path), "/")
	}
	return u, nil
}

// timeout is how long one small request may take. A server that is busy answers late, not never.
const timeout = 5 * time.Second
