package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// RunOptions say how Run serves.
type RunOptions struct {
	Listener net.Listener
	Load     func() (*Backend, error) // runs while the server already answers "loading"
	Ready    func()                   // called when the first request can be answered; may be nil
	Drain    time.Duration            // how long requests under way may go on after ctx has ended; 0: they end at once
	Log      *log.Logger              // faults of connections; nil drops them
}

// Run serves until ctx ends, then stops accepting, lets the requests under way finish within the limit, closes the
// engine, and returns nil. It returns an error when the model does not load or the listener breaks.
func (s *Server) Run(ctx context.Context, o RunOptions) error {
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	hs := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: o.Log}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(o.Listener) }()

	type loaded struct {
		b   *Backend
		err error
	}
	ready := make(chan loaded, 1)
	go func() {
		b, err := o.Load()
		ready <- loaded{b, err}
	}()
	var b *Backend
	select {
	case l := <-ready:
		if l.err != nil {
			hs.Close() // nobody is owed an answer
			return l.err
		}
		b = l.b
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", o.Listener.Addr(), err)
	case <-ctx.Done():
		return hs.Close() // a load cannot be interrupted; the process ends
	}
	s.Ready(b)
	if o.Ready != nil {
		o.Ready()
	}
	select {
	case err := <-served:
		s.closeEngine(b, 0)
		return fmt.Errorf("serve on %s: %w", o.Listener.Addr(), err)
	case <-ctx.Done():
	}
	return s.shutdown(hs, b, o.Drain)
}

// shutdown drains within limit. Requests that are still running then are cut off.
func (s *Server) shutdown(hs *http.Server, b *Backend, limit time.Duration) error {
	s.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := hs.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	return errors.Join(err, s.closeEngine(b, time.Second))
}

func (s *Server) closeEngine(b *Backend, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return b.Engine.Close(ctx)
}
