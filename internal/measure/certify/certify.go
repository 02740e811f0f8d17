// Package certify measures the measuring: it sends the client of package loadgen to a server in this process whose
// event times are known, at the event rate that is planned, and reports how late the client's stamps are.
//
// The delay includes the kernel's loopback and the scheduler, so it is an upper bound of what the client adds. It is
// taken while the machine is otherwise quiet.
package certify

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
)

// MaxMedianMS is the largest median delay of a certified client.
const MaxMedianMS = 0.1

// minRateShare is the share of the planned event rate that must have been reached.
const minRateShare = 0.95

// Options say what the client will have to cope with.
type Options struct {
	EventsPerS float64       // over all streams
	Streams    int           // at the same time
	Duration   time.Duration // of the test
}

// Result is the certificate and the median behind it.
type Result struct {
	record.Client
	MedianMS float64
	Events   int
}

// Run makes the test. It fails only when no loopback server can be opened.
func Run(ctx context.Context, o Options) (Result, error) {
	o.Streams = max(o.Streams, 1)
	perStream := max(int(o.EventsPerS*o.Duration.Seconds())/o.Streams, 1)
	gap := time.Duration(float64(time.Second) * float64(o.Streams) / o.EventsPerS)
	epoch := time.Now()
	s, err := listen(epoch, perStream, gap)
	if err != nil {
		return Result{}, fmt.Errorf("certify the client: %w", err)
	}
	c := loadgen.NewClient(loadgen.ClientOptions{Base: s.url(), Epoch: epoch})
	defer c.Close()

	requests := make([]record.Request, o.Streams)
	var streams sync.WaitGroup
	for i := range requests {
		streams.Go(func() {
			stream := c.Do(ctx, fmt.Appendf(nil, `{"stream":%d}`, i), &requests[i])
			stream.Fill(&requests[i])
		})
	}
	streams.Wait()
	s.close() // every sender has noted its times
	return s.judge(requests, o.EventsPerS), nil
}

// server writes events on raw connections and notes when.
type server struct {
	listener net.Listener
	epoch    time.Time
	events   int
	gap      time.Duration
	mu       sync.Mutex
	sent     map[int][]int64 // by stream
	conns    sync.WaitGroup
}

func listen(epoch time.Time, events int, gap time.Duration) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: l, epoch: epoch, events: events, gap: gap, sent: map[int][]int64{}}
	s.conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() { s.serve(conn) })
		}
	})
	return s, nil
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

func (s *server) close() {
	s.listener.Close()
	s.conns.Wait()
}

const (
	head  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
	event = `data: {"id":"certify","object":"chat.completion.chunk","created":1,"model":"certify","choices":[{"index":0,"delta":{"content":"abcd"},"finish_reason":null}]}` + "\n\n"
	last  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	stream := -1
	if body, err := io.ReadAll(req.Body); err == nil {
		fmt.Sscanf(string(body), `{"stream":%d}`, &stream)
	}
	if _, err := io.WriteString(conn, head); err != nil {
		return
	}
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
	stamps := make([]int64, 0, s.events)
	start := time.Now()
	for i := range s.events {
		time.Sleep(time.Until(start.Add(time.Duration(i) * s.gap)))
		stamps = append(stamps, int64(time.Since(s.epoch)))
		if _, err := conn.Write(chunk); err != nil {
			return
		}
	}
	fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(last), last)
	s.mu.Lock()
	s.sent[stream] = stamps
	s.mu.Unlock()
}

// judge sets the client's stamps against the server's.
func (s *server) judge(requests []record.Request, planned float64) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lags []float64
	from, to := int64(-1), int64(-1)
	for i := range requests {
		sent, n := s.sent[i], 0
		for _, e := range requests[i].Events {
			if !e.Kind.Generates() || n >= len(sent) {
				continue
			}
			lags = append(lags, float64(e.At-sent[n])/1e6)
			if from < 0 || sent[n] < from {
				from = sent[n]
			}
			to = max(to, e.At)
			n++
		}
	}
	if len(lags) < 2 || to <= from {
		return Result{}
	}
	slices.Sort(lags)
	r := Result{MedianMS: lags[len(lags)/2], Events: len(lags)}
	r.EventsPerS = float64(len(lags)-1) / (float64(to-from) / 1e9)
	r.StampLagP99MS = lags[(len(lags)-1)*99/100]
	r.Certified = r.EventsPerS >= minRateShare*planned && r.MedianMS <= MaxMedianMS
	return r
}
