package target

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/targettest"
	"treeline/internal/sharedtest"
)

func TestNormalizeURL(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"http://h:1", "http://h:1"},
		{"http://h:1/", "http://h:1"},
		{"http://h:1/v1", "http://h:1"},
		{"http://h:1/v1/", "http://h:1"},
		{"h:1", "http://h:1"},
		{"h:1/v1/chat/completions", "http://h:1"},
		{"https://h/api/v1", "https://h/api"},
		{" http://h/v1/models ", "http://h"},
	} {
		if got, err := NormalizeURL(tt.in); got != tt.want || err != nil {
			t.Errorf("NormalizeURL(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "ftp://h", "http://", "http:///v1", "http://h?x=1", "a b"} {
		if got, err := NormalizeURL(bad); err == nil {
			t.Errorf("NormalizeURL(%q) = %q, want an error", bad, got)
		}
	}
}

// pages serves fixed answers by path.
func pages(t *testing.T, answers map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"detail":"Not Found"}`)
			return
		}
		if strings.HasPrefix(text, "HTTP/") {
			// The recordings' paths were scrubbed, so their Content-Length is off: take head and body apart by hand.
			head, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
			status := 0
			fmt.Sscanf(head, "HTTP/1.1 %d", &status)
			for _, line := range strings.Split(head, "\n")[1:] {
				if k, v, _ := strings.Cut(line, ": "); k == "Content-Type" || k == "content-type" || k == "Server" || k == "server" {
					w.Header().Set(k, v)
				}
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
			return
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// recorded serves the GET answers and the metrics of a recording.
func recorded(t *testing.T, folder string, more map[string]string) string {
	t.Helper()
	dir := filepath.Join(sharedtest.Dir(t), "recordings", folder)
	answers := map[string]string{}
	for path, file := range map[string]string{
		"/v1/models": "v1_models.txt", "/server_info": "server_info.txt", "/version": "version.txt", "/props": "props.txt", "/slots": "slots.txt", "/openapi.json": "openapi.json.txt",
	} {
		b, err := os.ReadFile(filepath.Join(dir, "get", file))
		if err != nil {
			t.Fatal(err)
		}
		answers[path] = string(b)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "metrics_after.txt")); err == nil {
		answers["/metrics"] = string(b)
	}
	for path, text := range more {
		answers[path] = text
	}
	return pages(t, answers)
}

func TestRecordedServers(t *testing.T) {
	busySlots := func(folder string) map[string]string {
		b, err := os.ReadFile(filepath.Join(sharedtest.Dir(t), "recordings", folder, "inflight", "slots.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"/slots": string(b)}
	}
	tests := []struct {
		name, folder                     string
		more                             map[string]string
		model                            string
		kind, version, method, wantModel string
		counters                         Counters
		idle                             string // "idle", "busy", "unknown"
	}{
		{
			"llama.cpp plain", "llamacpp-b11549-ar", nil, "", LlamaCpp, "b0-unknown", "none", "SmolLM2-135M-Instruct",
			Counters{Generated: 2149, Prompt: 83, Drafts: 0, Drafted: 0, Accepted: 0},
			"idle",
		},
		{
			"llama.cpp before its first task", "llamacpp-b11549-ngram", nil, "", LlamaCpp, "b0-unknown", "unknown", "SmolLM2-135M-Instruct",
			Counters{Generated: 2021, Prompt: 82, Drafts: 129, Drafted: 641, Accepted: 71},
			"idle",
		},
		{"llama.cpp with n-grams, at work", "llamacpp-b11549-ngram", busySlots("llamacpp-b11549-ngram"), "", LlamaCpp, "b0-unknown", "ngram", "SmolLM2-135M-Instruct", nil, "busy"},
		{"llama.cpp with a draft model, at work", "llamacpp-b11549-draft", busySlots("llamacpp-b11549-draft"), "", LlamaCpp, "b0-unknown", "draft", "SmolLM2-135M-Instruct", nil, "busy"},
		{
			"vLLM plain", "vllm-0.32.0-ar", nil, "", VLLM, "0.32.0", "none", "SmolLM2-135M-Instruct",
			Counters{Generated: 1581, Prompt: 1162, Requests: 27},
			"idle",
		},
		{
			"vLLM with n-grams", "vllm-0.32.0-ngram", nil, "", VLLM, "0.32.0", "unknown", "SmolLM2-135M-Instruct",
			Counters{Generated: 1581, Prompt: 1162, Requests: 27, Drafts: 230, Drafted: 1150, Accepted: 132},
			"idle",
		},
		{"SGLang plain", "sglang-0.5.23", nil, "", SGLang, "0.5.23", "none", "SmolLM2-135M-Instruct", nil, "idle"},
		{"transformers", "transformers-5.19.0", nil, "/models/x", Transformers, "", "unknown", "/models/x", Counters{}, "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Identify(t.Context(), Options{URL: recorded(t, tt.folder, tt.more) + "/v1", Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			if s.Kind != tt.kind || s.Version != tt.version || s.Configured != tt.method || s.Model != tt.wantModel {
				t.Errorf("got kind %s, version %s, method %s, model %s (%s)\nwant %s, %s, %s, %s", s.Kind, s.Version, s.Configured, s.Model, s.Evidence, tt.kind, tt.version, tt.method, tt.wantModel)
			}
			sc, err := s.Scrape(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.counters, sc.Counters); tt.counters != nil && diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			if got := idleWord(t, s); got != tt.idle {
				t.Errorf("idle check says %s, want %s", got, tt.idle)
			}
		})
	}
}

func idleWord(t *testing.T, s *Server) string {
	t.Helper()
	i, err := s.Idle(t.Context(), time.Millisecond)
	switch {
	case err != nil:
		t.Fatal(err)
	case !i.Known:
		return "unknown"
	case i.Idle:
		return "idle"
	}
	return "busy"
}

func TestTreeline(t *testing.T) {
	st := targettest.Start(t, targettest.Options{Method: "NGRAM"})
	s, err := Identify(t.Context(), Options{URL: st.URL})
	if err != nil {
		t.Fatal(err)
	}
	if s.Kind != Treeline || s.Configured != "ngram" || s.Start != "pid 41 started at 1041 ns" || s.PID != 41 || s.MaxLen != 4096 {
		t.Errorf("got %+v", s)
	}
	st.Restart()
	if err := s.Refresh(t.Context()); err != nil || s.Start != "pid 42 started at 1042 ns" {
		t.Errorf("after a restart: start %q, error %v", s.Start, err)
	}
	busy := targettest.Start(t, targettest.Options{Busy: 2})
	s, err = Identify(t.Context(), Options{URL: busy.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got := idleWord(t, s); got != "busy" {
		t.Errorf("idle check says %s, want busy", got)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	status := func(code int, kind, body string) string {
		return pages(t, map[string]string{"/v1/models": fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", code, kind, len(body), body)})
	}
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"nobody listens", Options{URL: closed}, "is the server running"},
		{"a web page", Options{URL: status(200, "text/html", "<html><body>hello</body></html>")}, "web page"},
		{"a login page", Options{URL: status(404, "text/html", "<!DOCTYPE html>")}, "web page"},
		{"key needed", Options{URL: status(401, "application/json", `{"error":"no"}`)}, "--api-key"},
		{"still loading", Options{URL: status(503, "application/json", `{"error":{"code":503,"message":"Loading model"}}`)}, "still starting"},
		{"something else", Options{URL: status(200, "application/json", `{"hello":"world"}`)}, "no OpenAI API"},
		{"nothing there", Options{URL: pages(t, nil)}, "no OpenAI API"},
		{"unknown model", Options{URL: targettest.Start(t, targettest.Options{}).URL, Model: "other"}, `does not have model "other"; it has stand-in`},
		{"unknown kind", Options{URL: "h", Kind: "foo"}, "use treeline, llamacpp"},
		{"no model listed", Options{URL: status(200, "application/json", `{"object":"list","data":[]}`)}, "--model"},
		{"no address", Options{}, "no address given"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Identify(t.Context(), tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestGenericBehindProxy(t *testing.T) {
	url := pages(t, map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"someone"}]}`})
	s, err := Identify(t.Context(), Options{URL: url})
	if err != nil || s.Kind != Generic || s.Configured != MethodUnknown || s.Extras() != nil {
		t.Fatalf("got %+v, %v", s, err)
	}
	if sc, err := s.Scrape(t.Context()); err != nil || sc.Has() || s.TellsSpeculation(sc) {
		t.Errorf("scrape %+v, %v", sc, err)
	}
}

