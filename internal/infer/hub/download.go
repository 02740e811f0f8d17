package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// fromHub downloads m to dst. A part of an earlier try (dst.incomplete) is continued.
func (o Options) fromHub(ctx context.Context, m Model, dst string) error {
	base := o.Endpoint
	if base == "" {
		base = DefaultEndpoint
	}
	address := strings.TrimRight(base, "/") + "/" + m.Repository + "/resolve/" + m.Revision + "/" + m.File
	part := dst + ".incomplete"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", part, reason(err))
	}
	defer f.Close()
	sum := sha256.New()
	have, err := io.Copy(sum, f) // what an earlier try left
	if err != nil {
		return fmt.Errorf("read %s: %w", part, reason(err))
	}
	if have > m.Size {
		return discard(f, fmt.Errorf("%s is longer than the file should be: it was removed, run again", part))
	}
	if have < m.Size {
		if err := o.get(ctx, address, f, sum, have, m.Size); err != nil {
			if info, e := f.Stat(); e == nil && info.Size() == 0 { // nothing to go on from
				return errors.Join(err, os.Remove(part))
			}
			return err
		}
	}
	return finish(f, sum, m, dst)
}

// get appends the bytes of address from have on to f.
func (o Options) get(ctx context.Context, address string, f *os.File, sum hash.Hash, have, size int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("hub address: %w", err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+o.Token)
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := o.client().Do(req)
	if err != nil {
		return fmt.Errorf("get %s: %w", address, plain(err))
	}
	defer resp.Body.Close()
	switch {
	case have > 0 && resp.StatusCode == http.StatusOK: // no ranges here: start again
		if err := restart(f, sum); err != nil {
			return err
		}
		have = 0
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent:
		return fmt.Errorf("get %s: the hub answered %s", address, resp.Status)
	case resp.StatusCode == http.StatusPartialContent && !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		return fmt.Errorf("get %s: asked for bytes from %d, the hub sent %q", address, have, resp.Header.Get("Content-Range"))
	}
	body := &watched{body: resp.Body, done: have, total: size, progress: o.Progress}
	stop := body.watch(60 * time.Second)
	defer stop()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, size-have+1))
	switch {
	case err != nil:
		return fmt.Errorf("get %s: after %d of %d bytes: %w: run again to go on from there", address, have+n, size, plain(err))
	case have+n < size:
		return fmt.Errorf("get %s: ended after %d of %d bytes: run again to go on from there", address, have+n, size)
	case have+n > size:
		return discard(f, fmt.Errorf("get %s: more than the %d bytes that the file should have", address, size))
	}
	return nil
}

func restart(f *os.File, sum hash.Hash) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	sum.Reset()
	return err
}

// finish checks the sum and gives the file its name.
func finish(f *os.File, sum hash.Hash, m Model, dst string) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return discard(f, fmt.Errorf("%s: sha256 is %s, want %s: the file was discarded", m.File, got, m.SHA256))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), reason(err))
	}
	if err := os.Rename(f.Name(), dst); err != nil {
		return fmt.Errorf("write %s: %w", dst, err)
	}
	return nil
}

// discard removes a file that must not be continued, and returns err.
func discard(f *os.File, err error) error {
	return errors.Join(err, os.Remove(f.Name()))
}

// plain is an error without the method and address that net/http puts before it.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
