package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// web makes the small requests to a server.
type web struct {
	base   string
	key    string
	client *http.Client
}

func newWeb(base string, o Options) web {
	c := o.Client
	if c == nil {
		c = &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: o.TLS.Clone()},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return web{base: base, key: o.APIKey, client: c}
}

type response struct {
	status int
	header http.Header
	body   []byte
}

func (r response) json(v any) error { return json.Unmarshal(r.body, v) }

func (r response) isHTML() bool {
	start := strings.ToLower(string(bytes.TrimSpace(r.body[:min(len(r.body), 200)])))
	return strings.Contains(r.header.Get("Content-Type"), "text/html") || strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html")
}

func (r response) isJSON() bool { return json.Valid(r.body) }

// get reads one path, at most 32 MiB of it.
func (w web) get(ctx context.Context, path string) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+path, nil)
	if err != nil {
		return response{}, err
	}
	req.Header.Set("User-Agent", "treeline")
	if w.key != "" {
		req.Header.Set("Authorization", "Bearer "+w.key)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return response{}, plain(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 32<<20))
	if err != nil {
		return response{}, fmt.Errorf("read answer to %s: %w", path, plain(err))
	}
	return response{res.StatusCode, res.Header, body}, nil
}

// plain takes the wrapping off a network error that only repeats the address.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", timeout)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no connection: %w", op.Err)
	}
	return err
}

// getJSON reads a path that must answer 200 with JSON.
func (w web) getJSON(ctx context.Context, path string, v any) error {
	res, err := w.get(ctx, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if res.status != http.StatusOK {
		return fmt.Errorf("read %s: HTTP %d", path, res.status)
	}
	if err := res.json(v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
