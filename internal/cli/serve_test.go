package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/server"
	"treeline/internal/sharedtest"
	"treeline/internal/wire/openai"
)

func TestServeFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--speculative-algorithm", "GRAFT"}, "GRAFT is not available yet"},
		{[]string{"--speculative-algorithm", "magic"}, `"MAGIC": want NONE or NGRAM`},
		{[]string{"--speculative-num-steps", "3"}, "--speculative-num-steps is not available yet"},
		{[]string{"--speculative-num-draft-tokens", "3"}, "needs --speculative-algorithm NGRAM"},
		{[]string{"--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "256"}, "want 1 to 255"},
		{[]string{"--speculative-adaptive", "maybe"}, "want on or off"},
		{[]string{"--dtype", "int3"}, "want auto or float32"},
		{[]string{"--port", "70000"}, "want 0 to 65535"},
		{[]string{"--threads", "65"}, "want 1 to 64"},
		{[]string{"--mem-limit", "lots"}, "512M or 4G"},
		{[]string{"--max-running-requests", "0"}, "at least 1"},
		{[]string{"--ctx-size", "-1"}, "positive"},
		{[]string{"--drain-timeout", "-1s"}, "0 or more"},
	} {
		var errOut bytes.Buffer
		env := &Env{Stdout: io.Discard, Stderr: &errOut, Getenv: func(string) string { return "" }}
		cmd := newServe(env)
		cmd.SetArgs(append(tc.args, "model.gguf"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		var coded codeError
		if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.As(err, &coded) || coded.code != 2 {
			t.Errorf("serve %v: %v, want a usage error with %q", tc.args, err, tc.want)
		}
	}
}

func TestServeFlagsGood(t *testing.T) {
	var f serveFlags
	cmd := newServe(&Env{})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return nil }
	if err := cmd.ParseFlags([]string{"--speculative-algorithm", "ngram", "--mem-limit", "1.5G"}); err != nil {
		t.Fatal(err)
	}
	f = serveFlags{algorithm: "ngram", adaptive: "on", dtype: "auto", maxRunning: 1, prefill: 1, memLimit: "1.5G"}
	if err := f.check(cmd); err != nil || f.algorithm != "NGRAM" {
		t.Errorf("check = %v, algorithm %q", err, f.algorithm)
	}
}

func TestParseBytes(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"", 0, true},
		{"123", 123, true},
		{"512M", 512 << 20, true},
		{"4g", 4 << 30, true},
		{"1.5GiB", 3 << 29, true},
		{"2kb", 2048, true},
		{"-1", 0, false},
		{"0", 0, false},
		{"x", 0, false},
		{"1T", 0, false},
		{"1MM", 0, false},
		{"1e30G", 0, false},
		{"NaN", 0, false},
	} {
		if got, err := parseBytes(tc.in); got != tc.want || (err == nil) != tc.ok {
			t.Errorf("parseBytes(%q) = %d, %v, want %d, ok %v", tc.in, got, err, tc.want, tc.ok)
		}
	}
}

// talk is a writer that can be waited on.
type talk struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *talk) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *talk) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func fakeBackend(delay time.Duration) func(serveFlags, *server.Metrics) (*server.Backend, error) {
	return func(_ serveFlags, m *server.Metrics) (*server.Backend, error) {
		r := enginetest.NewRunner()
		r.Delay = func(int) time.Duration { return delay }
		e, err := engine.New(r, engine.Options{Observe: m, NewText: func() engine.Detokenizer { return enginetest.Text{}.NewStream() }})
		return &server.Backend{Engine: e, Text: enginetest.Text{}, Info: server.Info{ISA: "go", Threads: 3}}, err
	}
}

