package loadgen

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/record"
)

// do sends one request to a scripted server inside the bubble and fills the request in.
func do(ctx context.Context, s *scripted, idle time.Duration) (record.Request, *record.Stream) {
	c := NewClient(ClientOptions{Base: "http://server", Dial: s.dial, Idle: idle})
	defer c.Close()
	var r record.Request
	stream := c.Do(ctx, []byte(`{"stream":true}`), &r)
	stream.Fill(&r)
	return r, stream
}

func answers(pieces ...piece) func(int, string) []piece {
	return func(int, string) []piece { return pieces }
}

func TestStampsAreThoseOfTheReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: answers(
			piece{0, streamHead},
			piece{50 * time.Millisecond, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"},
			piece{50 * time.Millisecond, content("The")},
			piece{30 * time.Millisecond, content(" quick brown fox jumps")},
			piece{30 * time.Millisecond, content(" over the lazy")},
			piece{30 * time.Millisecond, `data: {"choices":[{"index":0,"delta":{"content":" dog."},"finish_reason":"stop"}]}` + "\n\n"},
			piece{40 * time.Millisecond, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":10,\"total_tokens\":19}}\n\n" + doneTag},
		)}
		r, _ := do(t.Context(), s, 0)
		got := []float64{ms(r.Wrote), ms(r.FirstByte), ms(r.First), ms(r.FirstOut), ms(r.Last), ms(r.Done)}
		if diff := cmp.Diff([]float64{0, 50, 100, 100, 190, 230}, got); diff != "" {
			t.Errorf("wrote, first byte, first, first answer, last, done in ms (-want +got):\n%s", diff)
		}
		if n, ok := r.OutputTokens(); !r.OK || n != 10 || !ok || r.Text != "The quick brown fox jumps over the lazy dog." {
			t.Errorf("got ok %v, %d tokens, text %q", r.OK, n, r.Text)
		}
		s.mu.Lock()
		h := s.headers[0]
		s.mu.Unlock()
		if h.Get("Accept-Encoding") != "identity" || h.Get("Idempotency-Key") != "" {
			t.Errorf("request headers %v: want identity and no idempotency key", h)
		}
	})
}

func TestEventsOverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: answers(
			piece{0, streamHead},
			piece{10 * time.Millisecond, `data: {"choices":[{"delta":{"content":"Hello`},
			piece{10 * time.Millisecond, " world \xf0\x9f"},
			piece{10 * time.Millisecond, "\x98\x80\"}}]}\r"},
			piece{10 * time.Millisecond, "\n\r\n" + content("!") + content("!")},
			piece{10 * time.Millisecond, finish},
		)}
		r, _ := do(t.Context(), s, 0)
		if r.Text != "Hello world 😀!!" {
			t.Errorf("got text %q", r.Text)
		}
		var at []float64
		for _, e := range r.Events {
			at = append(at, ms(e.At))
		}
		if diff := cmp.Diff([]float64{40, 40, 40, 50}, at); diff != "" {
			t.Errorf("events' stamps in ms (-want +got):\n%s", diff)
		}
		if len(r.Arrivals()) != 1 {
			t.Errorf("got %d arrivals, want 1: three events in one read", len(r.Arrivals()))
		}
	})
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name   string
		hold   time.Duration
		idle   time.Duration
		pieces []piece
		ok     bool
		class  string
		ends   time.Duration
	}{
		{"finish, then the end", 0, 0, []piece{{0, streamHead}, {time.Second, content("a") + finish}}, true, "", time.Second},
		{"[DONE] and then silence", 30 * time.Second, 0, []piece{{0, streamHead}, {time.Second, content("a") + finish + doneTag}}, true, "", time.Second},
		{"[DONE] over two reads", 30 * time.Second, 0, []piece{{0, streamHead}, {time.Second, content("a") + finish + "data: [DO"}, {time.Second, "NE]\n\n"}}, true, "", 2 * time.Second},
		{"the model writes [DONE]", 0, 0, []piece{{0, streamHead}, {time.Second, content("data: [DONE]")}, {time.Second, finish}}, true, "", 2 * time.Second},
		{"silence from the start", time.Hour, 20 * time.Second, []piece{{0, ""}}, false, record.ClassTimeout, 20 * time.Second},
		{"silence in the stream", time.Hour, 20 * time.Second, []piece{{0, streamHead}, {time.Second, content("a")}}, false, record.ClassTimeout, 21 * time.Second},
		{"heartbeats are not silence", 0, 20 * time.Second, []piece{{0, streamHead}, {15 * time.Second, ": ping\n\n"}, {15 * time.Second, ": ping\n\n"}, {15 * time.Second, content("a") + finish}}, true, "", 45 * time.Second},
		{"connection closed without an answer", 0, 0, []piece{{time.Second, ""}}, false, record.ClassTransport, time.Second},
		{"redirect", 0, 0, []piece{{0, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://other/\r\nContent-Length: 0\r\n\r\n"}}, false, record.ClassHTTP3xx, 0},
		{"too many requests", 0, 0, []piece{{0, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"}}, false, record.ClassHTTP4xx, 0},
		{"error in the stream", 0, 0, []piece{{0, streamHead}, {0, repeat(content("a"), 20) + "data: {\"error\":{\"message\":\"CUDA error\",\"code\":500}}\n\n" + doneTag}}, false, record.ClassStream, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answer: answers(tt.pieces...), hold: tt.hold}
				r, stream := do(t.Context(), s, tt.idle)
				if r.OK != tt.ok || r.ErrorClass != tt.class {
					t.Errorf("got ok %v, class %q (%s); want %v, %q", r.OK, r.ErrorClass, r.Error, tt.ok, tt.class)
				}
				if stream.EndAt != int64(tt.ends) {
					t.Errorf("ended after %v, want %v", time.Duration(stream.EndAt), tt.ends)
				}
				if s.seen() != 1 {
					t.Errorf("the server saw %d requests, want 1: nothing is retried or followed", s.seen())
				}
				time.Sleep(2 * time.Hour) // let the server's side end
			})
		})
	}
}

func TestLongGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: steady(330, 2*time.Second)}
		r, _ := do(t.Context(), s, 30*time.Second)
		if !r.OK || ms(r.Last) != 660_000 {
			t.Errorf("11 minutes of tokens: ok %v (%s), last at %v ms", r.OK, r.Error, ms(r.Last))
		}
	})
}

func TestNoConnection(t *testing.T) {
	c := NewClient(ClientOptions{Base: "http://server", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("connection refused")
	}})
	var r record.Request
	c.Do(t.Context(), nil, &r).Fill(&r)
	if r.ErrorClass != record.ClassConnect || !strings.Contains(r.Error, "refused") || r.Conn != -1 || r.Wrote != -1 || r.First != -1 {
		t.Errorf("got %+v", r)
	}
}

func TestBody(t *testing.T) {
	tests := []struct {
		chat Chat
		want string
	}{
		{
			Chat{Model: "m", Prompt: "p", MaxTokens: 3, Stream: true},
			`{"max_tokens":3,"messages":[{"role":"user","content":"p"}],"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0}`,
		},
		{
			Chat{Model: "m", Prompt: "p", Temperature: 0.5, Seed: 7, IgnoreEOS: true, Extra: map[string]any{"cache_prompt": false}},
			`{"cache_prompt":false,"ignore_eos":true,"messages":[{"role":"user","content":"p"}],"model":"m","seed":7,"stream":false,"temperature":0.5}`,
		},
		{
			Chat{Model: "m", Prompt: "p", IgnoreEOS: true, Stream: true, Without: []string{"ignore_eos", "stream_options", "model"}},
			`{"messages":[{"role":"user","content":"p"}],"model":"m","stream":true,"temperature":0}`,
		},
		{
			Chat{Model: "m", Prompt: "p", Stream: true, Extra: map[string]any{"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true}}},
			`{"messages":[{"role":"user","content":"p"}],"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`,
		},
	}
	for _, tt := range tests {
		got, err := tt.chat.Body()
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
	}
}
