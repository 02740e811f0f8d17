package simserver

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ClockRequest is the body of a request in mode clock: how many events to send, how fast, and how large.
type ClockRequest struct {
	Events int           `json:"events"`
	Gap    time.Duration `json:"gap_ns"`   // between two events of this stream
	Delay  time.Duration `json:"delay_ns"` // before the first one, from the arrival of the request
	Bytes  int           `json:"bytes"`    // of an event, at least; 0 means 220
}

// ClockEnd is what a stream of mode clock says at its end about the sender itself, in the member "clock" of the last
// chunk: events that were sent more than two milliseconds after they were due, and the worst of them.
type ClockEnd struct {
	Late    int   `json:"late"`
	WorstNS int64 `json:"worst_ns"`
}

// lateBy is how late an event may be before it counts as late. Go's timers alone are late by up to a millisecond in an
// idle process.
const lateBy = 2 * time.Millisecond

// tick answers a request of mode clock: it hands the connection to the one driver that serves all streams, and waits
// until it is done with it.
func (s *Server) tick(w *reply, body []byte) error {
	var req ClockRequest
	if err := json.Unmarshal(body, &req); err != nil || req.Events < 1 || req.Gap < 0 || req.Events > 1<<24 {
		return w.fail(http.StatusBadRequest, `mode clock wants {"events": N, "gap_ns": N, "delay_ns": N, "bytes": N}`)
	}
	if err := w.events(); err != nil {
		return err
	}
	st := &ticker{conn: w.conn, due: s.now() + req.Delay, gap: req.Gap, left: req.Events, done: make(chan error, 1)}
	if req.Bytes == 0 {
		req.Bytes = 220
	}
	const form = `data: {"sent_ns":1700000000000000000,"choices":[{"index":0,"delta":{"content":""}}]}` + "\n\n"
	st.tail = `,"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", max(1, req.Bytes-len(form))) + `"}}]}` + "\n\n"
	s.clock.add(s, st)
	if err := <-st.done; err != nil {
		return err
	}
	end, err := json.Marshal(ClockEnd{Late: st.late, WorstNS: int64(st.worst)})
	if err != nil {
		return err
	}
	last := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%d,\"total_tokens\":%d},\"clock\":%s}\n\ndata: [DONE]\n\n",
		req.Events, req.Events+1, end)
	if err := w.chunk([]byte(last)); err != nil {
		return err
	}
	return w.end()
}

// ticker is one stream of mode clock.
type ticker struct {
	conn  net.Conn
	due   time.Duration // of the next event
	gap   time.Duration
	left  int
	late  int
	worst time.Duration
	tail  string
	done  chan error
}

// driver writes the events of all streams from one goroutine with one timer: a goroutine and a timer for each stream
// would cost the machine more than the events do.
type driver struct {
	mu      sync.Mutex
	streams tickers
	wake    chan struct{}
	stopped bool
}

func (d *driver) add(s *Server, t *ticker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		t.done <- errHangUp
		return
	}
	if d.wake == nil {
		d.wake = make(chan struct{}, 1)
		go d.run(s)
	}
	heap.Push(&d.streams, t)
	d.nudge()
}

func (d *driver) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *driver) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	if d.wake != nil {
		d.nudge()
	}
}

// run sends every event when it is due. The stamp is taken directly before the write.
func (d *driver) run(s *Server) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	buf, frame := make([]byte, 0, 1024), make([]byte, 0, 1024)
	for {
		t, wait := d.next(s.now())
		if wait < 0 {
			return
		}
		if t == nil {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-d.wake:
			}
			continue
		}
		now := s.now()
		if by := now - t.due; by > lateBy {
			t.late++
			t.worst = max(t.worst, by)
		}
		buf = append(buf[:0], `data: {"sent_ns":`...)
		buf = strconv.AppendInt(buf, s.wall+int64(now), 10)
		buf = append(buf, t.tail...)
		frame = strconv.AppendInt(frame[:0], int64(len(buf)), 16)
		frame = append(append(append(frame, "\r\n"...), buf...), "\r\n"...)
		_, err := t.conn.Write(frame)
		t.left--
		t.due += t.gap
		if err != nil || t.left == 0 {
			t.done <- err
			continue
		}
		d.mu.Lock()
		heap.Push(&d.streams, t)
		d.mu.Unlock()
	}
}

// next takes the stream that is due, or says how long to wait; a negative wait ends the driver.
func (d *driver) next(now time.Duration) (*ticker, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		for _, t := range d.streams {
			t.done <- errHangUp
		}
		d.streams = nil
		return nil, -1
	}
	if len(d.streams) == 0 {
		return nil, time.Hour
	}
	if wait := d.streams[0].due - now; wait > 0 {
		return nil, wait
	}
	return heap.Pop(&d.streams).(*ticker), 0
}

// tickers is a heap by due time.
type tickers []*ticker

func (h tickers) Len() int           { return len(h) }
func (h tickers) Less(i, j int) bool { return h[i].due < h[j].due }
func (h tickers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is heap's.
func (h *tickers) Push(x any) { *h = append(*h, x.(*ticker)) }

// Pop is heap's.
func (h *tickers) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