func TestSGLangMethods(t *testing.T) {
	str := func(s string) *string { return &s }
	for _, tt := range []struct {
		info serverInfo
		want string
	}{
		{serverInfo{}, "none"},
		{serverInfo{Algorithm: str("EAGLE"), ModelPath: "m"}, "nextn"},
		{serverInfo{Algorithm: str("EAGLE"), ModelPath: "m", DraftPath: str("m")}, "nextn"},
		{serverInfo{Algorithm: str("EAGLE"), ModelPath: "m", DraftPath: str("d")}, "eagle"},
		{serverInfo{Algorithm: str("NEXTN")}, "nextn"},
		{serverInfo{Algorithm: str("EAGLE3"), DraftPath: str("d")}, "eagle3"},
		{serverInfo{Algorithm: str("STANDALONE"), DraftPath: str("d")}, "draft"},
		{serverInfo{Algorithm: str("DFLASH")}, "dflash"},
		{serverInfo{Algorithm: str("DFLASH"), DDTree: true}, "ddtree"},
		{serverInfo{Algorithm: str("DDTREE")}, "ddtree"},
		{serverInfo{Algorithm: str("NGRAM")}, "ngram"},
		{serverInfo{Algorithm: str("GRAFT")}, "graft"},
		{serverInfo{Algorithm: str("PLUGIN")}, "unknown"},
	} {
		if got := tt.info.method(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.info.evidence(), got, tt.want)
		}
	}
}

