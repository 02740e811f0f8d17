package loadgen

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// piece is what a scripted server writes after waiting.
type piece struct {
	after time.Duration
	bytes string
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// scripted is a server of raw bytes behind net.Pipe, so that time can be synctest's. answer is called per request.
type scripted struct {
	answer func(n int, body string) []piece
	hold   time.Duration // how long the connection stays open after the last piece

	mu       sync.Mutex
	requests []string
	headers  []http.Header
	now, top int // requests in flight, and the most there were
}

func (s *scripted) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go s.serve(server)
	return client, nil
}

func (s *scripted) serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, _ := io.ReadAll(req.Body)
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, string(body))
	s.headers = append(s.headers, req.Header)
	s.now++
	s.top = max(s.top, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	for _, p := range s.answer(n, string(body)) {
		time.Sleep(p.after)
		if _, err := io.WriteString(conn, p.bytes); err != nil {
			return
		}
	}
	time.Sleep(s.hold)
}

// seen is the number of requests so far.
func (s *scripted) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// most is the largest number of requests that were in flight at a time.
func (s *scripted) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.top
}

func content(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

const (
	finish  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	doneTag = "data: [DONE]\n\n"
)

// steady answers with n tokens, gap apart.
func steady(n int, gap time.Duration) func(int, string) []piece {
	return func(int, string) []piece {
		out := []piece{{0, streamHead}}
		for range n {
			out = append(out, piece{gap, content("x")})
		}
		return append(out, piece{0, finish + doneTag})
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func repeat(s string, n int) string { return strings.Repeat(s, n) }
