package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// watched reports progress and gives up on a body that stops sending.
type watched struct {
	body     io.ReadCloser
	done     int64
	total    int64
	progress func(done, total int64)
	last     atomic.Int64 // unix nanoseconds of the last byte
	idle     atomic.Bool  // closed because nothing came
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.last.Store(time.Now().UnixNano())
	w.done += int64(n)
	if w.progress != nil && n > 0 {
		w.progress(w.done, w.total)
	}
	if err != nil && err != io.EOF && w.idle.Load() {
		err = errors.New("nothing arrived for a minute")
	}
	return n, err
}

// watch closes the body when no byte came for limit. The returned function ends the watch.
func (w *watched) watch(limit time.Duration) func() {
	w.last.Store(time.Now().UnixNano())
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(limit / 4)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if now.UnixNano()-w.last.Load() > int64(limit) {
					w.idle.Store(true)
					w.body.Close()
					return
				}
			}
		}
	}()
	return func() { close(done) }
}

// staleLock is the age from which a lock is taken for one that a killed process left: its holder renews it.
const staleLock = 30 * time.Second

// lock makes a file that says "someone is fetching", and waits while another process has it. waiting is called once
// before the first wait; it may be nil.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			f.Close()
			return holdLock(path), nil
		}
		if !os.IsExist(err) {
			return nil, fmt.Errorf("lock: %w", reason(err))
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > staleLock {
			os.Remove(path)
			continue
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another download (%s): %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// holdLock renews the lock's time until it is released.
func holdLock(path string) (unlock func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(staleLock / 6)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				_ = os.Chtimes(path, now, now) // a failure only makes the lock look stale
			}
		}
	}()
	return func() {
		close(done)
		os.Remove(path)
	}
}
