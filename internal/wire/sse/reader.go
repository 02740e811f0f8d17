package sse

import (
	"io"
	"time"
)

// Reader reads events from a stream. The clock is read when Read returns, before a byte is looked at.
type Reader struct {
	r       io.Reader
	now     func() int64
	parser  Parser
	buf     []byte
	pending []Event
	reads   int
	err     error
}

// NewReader reads from r. now gives the stamps; nil means nanoseconds since this call on the monotonic clock.
func NewReader(r io.Reader, now func() int64) *Reader {
	if now == nil {
		start := time.Now()
		now = func() int64 { return int64(time.Since(start)) }
	}
	return &Reader{r: r, now: now, buf: make([]byte, 64<<10)}
}

// Next returns the next event. At the end it returns io.EOF, or the error that broke the stream; an event that the end
// cut off comes before that, marked Truncated.
func (r *Reader) Next() (Event, error) {
	for len(r.pending) == 0 {
		if r.err != nil {
			return Event{}, r.err
		}
		r.fill()
	}
	e := r.pending[0]
	r.pending = r.pending[1:]
	return e, nil
}

// Comments is the number of comment lines read so far.
func (r *Reader) Comments() int { return r.parser.Comments() }

func (r *Reader) fill() {
	n, err := r.r.Read(r.buf)
	at := r.now()
	r.reads++
	keep := func(e Event) { r.pending = append(r.pending, e) }
	if n > 0 {
		if perr := r.parser.Feed(r.buf[:n], at, r.reads, keep); perr != nil {
			r.err = perr
			return
		}
	}
	if err != nil {
		r.parser.at, r.parser.read = at, r.reads
		r.parser.Close(keep)
		r.err = err
	}
}
