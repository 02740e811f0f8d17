package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	pollEvery   = 25 * time.Millisecond
	pollAtMost  = 500 * time.Millisecond // between two polls of a server that takes long
	pollTimeout = 5 * time.Second        // for one answer: a server that loads may accept and not answer
)

// NotReadyError is a child that runs but did not answer in time.
type NotReadyError struct {
	URL    string
	Waited time.Duration
	Last   string // what the last poll saw
	Log    string
	Lines  []string
}

func (e *NotReadyError) Error() string {
	s := fmt.Sprintf("the server was not ready after %s: GET %s: %s; give it more time (ready_timeout in the plan) or read its log",
		e.Waited.Round(time.Second), e.URL, e.Last)
	for _, line := range e.Lines {
		s += "\n  | " + line
	}
	return s + "\n  whole log: " + e.Log
}

// WaitReady polls until the server at base (http://host:port) answers 200 to GET /health, or, where that path is
// unknown (404), to GET /v1/models. It ends early with an *ExitError when the child ends, with a *NotReadyError
// after timeout, and with ctx's error.
func (s *Server) WaitReady(ctx context.Context, base string, timeout time.Duration) error {
	began := time.Now()
	url := strings.TrimRight(base, "/") + "/health"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for wait := pollEvery; ; wait = min(2*wait, pollAtMost) {
		status, last := poll(ctx, client, url, s.exited)
		switch {
		case status == http.StatusOK && s.ExitError() == nil:
			return nil
		case status == http.StatusNotFound && strings.HasSuffix(url, "/health"):
			url = strings.TrimSuffix(url, "/health") + "/v1/models"
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			return s.ExitError()
		case <-deadline.C:
			return &NotReadyError{URL: url, Waited: time.Since(began), Last: last, Log: s.log, Lines: tellingLines(s.log)}
		case <-time.After(wait):
		}
	}
}

// poll asks once. It gives up when the child ends.
func poll(ctx context.Context, client *http.Client, url string, exited <-chan struct{}) (status int, last string) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	go func() {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := client.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fmt.Sprintf("no answer within %s", pollTimeout)
	} else if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, "HTTP " + resp.Status
}
