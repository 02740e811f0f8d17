// Package loadgen sends requests and catches what comes back: closed loops with a fixed number of requests in flight,
// and open loops on a schedule fixed beforehand. Its hot path does two things with a read, stamp it and copy it;
// parsing is done when the stream is over, by record.Stream.Fill.
//
// It has no metrics and no opinion. A failed request is a result: nothing is retried and no redirect is followed.
package loadgen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// DefaultIdle is how long a stream may be silent before it counts as dead. There is no limit on a request's whole
// duration: a long generation is not an error.
const DefaultIdle = 2 * time.Minute

// ClientOptions say whom to talk to and how.
type ClientOptions struct {
	Base   string        // address of the server without /v1, such as http://127.0.0.1:8080
	APIKey string        // "" sends none
	Idle   time.Duration // longest silence in a stream; 0 means DefaultIdle
	Epoch  time.Time     // zero of all stamps; it must come from time.Now of this process
	// Dial replaces the TCP dialler; nil means the usual one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Client sends chat requests to one server over HTTP/1.1. Every request has a connection of its own: servers close
// connections after an answer without saying so (llama.cpp), and a request written into a closing connection fails
// through no fault of the server. The set-up lies before t_wrote and is in no metric.
type Client struct {
	o         ClientOptions
	transport *http.Transport
}

// NewClient makes a client. Close it when done.
func NewClient(o ClientOptions) *Client {
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Epoch.IsZero() {
		o.Epoch = time.Now()
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &Client{o: o, transport: &http.Transport{
		DialContext:         o.Dial,
		DisableCompression:  true, // a compressed stream arrives in the blocks of the compressor
		DisableKeepAlives:   true,
		ReadBufferSize:      64 << 10, // one burst, one read
		TLSHandshakeTimeout: 10 * time.Second,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
	}}
}

// Now is the moment on the client's clock, in nanoseconds since the epoch.
func (c *Client) Now() int64 { return int64(time.Since(c.o.Epoch)) }

// Close drops what connections are left.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
