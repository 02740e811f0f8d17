// Package loadgen sends requests and catches what comes back: closed loops with a fixed number of requests in flight,
// and open loops on a schedule fixed beforehand. Its hot path does two things with a read, stamp it and keep it;
// parsing is done in another goroutine, by record.Filler.
//
// It has no metrics and no opinion. A failed request is a result: nothing is retried and no redirect is followed.
package loadgen

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// DefaultIdle is how long a stream may be silent before it counts as dead. There is no limit on a request's whole
// duration: a long generation is not an error.
const DefaultIdle = 2 * time.Minute

// readBuffer is the most that one read brings: more than a burst of speculation, and small enough for thousands of
// streams.
const readBuffer = 8 << 10

// ClientOptions say whom to talk to and how.
type ClientOptions struct {
	Base   string        // address of the server without /v1, such as http://127.0.0.1:8080; a path before /v1 is kept
	APIKey string        // "" sends none
	Idle   time.Duration // longest silence in a stream; 0 means DefaultIdle
	Epoch  time.Time     // zero of all stamps, from time.Now of this process; a time without its monotonic reading is replaced
	// Dial replaces the TCP dialler; nil means the usual one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	TLS   *tls.Config // nil means the system's roots
	HTTP2 bool        // offer HTTP/2 over TLS; many streams then share one connection, and delay each other
	Reuse bool        // keep connections for later requests
}

// Client sends chat requests to one server, over HTTP/1.1 unless told otherwise. Every request has a connection of its
// own: servers close connections after an answer without saying so (llama.cpp), and a request written into a closing
// connection fails through no fault of the server. The set-up lies before t_wrote and is in no metric. No proxy is
// used, whatever the environment says: it would be measured, too.
type Client struct {
	o         ClientOptions
	transport *http.Transport
	waits     atomic.Int64 // nanoseconds
}

// NewClient makes a client. Close it when done.
func NewClient(o ClientOptions) *Client {
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if !monotonic(o.Epoch) {
		o.Epoch = time.Now()
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		DialContext:         o.Dial,
		DisableCompression:  true, // a compressed stream arrives in the blocks of the compressor
		DisableKeepAlives:   !o.Reuse && !o.HTTP2,
		MaxIdleConnsPerHost: 1 << 16,    // of reused ones: one for every request in flight
		ReadBufferSize:      readBuffer, // one burst, one read
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     o.TLS.Clone(),
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(o.HTTP2)
	return &Client{o: o, transport: t}
}

// monotonic reports whether t came from time.Now and has kept its monotonic reading: a step of the wall clock then
// changes nothing. Rounding strips the reading, which shows.
func monotonic(t time.Time) bool { return t != t.Round(0) }

// Now is the moment on the client's clock, in nanoseconds since the epoch.
func (c *Client) Now() int64 { return int64(time.Since(c.o.Epoch)) }

// Close drops what connections are left.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// RTT is the time of n TCP connections to the server's address, made one after another and closed at once. It is a
// bound below of what any answer can take, and is measured outside of any load.
func RTT(ctx context.Context, base string, n int) ([]time.Duration, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", base, err)
	}
	address := u.Host
	if u.Port() == "" {
		port := "80"
		if u.Scheme == "https" {
			port = "443"
		}
		address = net.JoinHostPort(u.Hostname(), port)
	}
	var out []time.Duration
	for range n {
		began := time.Now()
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
		if err != nil {
			return out, fmt.Errorf("measure the round trip to %s: %w", address, err)
		}
		out = append(out, time.Since(began))
		conn.Close()
	}
	return out, nil
}
