package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/engine"
)

func TestBusy(t *testing.T) {
	f := serve(t, fixtureOptions{delay: 5 * time.Millisecond, engine: engine.Options{MaxRunning: 1, MaxQueue: 1}})
	done := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { done <- struct{}{} }()
			http.Post(f.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a","max_tokens":60,"ignore_eos":true}`))
		}()
	}
	waitFor(t, func() bool { c := f.engine.Counters(); return c.Running == 1 && c.Queued == 1 })
	status, b, h := f.call(t, "POST", "/v1/completions", `{"prompt":"a"}`)
	if status != 503 || !bytes.Contains(b, []byte(`"overloaded"`)) || h.Get("Retry-After") == "" {
		t.Errorf("third request: %d %s, want 503 overloaded", status, b)
	}
	<-done
	<-done
}

// waitFor polls a condition; it fails the test after five seconds.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the condition did not come true in five seconds")
}

// openStream starts a long streamed answer and reads its first line.
func (f *fixture) openStream(t *testing.T, maxTokens string) (*bufio.Reader, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", f.url+"/v1/completions", strings.NewReader(`{"prompt":"a","ignore_eos":true,"stream":true,"max_tokens":`+maxTokens+`}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: {") {
		t.Fatalf("first line %q, %v", line, err)
	}
	return r, cancel
}

func TestDisconnectFreesTheSlot(t *testing.T) {
	f := serve(t, fixtureOptions{delay: 2 * time.Millisecond, engine: engine.Options{MaxRunning: 1}})
	_, cancel := f.openStream(t, "500")
	if c := f.engine.Counters(); c.Running != 1 {
		t.Fatalf("counters %+v, want one running", c)
	}
	cancel()
	waitFor(t, func() bool { c := f.engine.Counters(); return c.Running == 0 && c.Aborted == 1 })
	f.ask(t, "/v1/completions", `{"prompt":"a","max_tokens":2}`)
}

func TestDrain(t *testing.T) {
	f := serve(t, fixtureOptions{delay: time.Millisecond})
	r, cancel := f.openStream(t, "60")
	defer cancel()
	f.Drain()
	if status, b, _ := f.call(t, "POST", "/v1/completions", `{"prompt":"a"}`); status != 503 || !bytes.Contains(b, []byte("shutting_down")) {
		t.Errorf("request while draining: %d %s", status, b)
	}
	if status, b, _ := f.call(t, "GET", "/health", ""); status != 503 || !bytes.Contains(b, []byte("draining")) {
		t.Errorf("/health while draining: %d %s", status, b)
	}
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("the running stream ended with %q, %v", rest[max(0, len(rest)-60):], err)
	}
}

func TestSlowReaderHoldsNoSlot(t *testing.T) {
	f := serve(t, fixtureOptions{engine: engine.Options{MaxRunning: 1}})
	r, cancel := f.openStream(t, "400")
	defer cancel()
	waitFor(t, func() bool { return f.engine.Counters().Running == 0 })
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("the stream read late ended with %q, %v", rest[max(0, len(rest)-60):], err)
	}
}

func TestLoading(t *testing.T) {
	s := New(Options{Model: "fake"})
	for path, want := range map[string]int{"/health": 503, "/v1/models": 503, "/server_info": 503, "/metrics": 200} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s while loading: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
}