func TestVLLMDeveloperMode(t *testing.T) {
	models := `{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}`
	for text, want := range map[string]string{
		`{"vllm_config":{"speculative_config":{"method":"mtp","num_speculative_tokens":3}}}`: "nextn",
		`{"vllm_config":{"speculative_config":null}}`:                                        "none",
		`{"vllm_config":{"speculative_config":{"method":"medusa"}}}`:                         "unknown",
	} {
		s, err := Identify(t.Context(), Options{URL: pages(t, map[string]string{"/v1/models": models, "/server_info": text})})
		if err != nil || s.Configured != want {
			t.Errorf("%s: got %s, %v; want %s", text, s.Configured, err, want)
		}
	}
}

func TestSGLangLoads(t *testing.T) {
	url := pages(t, map[string]string{
		"/v1/models":   `{"object":"list","data":[{"id":"m","owned_by":"sglang"}]}`,
		"/server_info": `{"version":"1","speculative_algorithm":null}`,
		"/v1/loads":    `{"loads":[{"num_running_reqs":0,"num_waiting_reqs":0,"queues":{"waiting":0,"grammar":0}},{"num_running_reqs":0,"num_waiting_reqs":0,"queues":{"retracted":1}}]}`,
	})
	s, err := Identify(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if got := idleWord(t, s); got != "busy" {
		t.Errorf("one retracted request on rank 1: %s, want busy", got)
	}
}

func TestScrapeThatIsNoMetrics(t *testing.T) {
	st := targettest.Start(t, targettest.Options{Handlers: map[string]http.HandlerFunc{
		"/metrics": func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte("<p>"), 3)) },
	}})
	s, err := Identify(t.Context(), Options{URL: st.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Scrape(t.Context()); err == nil || !strings.Contains(err.Error(), st.URL) {
		t.Errorf("got error %v, want one that names the server", err)
	}
}
