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
)

// errIdle is the cause of a request cancelled by the watchdog.
var errIdle = errors.New("idle limit passed")

// errWindow is the cause of the end of requests in flight when a window with a hard end closes.
var errWindow = errors.New("the time is up")

// doneGrace is how long a stream whose connection is to be used again may stay open after [DONE].
const doneGrace = 250 * time.Millisecond

// block is a piece of a body being filled. A read goes straight into it; what is full is handed on, so that a stream
// needs no more than one.
type block struct{ record.Piece }

// blockSize holds two full reads.
const blockSize = 2 * readBuffer

var blocks = sync.Pool{New: func() any {
	return &block{record.Piece{Bytes: make([]byte, 0, blockSize), Reads: make([]record.Read, 0, blockSize/128)}}
}}

// free gives a block back for use by other streams.
func (b *block) free() {
	b.Bytes, b.Reads = b.Bytes[:0], b.Reads[:0]
	blocks.Put(b)
}

// stamps are written by httptrace's callbacks, which may run in other goroutines and after the request is over.
type stamps struct {
	conn, wrote atomic.Int64
	reused      atomic.Bool
}

// Do sends body to the chat endpoint, fills in r's stamps of the request, and returns the answer as it arrived. It
// never fails: what went wrong is in the stream. r's stamps that did not happen are -1.
func (c *Client) Do(ctx context.Context, body []byte, r *record.Request) *record.Stream {
	var whole record.Stream
	s := c.do(ctx, body, r, func(_ *record.Stream, b *block) {
		whole.Append(b.Piece)
		b.free()
	})
	s.Reads, s.Body = whole.Reads, whole.Body
	return s
}

// do is Do for a stream that is handed on piece by piece: take gets the stream with its header, and owns the block.
func (c *Client) do(ctx context.Context, body []byte, r *record.Request, take func(*record.Stream, *block)) *record.Stream {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := newWatchdog(c.o.Idle, c.Now, func() { cancel(errIdle) })
	defer watchdog.stop()

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
		c.drain(ctx, res, s, take, watchdog, cancel)
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

// drain is the hot path: read, stamp, and hand on what is full.
func (c *Client) drain(ctx context.Context, res *http.Response, s *record.Stream, take func(*record.Stream, *block), watchdog *watchdog, cancel context.CancelCauseFunc) {
	s.Proto = res.Proto
	s.Status, s.ContentType, s.Encoding = res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Content-Encoding")
	b := blocks.Get().(*block)
	defer func() { take(s, b) }()
	var mark doneMark
	for {
		if cap(b.Bytes)-len(b.Bytes) < readBuffer {
			take(s, b)
			b = blocks.Get().(*block)
		}
		room := b.Bytes[len(b.Bytes) : len(b.Bytes)+readBuffer]
		n, err := res.Body.Read(room)
		now := c.Now()
		if n > 0 {
			b.Bytes = b.Bytes[:len(b.Bytes)+n]
			b.Reads = append(b.Reads, record.Read{At: now, N: n})
			watchdog.seen(now)
		}
		if err != nil {
			c.end(ctx, s, err, mark.seen, now)
			return
		}
		if !mark.seen && mark.find(room[:n]) {
			if !c.o.Reuse { // nothing comes after it that anybody waits for
				s.End, s.EndAt = record.EndDone, now
				return
			}
			watchdog.stop()
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
