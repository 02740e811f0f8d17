package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/engine/enginetest"
)

// runServer runs a server that loads when told to. stop ends it; result is what Run returned.
func runServer(t *testing.T, drain time.Duration, delay time.Duration) (url string, load chan error, ready chan struct{}, stop func(), result chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Model: "fake"})
	ctx, cancel := context.WithCancel(context.Background())
	load, ready, result = make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		result <- s.Run(ctx, RunOptions{
			Listener: ln, Drain: drain, Ready: func() { close(ready) },
			Load: func() (*Backend, error) {
				if err := <-load; err != nil {
					return nil, err
				}
				r := enginetest.NewRunner()
				r.Delay = func(int) time.Duration { return delay }
				e, err := engine.New(r, engine.Options{MaxQueue: 4, NewText: func() engine.Detokenizer { return enginetest.Text{}.NewStream() }})
				return &Backend{Engine: e, Text: enginetest.Text{}}, err
			},
		})
	}()
	t.Cleanup(cancel)
	return "http://" + ln.Addr().String(), load, ready, cancel, result
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func await(t *testing.T, result chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("Run did not return")
		return nil
	}
}

func TestRunLoadsThenDrains(t *testing.T) {
	url, load, ready, stop, result := runServer(t, 5*time.Second, time.Millisecond)
	if got := status(t, url+"/health"); got != 503 {
		t.Errorf("/health while loading: %d, want 503", got)
	}
	load <- nil
	<-ready
	if got := status(t, url+"/health"); got != 200 {
		t.Errorf("/health when ready: %d, want 200", got)
	}
	resp, err := http.Post(url+"/v1/completions", "", strings.NewReader(`{"prompt":"a","max_tokens":80,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	b, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.HasSuffix(b, []byte("[DONE]\n\n")) {
		t.Errorf("the running answer ended with %q, %v", b[max(0, len(b)-40):], err)
	}
	if err := await(t, result); err != nil {
		t.Errorf("Run = %v, want nil after a drain", err)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("the server still accepts connections")
	}
}

func TestRunCutsOffAfterTheLimit(t *testing.T) {
	url, load, ready, stop, result := runServer(t, 20*time.Millisecond, 5*time.Millisecond)
	load <- nil
	<-ready
	resp, err := http.Post(url+"/v1/completions", "", strings.NewReader(`{"prompt":"a","max_tokens":500,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	if err := await(t, result); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if b, err := io.ReadAll(resp.Body); err == nil && bytes.HasSuffix(b, []byte("[DONE]\n\n")) {
		t.Error("an answer that was cut off looks complete")
	}
}

func TestRunLoadFails(t *testing.T) {
	_, load, _, _, result := runServer(t, time.Second, 0)
	want := errors.New("read model x.gguf: no")
	load <- want
	if err := await(t, result); !errors.Is(err, want) {
		t.Errorf("Run = %v, want the loader's error", err)
	}
}

func TestRunStoppedWhileLoading(t *testing.T) {
	_, _, _, stop, result := runServer(t, time.Second, 0)
	stop()
	if err := await(t, result); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
}
