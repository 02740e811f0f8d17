package simserver

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
	"treeline/internal/sharedtest"
)

// client talks to a server over net.Pipe.
func client(t *testing.T, s *Server) *loadgen.Client {
	c := loadgen.NewClient(loadgen.ClientOptions{
		Base: "http://simulated",
		Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go s.ServeConn(theirs)
			return ours, nil
		},
	})
	t.Cleanup(c.Close)
	return c
}

func start(t *testing.T, spec string) *Server {
	t.Helper()
	p, err := Parse("spec.yaml", []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, c *loadgen.Client, prompt string, tokens int) record.Request {
	t.Helper()
	body, err := loadgen.Chat{Model: "m", Prompt: prompt, MaxTokens: tokens, Stream: true, Extra: map[string]any{
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
	}}.Body()
	if err != nil {
		t.Fatal(err)
	}
	var r record.Request
	c.Do(t.Context(), body, &r).Fill(&r)
	return r
}

// arrivals are times in ms after the request was written, and tokens.
func arrivals(r record.Request) string {
	var b strings.Builder
	for _, e := range r.Events {
		if e.Kind.Generates() {
			fmt.Fprintf(&b, "%g:%d ", float64(e.At-r.Wrote)/1e6, e.Tokens)
		}
	}
	return strings.TrimSpace(b.String())
}

// The law's times are those at the client, to the nanosecond.
func TestLawTimes(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"plain", "stream: {usage: continuous}", "20:1 25:1 30:1 35:1"},
		{"prefill", "{ttft: 10ms, prefill_per_token: 1ms, stream: {usage: continuous}}", "12:1 17:1 22:1 27:1"},
		{"interval", "stream: {usage: continuous, per_event: 2}", "20:1 30:2 35:1"},
		{"every draft accepted", "{speculation: {method: ngram, accept: [1, 1], round: 9ms}, stream: {usage: continuous}}", "20:1 29:3"},
		{"no draft accepted", "{speculation: {method: ngram, accept: [0], round: 9ms}, stream: {usage: continuous}}", "20:1 29:1 38:1 47:1"},
		{"one event a token", "{speculation: {method: ngram, accept: [1, 1], round: 9ms, burst: tokens}, stream: {usage: continuous}}", "20:1 29:1 29:1 29:1"},
		{"lumps", "stream: {usage: continuous, lump: 12ms}", "24:1 36:1 36:1 36:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, tt.spec)
				r := ask(t, client(t, s), "two word", 4) // nine bytes with the line end: three tokens
				if got := arrivals(r); !r.OK || (tt.name != "prefill" && got != tt.want) || (tt.name == "prefill" && got != "13:1 18:1 23:1 28:1") {
					t.Errorf("arrivals %s, want %s (%s)", got, tt.want, r.Error)
				}
				truth := s.Truth()
				if len(truth) != 1 || truth[0].First-truth[0].Read != r.First-r.Wrote || truth[0].Last-truth[0].First != r.Last-r.First {
					t.Errorf("truth %+v does not hold for first %d, last %d, wrote %d", truth, r.First, r.Last, r.Wrote)
				}
				s.Close()
			})
		})
	}
}

// With one slot the second request waits for the first.
func TestQueueIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, "slots: 1")
		c := client(t, s)
		var got [3]record.Request
		plan := loadgen.Plan{Concurrency: 3, Requests: 3, Job: func(i int) (loadgen.Job, error) {
			body, err := loadgen.Chat{Model: "m", Prompt: "p", MaxTokens: 2, Stream: true}.Body()
			return loadgen.Job{Request: record.Request{ID: i}, Body: body}, err
		}}
		if err := loadgen.Run(t.Context(), c, plan, func(r *record.Request, _ *record.Stream) error { got[r.ID] = *r; return nil }); err != nil {
			t.Fatal(err)
		}
		var ttft []float64
		for _, r := range s.Truth() {
			ttft = append(ttft, float64(r.First-r.Read)/1e6)
		}
		if diff := cmp.Diff([]float64{20, 45, 70}, ttft); diff != "" {
			t.Errorf("times to the first token with one slot (-want +got):\n%s", diff)
		}
		s.Close()
	})
}

