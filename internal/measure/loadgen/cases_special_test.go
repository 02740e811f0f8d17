package loadgen_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
)

// specialCase needs more than a transcript.
type specialCase struct {
	number, about string
	check         func(*testing.T)
}

func specialCases() []specialCase {
	return []specialCase{
		{"19", "a step of the wall clock changes no stamp", monotonicClock},
		{"20", "a slow consumer of results changes no stamp", slowConsumer},
		{"24b", "answers without usage are counted and left out", withoutUsage},
		{"29", "a warm trial is marked and not pooled with cold ones", warmTrial},
		{"43c", "the connection is reset in mid-stream", resetConnection},
		{"44b", "a connection that stays open blocks no slot", openConnection},
		{"44c", "[DONE] is the end, also of a kept connection's body", endOfKept},
		{"45c", "what came before an error is in no metric", partialFigures},
		{"50", "a compressed stream is read and flagged", compressed},
		{"51b", "a lump is noticed and its times are suppressed", lump},
		{"52", "a kept connection that closes as we send: no second try", closingConnection},
		{"54", "eleven minutes, a chunk every two seconds", elevenMinutes},
		{"55", "the window ends with three requests in flight", windowEnds},
		{"56", "TLS with its own certificate, HTTP/2 by option", secure},
		{"R8", "the server refuses and closes while we write a large prompt", largePrompt},
		{"R9", "an IPv6 address and a path before /v1", pathPrefix},
	}
}

// pipe dials servers behind net.Pipe.
func pipe(serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			serve(theirs)
		}()
		return ours, nil
	}
}

func script(t *testing.T, text string) simserver.Transcript {
	s, err := simserver.ParseTranscript("script", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answer reads a request and plays a transcript.
func answer(s simserver.Transcript) func(net.Conn) {
	return func(conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		s.Play(conn, simserver.AsWritten, time.Sleep)
	}
}

// All stamps are differences on the monotonic clock: an epoch that lost its monotonic reading would make them
// differences of the wall clock, so it is not taken.
func monotonicClock(t *testing.T) {
	c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Epoch: time.Now().Add(-time.Hour).Round(0)})
	if now := c.Now(); now > int64(time.Minute) {
		t.Errorf("the clock says %v since an epoch without a monotonic reading, want one that began with the client", time.Duration(now))
	}
	kept := time.Now().Add(-time.Hour)
	c = loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Epoch: kept})
	if now := c.Now(); now < int64(time.Hour) {
		t.Errorf("the clock says %v since an epoch an hour ago", time.Duration(now))
	}
}

func slowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, "@100 C(\"a\")\n@110 C(\"b\")\n@120 FIN(stop) U(5,2) DONE")
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Dial: pipe(answer(s))})
		defer c.Close()
		plan := loadgen.Plan{Concurrency: 3, Requests: 30, Job: func(i int) (loadgen.Job, error) {
			return loadgen.Job{Request: record.Request{ID: i}, Body: []byte("{}")}, nil
		}}
		err := loadgen.Run(t.Context(), c, plan, func(r *record.Request, _ *record.Stream) error {
			time.Sleep(200 * time.Millisecond)
			if first, last := r.First-r.Wrote, r.Last-r.First; first != 100e6 || last != 10e6 {
				t.Errorf("request %d: first after %d ns, last %d ns after it; want 100 ms and 10 ms", r.ID, first, last)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
	})
}

func warmTrial(t *testing.T) {
	request := func(trial, cached int, first int64) record.Request {
		s := script(t, fmt.Sprintf("@%d C(\"a\")\n@%d C(\"b\")\n@%d FIN(stop) J({\"choices\":[],\"usage\":{\"prompt_tokens\":1100,\"completion_tokens\":2,\"total_tokens\":1102,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}) DONE", first, first+10, first+20, cached))
		r := playCase(t, s, simserver.AsWritten, 0)
		r.Prompt, r.Trial, r.Level = "p", trial, 1
		return r
	}
	requests := []record.Request{request(0, 0, 500), request(1, 1024, 30)}
	if got := metric.Level(requests, 1)["ttft_ms"]; got.N != 1 || got.P50 != 500 {
		t.Errorf("ttft over a cold and a warm trial: %+v, want the cold one's 500 ms alone", got)
	}
	if got := metric.Prompts(requests); len(got) != 1 || got[0].TTFTms != 500 {
		t.Errorf("prompt value %+v, want the cold trial's", got)
	}
	if w := metric.Warnings(requests); len(w) != 1 || w[0].Code != record.WarnCacheHit {
		t.Errorf("warnings %+v, want cache_hit", w)
	}
}

