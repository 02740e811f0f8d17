package experiment

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"treeline/internal/wire/openai"
)

// TestMain lets the test binary play a server of known speed: with FAKE_PORT set it serves instead of testing.
func TestMain(m *testing.M) {
	if port := os.Getenv("FAKE_PORT"); port != "" {
		fmt.Println(newFake().serve(port))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fake is a server under Treeline's names. It sends a token every tpot; with a method it counts two accepted drafts in
// every round of three tokens. Its text depends on the prompt alone, or on the process too when it is to diverge.
type fake struct {
	tpot    time.Duration
	method  string
	tokens  int
	dieAt   int // request at which the process dies, 0 never
	diverge bool

	mu                                  sync.Mutex
	requests, generated, rounds, drafts int
}

func newFake() *fake {
	number := func(key string, otherwise int) int {
		n, err := strconv.Atoi(os.Getenv(key))
		if err != nil {
			return otherwise
		}
		return n
	}
	return &fake{
		tpot: time.Duration(number("FAKE_TPOT_US", 1000)) * time.Microsecond, method: os.Getenv("FAKE_METHOD"),
		tokens: number("FAKE_TOKENS", 12), dieAt: number("FAKE_DIE_AT", 0), diverge: os.Getenv("FAKE_DIVERGE") != "",
	}
}

func (f *fake) serve(port string) error { return http.ListenAndServe("127.0.0.1:"+port, f.handler()) }

// refusedTokens is a max_tokens that the fake refuses.
const refusedTokens = 4444

func (f *fake) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	answer("/health", "ok")
	answer("/v1/models", openai.ModelList{Object: "list", Data: []openai.Model{{ID: "fake", Object: "model", OwnedBy: "treeline"}}})
	answer("/server_info", map[string]any{
		"version": "fake-1", "model_path": "fake", "speculative_algorithm": f.method,
		"treeline": map[string]any{"version": "fake-1", "pid": os.Getpid(), "start_time_unix_ns": time.Now().UnixNano()},
	})
	mux.HandleFunc("/metrics", f.metrics)
	mux.HandleFunc("/v1/chat/completions", f.chat)
	return mux
}

func (f *fake) metrics(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, v := range map[string]int{
		"sglang:num_running_reqs": 0, "sglang:num_queue_reqs": 0, "sglang:generation_tokens_total": f.generated,
		"treeline:spec_drafts_total": f.drafts, "treeline:spec_draft_tokens_total": 4 * f.drafts,
		"treeline:spec_accepted_tokens_total": 2 * f.drafts, "treeline:decode_passes_total": f.rounds,
	} {
		fmt.Fprintf(w, "%s{model_name=\"fake\"} %d\n", name, v)
	}
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	var req openai.ChatRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || *req.MaxTokens == refusedTokens {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.requests++
	if f.dieAt > 0 && f.requests >= f.dieAt {
		fmt.Println("RuntimeError: the fake died as told")
		os.Exit(3)
	}
	f.generated += f.tokens
	if f.method == "" {
		f.rounds += f.tokens
	} else {
		f.rounds += f.tokens / 3
		f.drafts += f.tokens / 3
	}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	h := fnv.New32a()
	fmt.Fprint(h, req.Messages)
	if f.diverge {
		fmt.Fprint(h, os.Getpid())
	}
	next := time.Now()
	for i := range f.tokens {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%x \"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d}}\n\n", h.Sum32()+uint32(i), i+1)
		_ = http.NewResponseController(w).Flush()
		next = next.Add(f.tpot) // from the plan, not from the end of the last sleep: sleeps are late, their sum is not
		time.Sleep(time.Until(next))
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n")
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", f.tokens, f.tokens+5)
}