// Counters are the sums of what was sent, and tau of the counters is that of the law.
func TestCountersAndTau(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, "{as: vllm, speculation: {method: ngram, accept: [0.8, 0.5], round: 9ms}}")
		c := client(t, s)
		tokens := 0
		for i := range 50 {
			r := ask(t, c, fmt.Sprint("prompt ", i), 200)
			n, _ := r.OutputTokens()
			tokens += n
		}
		if s.count.generated != tokens || s.count.requests != 50 {
			t.Errorf("counted %d tokens of %d requests, sent %d of 50", s.count.generated, s.count.requests, tokens)
		}
		tau, want := 1+float64(s.count.accepted)/float64(s.count.drafts), s.spec.Tau()
		if math.Abs(tau-want) > 0.05 || want != 2.2 {
			t.Errorf("acceptance length by counters %.3f, by the law %.3f, want 2.2", tau, want)
		}
		s.Close()
	})
}

func TestPrefixCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, "prefix_cache: true")
		c := client(t, s)
		prompt := strings.Repeat("x", 200)
		var cached []int
		for range 2 {
			r := ask(t, c, prompt, 2)
			n, _ := r.CachedTokens()
			cached = append(cached, n)
		}
		s.flush()
		r := ask(t, c, prompt, 2)
		n, _ := r.CachedTokens()
		if diff := cmp.Diff([]int{0, 48, 0}, append(cached, n)); diff != "" {
			t.Errorf("cached tokens cold, warm and after a flush (-want +got):\n%s", diff)
		}
		s.Close()
	})
}

// The same seed and start draw the same; another start draws others, and the text never changes.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Default()
		spec.Seed, spec.Start = rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "start")
		spec.Vary = Vary{Start: 0.1, Prompt: 0.1, Request: 0.1, Step: 0.1}
		prompt := rapid.String().Draw(t, "prompt")
		n := rapid.IntRange(1, 300).Draw(t, "tokens")
		a, b := spec.plan(prompt, "1", 10, n, true), spec.plan(prompt, "1", 10, n, true)
		if diff := cmp.Diff(a.chunks, b.chunks, cmp.AllowUnexported(chunk{})); diff != "" {
			t.Fatal(diff)
		}
		other := spec
		other.Start++
		if c := other.plan(prompt, "1", 10, n, true); cmp.Equal(a.chunks, c.chunks, cmp.AllowUnexported(chunk{})) {
			t.Fatal("another start drew the same times")
		}
		sum := 0
		for _, c := range a.chunks {
			sum += c.tokens
		}
		if sum != n || a.tokens != n {
			t.Fatalf("%d tokens in the chunks of an answer of %d", sum, n)
		}
	})
}

// An imitation is taken for what it imitates, and its method is told where that server tells it.
func TestIdentified(t *testing.T) {
	for _, as := range []string{"generic", "vllm", "sglang", "llamacpp"} {
		for _, draft := range []string{"", ", speculation: {method: ngram, accept: [0.5], round: 2ms}"} {
			s := start(t, "{as: "+as+", ttft: 1ms, tpot: 1ms"+draft+"}")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go s.Serve(l)
			got, err := target.Identify(t.Context(), target.Options{URL: "http://" + l.Addr().String()})
			if err != nil {
				t.Fatalf("%s: %v", as, err)
			}
			want := map[bool]string{true: "none", false: "ngram"}[draft == ""]
			switch {
			case as == "generic", as == "vllm" && draft != "": // neither names it
				want = "unknown"
			}
			configured := got.Configured
			if configured == "" {
				configured = "unknown"
			}
			if got.Kind != as || configured != want {
				t.Errorf("as %s%s: identified as %s with method %q, want %q", as, draft, got.Kind, configured, want)
			}
			s.Close()
		}
	}
}

func TestClockMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, "mode: clock")
		c := client(t, s)
		var r record.Request
		stream := c.Do(t.Context(), []byte(`{"events": 5, "gap_ns": 2000000, "delay_ns": 10000000, "bytes": 300}`), &r)
		stream.Fill(&r)
		if got := arrivals(r); !r.OK || got != "10:0 12:0 14:0 16:0 18:0" {
			t.Errorf("arrivals %s (%s)", got, r.Error)
		}
		want := fmt.Sprintf(`"sent_ns":%d`, s.wall+int64(10*time.Millisecond))
		if body := string(stream.Body); !strings.Contains(body, want) || !strings.Contains(body, `"clock":{"late":0,"worst_ns":0}`) {
			t.Errorf("stream without %s or without the sender's own account:\n%s", want, body)
		}
		s.Close()
	})
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{"tpott: 3ms", `spec.yaml:1:1: unknown key "tpott"; known here: mode, as, model`},
		{"mode: laws", `spec.yaml:1:7: mode is "laws"; known: law, script, clock`},
		{"tpot: fast", "spec.yaml:1:1: can't read `fast` as a duration"},
		{"tpot: -1ms", "spec.yaml:1:7: tpot is negative"},
		{"speculation: {method: x, accept: [0.5, 1.5], round: 1ms}", "spec.yaml:1:40: accept[1] is 1.5"},
		{"speculation: {}", "speculation needs a method"},
		{"mode: script", "needs scripts"},
	} {
		if _, err := Parse("spec.yaml", []byte(tt.spec)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", tt.spec, err, tt.want)
		}
	}
	if s, err := Parse("spec.yaml", nil); err != nil || s.TPOT != 5*time.Millisecond {
		t.Errorf("empty spec: %+v, %v", s, err)
	}
}