// startServe runs serve on a free port and waits for its line.
func startServe(t *testing.T, delay time.Duration) (url string, interrupt func(), result chan error) {
	t.Helper()
	w, result := &talk{}, make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		f := serveFlags{path: "some/Model-X.gguf", host: "127.0.0.1", algorithm: "NONE", drain: 10 * time.Second}
		result <- serve(ctx, &Env{Stderr: w}, f, fakeBackend(delay))
	}()
	for range 5000 {
		if line := w.String(); strings.HasSuffix(line, "\n") {
			const before, after = "treeline: serving Model-X on ", " (go, 3 threads, NONE)\n"
			if !strings.HasPrefix(line, before) || !strings.HasSuffix(line, after) {
				t.Fatalf("talk %q, want one line %sURL%s", line, before, after)
			}
			return strings.TrimSuffix(strings.TrimPrefix(line, before), after), cancel, result
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the server did not become ready")
	return "", nil, nil
}

func TestServeDrains(t *testing.T) {
	url, interrupt, result := startServe(t, time.Millisecond)
	resp, err := http.Post(url+"/v1/completions", "", strings.NewReader(`{"prompt":"a","max_tokens":60,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	interrupt()
	if b, err := io.ReadAll(resp.Body); err != nil || !bytes.HasSuffix(b, []byte("[DONE]\n\n")) {
		t.Errorf("the running answer was not finished: %q, %v", b[max(0, len(b)-40):], err)
	}
	if err := <-result; err != nil {
		t.Errorf("serve = %v, want nil after a drain", err)
	}
}

func TestServePortTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f := serveFlags{host: "127.0.0.1", port: ln.Addr().(*net.TCPAddr).Port}
	err = serve(context.Background(), &Env{Stderr: io.Discard}, f, fakeBackend(0))
	if err == nil || !strings.Contains(err.Error(), "choose another --port") || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("serve on a taken port = %v", err)
	}
}

// TestServeTinyModel serves a real, tiny model plainly and with drafts, and in both modes of computing.
func TestServeTinyModel(t *testing.T) {
	path := filepath.Join(sharedtest.Root(t), "internal", "infer", "model", "llama", "testdata", "tiny-llama.q8_0.gguf")
	text := map[string]string{}
	for _, tc := range []struct{ name, algorithm, dtype string }{{"plain", "NONE", "auto"}, {"ngram", "NGRAM", "auto"}, {"float32", "NONE", "float32"}} {
		f := serveFlags{path: path, threads: 2, maxRunning: 2, maxQueue: 2, algorithm: tc.algorithm, adaptive: "off", dtype: tc.dtype, ctx: 200}
		m := server.NewMetrics("tiny")
		b, err := loadBackend(f, m)
		if err != nil {
			t.Fatal(err)
		}
		srv := server.New(server.Options{Model: "tiny", Metrics: m})
		srv.Ready(b)
		w := httptest.NewRecorder()
		body := `{"prompt":"abcabcabc","max_tokens":40,"temperature":0.6,"seed":4,"ignore_eos":true}`
		srv.ServeHTTP(w, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)))
		var r openai.Response
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != 200 || r.Usage.CompletionTokens != 40 {
			t.Fatalf("%s: %d %s", tc.name, w.Code, w.Body)
		}
		text[tc.name] = *r.Choices[0].Text
		if spec := r.Timings.DraftN > 0; spec != (tc.algorithm == "NGRAM") {
			t.Errorf("%s: timings %+v", tc.name, r.Timings)
		}
		if want := map[string]string{"auto": "Q8_0", "float32": "F32"}[tc.dtype]; b.Info.Weights != want {
			t.Errorf("%s: weights %s, want %s", tc.name, b.Info.Weights, want)
		}
		if err := b.Engine.Close(context.Background()); err != nil {
			t.Errorf("%s: close: %v", tc.name, err)
		}
	}
	if text["plain"] != text["ngram"] {
		t.Errorf("NGRAM gave %q\nNONE gave  %q", text["ngram"], text["plain"])
	}
}

func TestServeMemoryLimit(t *testing.T) {
	path := filepath.Join(sharedtest.Root(t), "internal", "infer", "model", "llama", "testdata", "tiny-llama.q8_0.gguf")
	_, err := loadBackend(serveFlags{path: path, memLimit: "100K", algorithm: "NONE"}, server.NewMetrics("tiny"))
	if err == nil || !strings.Contains(err.Error(), "memory limit") || !strings.Contains(err.Error(), path) {
		t.Errorf("loadBackend with 100K = %v, want an error that names the file and the limit", err)
	}
}
