package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"treeline/internal/measure/record"
	"treeline/internal/wire/sse"
)

// errIdle is the cause of a request cancelled by the watchdog.
var errIdle = errors.New("idle limit passed")

// errWindow is the cause of the end of requests in flight when a window with a hard end closes.
var errWindow = errors.New("the time is up")

// doneGrace is how long a stream whose connection is to be used again may stay open after [DONE].
const doneGrace = 250 * time.Millisecond

var buffers = sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }}

// stamps are written by httptrace's callbacks, which may run in other goroutines and after the request is over.
type stamps struct {
	conn, wrote atomic.Int64
	reused      atomic.Bool
}

// Do sends body to the chat endpoint, fills in r's stamps of the request, and returns the answer as it arrived. It
// never fails: what went wrong is in the stream. r's stamps that did not happen are -1.
func (c *Client) Do(ctx context.Context, body []byte, r *record.Request) *record.Stream {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.o.Idle, func() { cancel(errIdle) })
	defer watchdog.Stop()

	var at stamps
	at.conn.Store(-1)
	at.wrote.Store(-1)
	r.Call = c.Now()
	if r.Sched == 0 {
		r.Sched = r.Call
	}
	r.Header = -1
	s := &record.Stream{EndAt: -1}
	res, err := c.send(ctx, body, &at)
	if err == nil {
		r.Header = c.Now() // not httptrace's first byte, which may be that of a 1xx response
		c.drain(ctx, res, s, watchdog, cancel)
		res.Body.Close()
	} else {
		s.End, s.Error, s.EndAt = record.EndError, errorLine(ctx, err, c.o.Idle), c.Now()
		s.Class = failureClass(ctx, at.conn.Load() >= 0)
		if errors.Is(context.Cause(ctx), errWindow) {
			s.End, s.Class = record.EndWindow, ""
		}
	}
	r.Conn, r.Wrote, r.Reused = at.conn.Load(), at.wrote.Load(), at.reused.Load()
	return s
}

func (c *Client) send(ctx context.Context, body []byte, at *stamps) (*http.Response, error) {
	trace := &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			at.conn.Store(c.Now())
			at.reused.Store(i.Reused)
		},
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				at.wrote.Store(c.Now())
			}
		},
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost,
		c.o.Base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // without it the transport cannot send the body a second time
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "treeline")
	if c.o.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.APIKey)
	}
	return c.transport.RoundTrip(req)
}

// drain is the hot path: read, stamp, copy.
func (c *Client) drain(ctx context.Context, res *http.Response, s *record.Stream, watchdog *time.Timer, cancel context.CancelCauseFunc) {
	s.Proto = res.Proto
	s.Status, s.ContentType, s.Encoding = res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Content-Encoding")
	s.Body = make([]byte, 0, 64<<10)
	s.Reads = make([]record.Read, 0, 256)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	done := false
	for {
		n, err := res.Body.Read(*buf)
		now := c.Now()
		if n > 0 {
			s.Body = append(s.Body, (*buf)[:n]...)
			s.Reads = append(s.Reads, record.Read{At: now, N: n})
			if !done {
				watchdog.Reset(c.o.Idle)
			}
		}
		if err != nil {
			c.end(ctx, s, err, done, now)
			return
		}
		if !done && mayEnd(s.Body, n) && ends(s) {
			done = true
			if !c.o.Reuse { // nothing comes after it that anybody waits for
				s.End, s.EndAt = record.EndDone, now
				return
			}
			watchdog.Stop()
			closer := time.AfterFunc(doneGrace, func() { cancel(nil) })
			defer closer.Stop()
		}
	}
}

func (c *Client) end(ctx context.Context, s *record.Stream, err error, done bool, now int64) {
	s.EndAt = now
	switch {
	case errors.Is(err, io.EOF):
		s.End = record.EndEOF
	case done:
		s.End = record.EndDone
	case errors.Is(context.Cause(ctx), errWindow):
		s.End, s.Error = record.EndWindow, "in flight when the time was up"
	case errors.Is(context.Cause(ctx), errIdle):
		s.End, s.Error = record.EndTimeout, errorLine(ctx, err, c.o.Idle)
	case ctx.Err() != nil:
		s.End, s.Error = record.EndCancelled, "stopped by us"
	default:
		s.End, s.Error = record.EndError, fmt.Sprintf("the connection broke: %v", err)
	}
}

// mayEnd is the cheap test on every read: is [DONE] in what the last read brought, or across its beginning?
func mayEnd(body []byte, n int) bool {
	const mark = "[DONE]"
	from := max(0, len(body)-n-len(mark)+1)
	return bytes.Contains(body[from:], []byte(mark))
}

// ends is the true test, made only when mayEnd says so: a model may well write [DONE] itself.
func ends(s *record.Stream) bool {
	var p sse.Parser
	done := false
	p.Feed(s.Body, 0, 0, func(e sse.Event) { done = done || string(bytes.TrimSpace(e.Data)) == "[DONE]" })
	return done
}

func failureClass(ctx context.Context, connected bool) string {
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		return record.ClassTimeout
	case ctx.Err() != nil:
		return record.ClassCancelled
	case connected:
		return record.ClassTransport
	}
	return record.ClassConnect
}

func errorLine(ctx context.Context, err error, idle time.Duration) string {
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		return fmt.Sprintf("nothing arrived for %v", idle)
	case ctx.Err() != nil:
		return "stopped by us"
	}
	return err.Error()
}