func TestTranscript(t *testing.T) {
	got, err := ParseTranscript("x", "# what\n@5 C(\"a(\\\"b)\") PING\n\n@7.5 \"raw\\r\\n\" U(1,2) DONE\nend hold 30")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var slept []time.Duration
	if err := got.Play(&b, AsWritten, func(d time.Duration) { slept = append(slept, d) }); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	want := `data: {"choices":[{"index":0,"delta":{"content":"a(\"b)"}}]}` + "\n\n: ping\n\nraw\r\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}` + "\n\ndata: [DONE]\n\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("played (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{5e6, 25e5, 30e6}, slept); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"@5 C(\"a\"":     "f:1:4: a ) is missing",
		"x\n":            "f:1:1: a line begins",
		"\n  @1 FOO":     "f:2:6: \"FOO\" is not known",
		"@5 PING\n@4 x":  "f:2:1: times go backwards",
		"@x PING":        "is no time",
		"end sometime":   "f:1:5: end is",
		"@1 U(1)":        "f:1:4: U takes",
		"@1 U(1,2,3)":    "f:1:4: U takes",
		"@1 C(x)":        "f:1:4: C() takes a string",
		`@1 R("\x41")`:   "f:1:4: R() takes a string",
		"@1 J({)":        "f:1:4: J() takes JSON",
		"@inf PING":      "is no time",
		"@nan PING":      "is no time",
		"end hold 1e300": "f:1:10: \"1e300\" is no time",
		"end hold":       "is no time",
		`@1 "open`:       "f:1:4: a string in quotes",
		"@1 PING Z(1) x": "f:1:9: Z() is not known",
	} {
		if _, err := ParseTranscript("f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
	}
}

// Whatever the text is, it gives a transcript whose times never go back, or an error with a place.
func FuzzTranscript(f *testing.F) {
	for _, s := range []string{
		"# what\n@5 C(\"a(\\\"b)\") PING\n\n@7.5 \"raw\\r\\n\" U(1,2) DONE\nend hold 30", "head \"HTTP/1.1 200 OK\\r\\n\\r\\n\"\n@1 ROLE FIN(stop)\nend reset",
		"chunked\n@1 J({\"a\":[1]}) D(x) T(\"\") R(null)", "@1 C(", "@", "end", "head", "@1e9 `a`", "  @1 \"\\xff\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTranscript("f", text)
		if err != nil {
			if !regexp.MustCompile(`^f:\d+:\d+: .`).MatchString(err.Error()) {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		at := time.Duration(0)
		for _, p := range got.Pieces {
			if p.At < at {
				t.Errorf("a piece at %v after one at %v", p.At, at)
			}
			at = p.At
		}
		var once, bytewise bytes.Buffer
		for how, w := range map[string]*bytes.Buffer{AtOnce: &once, ByteWise: &bytewise} {
			if err := got.Play(w, how, func(time.Duration) { t.Error("a wait, where none is wanted") }); err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(once.Bytes(), bytewise.Bytes()) {
			t.Error("the bytes depend on how they are played")
		}
	})
}

// The specs in examples are teaching text: they must read, and have the ratio that the plan beside them claims.
func TestExamples(t *testing.T) {
	read := func(name string) Spec {
		s, err := Load(filepath.Join(sharedtest.Root(t), "examples", "simulated", name))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, ngram := read("plain.yaml"), read("ngram.yaml")
	if ratio := float64(plain.TPOT) * ngram.Tau() / float64(ngram.Spec.Round); math.Abs(ratio-1.53) > 0.01 {
		t.Errorf("true ratio %.3f, the plan says 1.53", ratio)
	}
}
