// Package simserver is a server of known truth: it speaks the OpenAI API and, under the names of a server of the
// field, tells what it is and counts what it does, but its answers follow a law or a transcript whose times are fixed
// beforehand. Tests, the certification of the client, the calibration of the statistics and users who try a plan
// measure it.
//
// It is no model and no engine; the serving half is elsewhere. It writes to raw connections, so that what arrives is
// what was written when it was written, and works over net.Pipe in a synctest bubble as over TCP.
package simserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves one spec. Make it with New.
type Server struct {
	spec  Spec
	epoch time.Time // of all stamps
	wall  int64     // the epoch in Unix nanoseconds, read once
	slots chan struct{}
	clock driver

	mu     sync.Mutex
	count  counters
	truth  []Truth
	number int // of the next generating request
	cached map[string]bool
	play   int           // transcripts played
	quit   chan struct{} // closed by Close
	open   map[net.Conn]bool
	conns  sync.WaitGroup
	listen []net.Listener

	scripts []Transcript
}

// New makes a server. Scripts are read now, so that their faults are told before anything is served.
func New(spec Spec) (*Server, error) {
	now := time.Now()
	s := &Server{spec: spec, epoch: now, wall: now.UnixNano(), cached: map[string]bool{}, open: map[net.Conn]bool{}, quit: make(chan struct{})}
	if spec.Slots > 0 {
		s.slots = make(chan struct{}, spec.Slots)
	}
	if spec.Spec != nil {
		s.count.perPos = make([]int, len(spec.Spec.Accept))
	}
	if spec.Mode == ModeScript {
		if err := s.loadScripts(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// now is the time since the server was made.
func (s *Server) now() time.Duration { return time.Since(s.epoch) }

// Serve answers connections until Close.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listen = append(s.listen, l)
	s.mu.Unlock()
	for {
		conn, err := l.Accept()
		if err != nil {
			if s.closed() {
				return nil
			}
			return fmt.Errorf("serve simulated server: %w", err)
		}
		go s.ServeConn(conn)
	}
}

// Close ends all connections and waits for their ends.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed() {
		close(s.quit)
	}
	for _, l := range s.listen {
		l.Close()
	}
	for conn := range s.open {
		conn.Close()
	}
	s.mu.Unlock()
	s.conns.Wait()
	s.clock.stop()
}

func (s *Server) closed() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// ServeConn answers the requests of one connection until it ends.
func (s *Server) ServeConn(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	if s.closed() {
		s.mu.Unlock()
		return
	}
	s.open[conn] = true
	s.conns.Add(1)
	s.mu.Unlock()
	defer s.conns.Done()
	defer func() {
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	r := bufio.NewReaderSize(conn, 4<<10)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, 64<<20))
		if err != nil {
			return
		}
		w := &reply{conn: conn, keep: !req.Close}
		if err := s.route(w, req, body); err != nil || !w.keep {
			return
		}
	}
}

// errHangUp ends a connection on purpose.
var errHangUp = errors.New("hang up")

func (s *Server) route(w *reply, req *http.Request, body []byte) error {
	switch req.URL.Path {
	case "/v1/chat/completions", "/v1/completions":
		if req.Method != http.MethodPost {
			return w.fail(http.StatusMethodNotAllowed, "use POST")
		}
		switch s.spec.Mode {
		case ModeScript:
			return s.playNext(w)
		case ModeClock:
			return s.tick(w, body)
		}
		return s.complete(w, req, body)
	case "/truth":
		return w.json(http.StatusOK, s.Truth())
	case "/health", "/ping":
		return w.send(http.StatusOK, "text/plain", nil)
	case "/v1/models":
		return w.json(http.StatusOK, s.models())
	case "/flush_cache", "/reset_prefix_cache":
		s.flush()
		return w.json(http.StatusOK, map[string]bool{"success": true})
	}
	if known, err := s.identity(w, req.URL.Path); known {
		return err
	}
	return w.fail(http.StatusNotFound, "no such path")
}

func (s *Server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.cached)
}

// wait sleeps until a moment of the server's own time, or until Close.
func (s *Server) wait(until time.Duration) {
	d := until - s.now()
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.quit:
	}
}

// reply writes one answer to a connection.
type reply struct {
	conn net.Conn
	keep bool
	buf  []byte
}

func (w *reply) head(status int, contentType, rest string) {
	w.buf = fmt.Appendf(w.buf[:0], "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", status, http.StatusText(status), contentType, rest)
	if !w.keep {
		w.buf = append(w.buf, "Connection: close\r\n"...)
	}
	w.buf = append(w.buf, "\r\n"...)
}

func (w *reply) send(status int, contentType string, body []byte) error {
	w.head(status, contentType, fmt.Sprintf("Content-Length: %d\r\n", len(body)))
	w.buf = append(w.buf, body...)
	_, err := w.conn.Write(w.buf)
	return err
}

func (w *reply) json(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.send(status, "application/json", b)
}

func (w *reply) fail(status int, text string) error {
	return w.json(status, map[string]any{"error": map[string]any{"message": text, "type": "simulated", "code": status}})
}

// events begins a chunked stream of events.
func (w *reply) events() error {
	w.head(http.StatusOK, "text/event-stream", "Transfer-Encoding: chunked\r\n")
	_, err := w.conn.Write(w.buf)
	return err
}

// chunk writes bytes as one chunk of the body, in one write.
func (w *reply) chunk(b []byte) error {
	w.buf = fmt.Appendf(w.buf[:0], "%x\r\n", len(b))
	w.buf = append(append(w.buf, b...), "\r\n"...)
	_, err := w.conn.Write(w.buf)
	return err
}

func (w *reply) end() error {
	_, err := io.WriteString(w.conn, "0\r\n\r\n")
	return err
}