func withoutUsage(t *testing.T) {
	requests := []record.Request{
		playCase(t, script(t, "@10 C(\"a\")\n@20 C(\"b\") FIN(stop) DONE"), simserver.AsWritten, 0),
		playCase(t, script(t, "@30 C(\"a\")\n@40 C(\"b\") FIN(stop) U(5,2) DONE"), simserver.AsWritten, 0),
	}
	if n := metric.Count(requests); n.Sent != 2 || n.OK != 1 || n.Excluded != 1 || n.Failed != 0 {
		t.Errorf("counts %+v, want one ok and one excluded", n)
	}
	level := metric.Level(requests, 1)
	if ttft, tpot := level["ttft_ms"], level["tpot_ms"]; ttft.N != 2 || tpot.N != 1 {
		t.Errorf("ttft of %d requests and tpot of %d, want 2 and 1", ttft.N, tpot.N)
	}
}

// What came before the error stays in the request, for who looks into it, and is in no figure of the level.
func partialFigures(t *testing.T) {
	failed := playCase(t, script(t, "@10 "+strings.Repeat(`C("a") `, 20)+"\n@20 J({\"error\":{\"message\":\"CUDA error\"}}) U(5,20) DONE"), simserver.AsWritten, 0)
	if got := facts(&failed, "ttft") + " " + facts(&failed, "n"); got != "10 20" || len(failed.Text) != 20 {
		t.Errorf("the failed request has ttft and n %s, %d letters; want 10 20 and 20", got, len(failed.Text))
	}
	whole := playCase(t, script(t, "@100 C(\"a\")\n@110 C(\"b\") FIN(stop) U(5,2) DONE"), simserver.AsWritten, 0)
	level := metric.Level([]record.Request{failed, whole}, 1)
	for name, want := range map[string]float64{"ttft_ms": 100, "tpot_ms": 10, "e2e_ms": 110, "output_tokens": 2} {
		if got, has := level[name]; !has || got.N != 1 || got.P50 != want {
			t.Errorf("%s: %+v, want %v of one request", name, got, want)
		}
	}
	if n := metric.Count([]record.Request{failed, whole}); n.Failed != 1 || n.Errors[record.ClassStream] != 1 {
		t.Errorf("counts %+v, want one stream_error", n)
	}
}

// A pipe cannot reset; TCP can.
func resetConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	received := make(chan struct{})
	s := script(t, "@0 C(\"a\") C(\"b\") C(\"c\")\nend reset")
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		answer(s)(conn)
		<-received // what a reset finds unread it destroys
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}()
	c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
		return &tellingConn{Conn: conn, after: "c", tell: received}, err
	}})
	defer c.Close()
	var r record.Request
	c.Do(t.Context(), []byte("{}"), &r).Fill(&r)
	if got := facts(&r, "ok") + " " + r.Text; got != "truncated abc" || !strings.Contains(r.Error, "reset") {
		t.Errorf("%s, error %q; want truncated abc by a reset", got, r.Error)
	}
}

// tellingConn tells when a letter in quotes has been read.
type tellingConn struct {
	net.Conn
	after string
	tell  chan struct{}
	read  []byte
	told  bool
}

func (c *tellingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read = append(c.read, b[:n]...)
	if !c.told && bytes.Contains(c.read, []byte(strconv.Quote(c.after))) {
		c.told = true
		close(c.tell)
	}
	return n, err
}

// The body of a kept connection is read to its end, which may be late. The answer was over with [DONE].
func endOfKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, "chunked\n@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE\n@120 PING")
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Reuse: true, Dial: pipe(answer(s))})
		defer c.Close()
		var r record.Request
		stream := c.Do(t.Context(), []byte("{}"), &r)
		stream.Fill(&r)
		if !r.OK || facts(&r, "end") != "20" || stream.EndAt-r.Wrote != 120e6 {
			t.Errorf("ok %v, done after %s ms, body ended after %d ns; want 20 ms and 120 ms", r.OK, facts(&r, "end"), stream.EndAt-r.Wrote)
		}
		time.Sleep(time.Hour)
	})
}

func openConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, "@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE\nend hold 30000")
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Dial: pipe(answer(s))})
		defer c.Close()
		began := time.Now()
		plan := loadgen.Plan{Concurrency: 1, Requests: 10, Job: func(int) (loadgen.Job, error) { return loadgen.Job{Body: []byte("{}")}, nil }}
		if err := loadgen.Run(t.Context(), c, plan, func(*record.Request, *record.Stream) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("ten requests of 20 ms took %v", took)
		}
		time.Sleep(time.Hour)
	})
}

func compressed(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
	z.Flush()
	first := b.Len()
	io.WriteString(z, "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	z.Close()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
	s := simserver.Transcript{Pieces: []simserver.Piece{{Bytes: []byte(head)}, {At: 10 * time.Millisecond, Bytes: b.Bytes()[:first]}, {At: 30 * time.Millisecond, Bytes: b.Bytes()[first:]}}}
	for _, how := range []string{simserver.AsWritten, simserver.AtOnce, simserver.ByteWise} {
		r := playCase(t, s, how, 0)
		if got := facts(&r, "text") + facts(&r, "notes"); !r.OK || got != `"ab"compressed` {
			t.Errorf("played as %s: %s (%s), want ab, flagged", how, got, r.Error)
		}
		if how == simserver.AsWritten && (facts(&r, "ttft") != "10" || facts(&r, "e2e") != "30") {
			t.Errorf("ttft %s, e2e %s; want 10 and 30", facts(&r, "ttft"), facts(&r, "e2e"))
		}
	}
}

func lump(t *testing.T) {
	r := playCase(t, script(t, "@16500 "+strings.Repeat(`C("a") `, 60)+" FIN(stop) U(5,60) DONE"), simserver.AsWritten, 0)
	level := metric.Level([]record.Request{r}, 1)
	for _, name := range []string{"ttft_ms", "icl_ms", "tpot_ms"} {
		if _, has := level[name]; has {
			t.Errorf("%s of a stream that came in one lump: %+v, want none", name, level[name])
		}
	}
	if w := facts(&r, "warns"); !strings.Contains(w, record.WarnBuffered) {
		t.Errorf("warnings %q, want %s", w, record.WarnBuffered)
	}
}

// The server answers once, and closes the kept connection when the second request has come.
func closingConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns, requests atomic.Int32
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Reuse: true, Dial: pipe(func(conn net.Conn) {
			conns.Add(1)
			r := bufio.NewReader(conn)
			for i := range 2 {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				requests.Add(1)
				if i == 0 {
					script(t, "chunked\n@10 C(\"a\") FIN(stop) U(5,1) DONE").Play(conn, simserver.AsWritten, time.Sleep)
				}
			}
		})})
		defer c.Close()
		var first, second record.Request
		c.Do(t.Context(), []byte("{}"), &first).Fill(&first)
		time.Sleep(time.Second)
		c.Do(t.Context(), []byte("{}"), &second).Fill(&second)
		if !first.OK || first.Reused || second.OK || !second.Reused || second.ErrorClass != record.ClassTransport {
			t.Errorf("first ok %v reused %v; second ok %v reused %v class %q; want a failure of the transport on the kept connection", first.OK, first.Reused, second.OK, second.Reused, second.ErrorClass)
		}
		if conns.Load() != 1 || requests.Load() != 2 {
			t.Errorf("the server saw %d requests on %d connections, want 2 on 1: nothing is sent a second time", requests.Load(), conns.Load())
		}
	})
}

func elevenMinutes(t *testing.T) {
	var b strings.Builder
	for at := 0; at <= 660_000; at += 2000 {
		fmt.Fprintf(&b, "@%d C(\"a\")\n", at)
	}
	r := playCase(t, script(t, b.String()+"@660000 FIN(stop) U(5,331) DONE"), simserver.AsWritten, 0)
	if !r.OK || facts(&r, "e2e") != "660000" || facts(&r, "tpot") != "2000" {
		t.Errorf("ok %s, e2e %s, tpot %s; want 660000 and 2000", facts(&r, "ok"), facts(&r, "e2e"), facts(&r, "tpot"))
	}
}

func windowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		for at := 100; at <= 1000; at += 100 {
			fmt.Fprintf(&b, "@%d J({\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d,\"total_tokens\":%d}})\n", at, at/100, 5+at/100)
		}
		s := script(t, b.String()+"@1000 FIN(stop) DONE")
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Dial: pipe(answer(s))})
		defer c.Close()
		var got []record.Request
		plan := loadgen.Plan{Concurrency: 3, Duration: 1450 * time.Millisecond, Cut: true, Job: func(i int) (loadgen.Job, error) {
			return loadgen.Job{Request: record.Request{ID: i, Level: 3}, Body: []byte("{}")}, nil
		}}
		if err := loadgen.Run(t.Context(), c, plan, func(r *record.Request, _ *record.Stream) error { got = append(got, *r); return nil }); err != nil {
			t.Fatal(err)
		}
		n := metric.Count(got)
		if n.Sent != 6 || n.OK != 3 || n.Failed != 0 || n.Censored != 3 {
			t.Errorf("counts %+v, want 3 ok and 3 censored", n)
		}
		// Three streams of ten tokens a second over the whole window, the four tokens of the cut ones included: from the
		// third of them being sent to the end of the window.
		rate := metric.Level(got, 3)["output_tok_s"]
		if want := 3 * 14 / 1.45; rate.P50 < want-0.01 || rate.P50 > want+0.01 {
			t.Errorf("throughput in the window %.3f tokens/s, want %.3f", rate.P50, want)
		}
		time.Sleep(time.Hour)
	})
}

func secure(t *testing.T) {
	var protos atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protos.Store(r.Proto)
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the refused certificate
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, tt := range []struct {
		name  string
		o     loadgen.ClientOptions
		ok    bool
		proto string
	}{
		{"unknown certificate", loadgen.ClientOptions{}, false, ""},
		{"certificate given", loadgen.ClientOptions{TLS: &tls.Config{RootCAs: roots}}, true, "HTTP/1.1"},
		{"not verified", loadgen.ClientOptions{TLS: &tls.Config{InsecureSkipVerify: true}}, true, "HTTP/1.1"},
		{"HTTP/2", loadgen.ClientOptions{TLS: &tls.Config{RootCAs: roots}, HTTP2: true}, true, "HTTP/2.0"},
	} {
		tt.o.Base = server.URL
		c := loadgen.NewClient(tt.o)
		var r record.Request
		c.Do(t.Context(), []byte("{}"), &r).Fill(&r)
		if r.OK != tt.ok || r.Proto != tt.proto || (tt.ok && protos.Load() != tt.proto) {
			t.Errorf("%s: ok %v by %q (%s), want %v by %q", tt.name, r.OK, r.Proto, r.Error, tt.ok, tt.proto)
		}
		c.Close()
	}
}

// The answer to a prompt that is too large comes before the prompt has been written. What the client sees depends on
// the network: the refusal, or a broken connection. It must end, at once, as a failure with a cause.
func largePrompt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4<<10))
			io.WriteString(conn, "HTTP/1.1 413 Request Entity Too Large\r\nContent-Type: application/json\r\nContent-Length: 33\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"too large\"}}\n")
			conn.Close()
		}
	}()
	for range 5 {
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://" + l.Addr().String()})
		var r record.Request
		c.Do(t.Context(), bytes.Repeat([]byte("x"), 32<<20), &r).Fill(&r)
		if r.OK || (r.ErrorClass != record.ClassHTTP4xx && r.ErrorClass != record.ClassTransport) || r.Error == "" {
			t.Errorf("ok %v, class %q, error %q; want http_4xx or transport with a cause", r.OK, r.ErrorClass, r.Error)
		}
		c.Close()
	}
}

func pathPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var path, host, dialled string
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://[::1]:8000/proxy/a", Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled = addr
			return pipe(func(conn net.Conn) {
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				path, host = req.URL.Path, req.Host
				io.Copy(io.Discard, req.Body)
				script(t, "@1 C(\"a\") FIN(stop) U(5,1) DONE").Play(conn, simserver.AtOnce, time.Sleep)
			})(ctx, network, addr)
		}})
		defer c.Close()
		var r record.Request
		c.Do(t.Context(), []byte("{}"), &r).Fill(&r)
		if !r.OK || path != "/proxy/a/v1/chat/completions" || host != "[::1]:8000" || dialled != "[::1]:8000" {
			t.Errorf("ok %v, path %q, host %q, dialled %q", r.OK, path, host, dialled)
		}
	})
}
