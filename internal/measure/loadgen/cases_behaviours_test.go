package loadgen_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
	"treeline/internal/sharedtest"
)

// recorded is what the client makes of a recorded stream at its own times.
func recorded(t *testing.T, name string) record.Request {
	t.Helper()
	r := playCase(t, recordedScript(t, filepath.Join(sharedtest.Dir(t), "recordings", name+".raw")), simserver.AsWritten, 0)
	if r.Status == 0 {
		t.Fatalf("%s: no answer: %s", name, r.Error)
	}
	return r
}

// exchanged is what the client makes of a recorded answer that was no stream.
func exchanged(t *testing.T, name string) (r record.Request) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sharedtest.Dir(t), "recordings", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, answer, _ := strings.Cut(string(b), "\n\n")
	head, body, _ := strings.Cut(answer, "\n\n")
	m := regexp.MustCompile(`^HTTP/1.1 (\d+)`).FindStringSubmatch(head)
	if m == nil {
		t.Fatalf("%s: no status line in %q", name, head)
	}
	s := record.Stream{End: record.EndEOF, Body: []byte(body), Reads: []record.Read{{At: 1, N: len(body)}}}
	s.Status, _ = strconv.Atoi(m[1])
	if m := regexp.MustCompile(`(?im)^content-type: *(\S+)`).FindStringSubmatch(head); m != nil {
		s.ContentType = m[1]
	}
	s.Fill(&r)
	return r
}

// TestCasesBehaviours holds the client to what real servers were seen to do, by the numbers of the list in
// docs/verified.md.
func TestCasesBehaviours(t *testing.T) {
	want := func(t *testing.T, what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	servers := []string{"llamacpp-b11549-ar", "sglang-0.5.23", "transformers-5.19.0", "vllm-0.32.0-ar"}
	for _, b := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"1 role-only first chunk before prefill", func(t *testing.T) {
			r := recorded(t, "transformers-5.19.0/stream_usage")
			want(t, "first event", r.Events[0].Kind, record.EventRole)
			if wait := r.First - r.Events[0].At; wait < 5e8 {
				t.Errorf("first token %d ns after the role chunk, want more than half a second", wait)
			}
		}},
		{"2 tokens per chunk", func(t *testing.T) {
			vllm, llama := recorded(t, "vllm-0.32.0-ngram/stream_token_ids"), recorded(t, "llamacpp-b11549-ngram/stream_usage")
			n, _ := vllm.OutputTokens()
			if len(vllm.Arrivals()) >= n {
				t.Errorf("vLLM: %d arrivals for %d tokens, want fewer", len(vllm.Arrivals()), n)
			}
			if events := generating(llama); len(llama.Arrivals()) >= events {
				t.Errorf("llama.cpp: %d arrivals of %d events, want bursts seen as one", len(llama.Arrivals()), events)
			}
		}},
		{"3 no [DONE]", func(t *testing.T) {
			r := recorded(t, "transformers-5.19.0/stream_usage")
			want(t, "ok", r.OK, true)
			want(t, "notes", strings.Join(r.Notes, ","), record.NoteNoDone)
			want(t, "llama.cpp's native stream", recorded(t, "llamacpp-b11549-ar/stream_native_completion").OK, true)
		}},
		{"4 usage asked or not", func(t *testing.T) {
			for _, s := range servers {
				r := recorded(t, s+"/stream_nousage")
				_, known := r.OutputTokens()
				want(t, s+" tells its tokens unasked", known, strings.HasPrefix(s, "transformers"))
				r = recorded(t, s+"/stream_usage")
				_, known = r.OutputTokens()
				want(t, s+" tells its tokens when asked", known, true)
			}
			r := recorded(t, "vllm-0.32.0-ar/stream_continuous_usage")
			want(t, "vLLM's first event size by continuous usage", r.Arrivals()[0].Tokens, 1)
		}},
		{"5 n=2", func(t *testing.T) {
			for _, s := range []string{"llamacpp-b11549-ar", "sglang-0.5.23", "vllm-0.32.0-ar"} {
				r := recorded(t, s+"/stream_n2")
				n, _ := r.OutputTokens()
				want(t, s+" tokens", n, 32)
				want(t, s+" other texts", len(r.Others), 1)
			}
			want(t, "transformers answers with one choice", len(recorded(t, "transformers-5.19.0/stream_n2").Others), 0)
		}},
		{"6 the end token is counted and not sent", func(t *testing.T) {
			for _, s := range []string{"sglang-0.5.23"} { // vLLM's recordings end by their length
				r := recorded(t, s+"/stream_usage")
				n, _ := r.OutputTokens()
				texts := 0
				for _, e := range r.Events {
					if e.Kind == record.EventText {
						texts++
					}
				}
				want(t, s+" finish", r.Finish, "stop")
				want(t, s+" tokens beyond the events with text", n-texts, 1)
				want(t, s+" generating events, with the one at the finish", generating(r), n)
			}
		}},
		{"7 text in the finish chunk", func(t *testing.T) {
			vllm, sglang := recorded(t, "vllm-0.32.0-ar/stream_stop"), recorded(t, "sglang-0.5.23/stream_stop")
			want(t, "vLLM finish", vllm.Finish, "stop")
			want(t, "SGLang finish", sglang.Finish, "stop")
			if vllm.Text == "" || strings.HasSuffix(vllm.Text, "```") != strings.HasSuffix(vllm.Text, "`") {
				t.Errorf("vLLM's text ends with %q", vllm.Text[max(0, len(vllm.Text)-20):])
			}
		}},
		{"8 log probabilities change no text", func(t *testing.T) {
			for _, s := range servers {
				want(t, s, recorded(t, s+"/stream_logprobs").OK, true)
			}
		}},
		{"9 token ids", func(t *testing.T) {
			r := recorded(t, "vllm-0.32.0-ngram/stream_token_ids")
			sum := 0
			for _, a := range r.Arrivals() {
				sum += a.Tokens
			}
			want(t, "tokens by their ids", sum, 128)
			for _, s := range []string{"sglang-0.5.23", "transformers-5.19.0"} {
				want(t, s+" refuses them", recorded(t, s+"/stream_token_ids").ErrorClass, record.ClassHTTP4xx)
			}
		}},
		{"10 unknown fields", func(t *testing.T) {
			r := exchanged(t, "transformers-5.19.0/errors/unknown_field")
			want(t, "class", r.ErrorClass, record.ClassHTTP4xx)
			want(t, "the field is named", strings.Contains(r.Error, "no_such_field"), true)
			for _, s := range []string{"llamacpp-b11549-ar", "sglang-0.5.23"} {
				want(t, s, exchanged(t, s+"/errors/unknown_field").OK, true)
			}
		}},
		{"11 unknown model", func(t *testing.T) {
			want(t, "transformers", exchanged(t, "transformers-5.19.0/errors/unknown_model").ErrorClass, record.ClassHTTP4xx)
			want(t, "llama.cpp answers under its own name", exchanged(t, "llamacpp-b11549-ar/errors/unknown_model").Model, "SmolLM2-135M-Instruct")
			want(t, "SGLang echoes the wrong name", exchanged(t, "sglang-0.5.23/errors/unknown_model").Model, "no-such-model")
		}},
		{"12 bodies of errors", func(t *testing.T) {
			for _, s := range servers[:3] {
				files, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "recordings", s, "errors", "*.txt"))
				if err != nil || len(files) < 10 {
					t.Fatalf("%d files, %v", len(files), err)
				}
				for _, f := range files {
					if strings.HasSuffix(f, "transformers-5.19.0/errors/prompt_over_context.txt") {
						continue // it never answered
					}
					r := exchanged(t, s+"/errors/"+strings.TrimSuffix(filepath.Base(f), ".txt"))
					if r.Status >= 400 && (r.OK || r.ErrorClass == "" || len(r.Error) < len("HTTP 400: x") || strings.Contains(r.Error, "{\"")) {
						t.Errorf("%s: ok %v, class %q, error %q; want a message without JSON around it", f, r.OK, r.ErrorClass, r.Error)
					}
				}
			}
		}},
		{"13 max_tokens of zero", func(t *testing.T) {
			one, none := exchanged(t, "llamacpp-b11549-ar/errors/max_tokens_zero"), exchanged(t, "sglang-0.5.23/errors/max_tokens_zero")
			n, _ := one.OutputTokens()
			want(t, "llama.cpp makes one token", n, 1)
			want(t, "SGLang answers with no text", none.OK && none.Text == "", true)
			want(t, "transformers fails", exchanged(t, "transformers-5.19.0/errors/max_tokens_zero").ErrorClass, record.ClassHTTP5xx)
		}},
		{"14 a prompt over the context", func(t *testing.T) {
			for _, s := range []string{"llamacpp-b11549-ar", "sglang-0.5.23"} {
				r := exchanged(t, s+"/errors/prompt_over_context")
				want(t, s, r.ErrorClass, record.ClassHTTP4xx)
				want(t, s+" says why", strings.Contains(r.Error, "context"), true)
			}
		}},
		{"15 a server that is starting", func(t *testing.T) {
			body := `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`
			r := playCase(t, script(t, `head "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: `+strconv.Itoa(len(body))+`\r\n\r\n"`+"\n@1 "+quote(body)), simserver.AsWritten, 0)
			want(t, "llama.cpp's answer", r.ErrorClass+": "+r.Error, "http_5xx: HTTP 503: Loading model")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.Close() // nobody listens there any more, as before vLLM and SGLang are ready
			c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://" + l.Addr().String()})
			defer c.Close()
			r = record.Request{}
			c.Do(t.Context(), []byte("{}"), &r).Fill(&r)
			want(t, "no connection", r.ErrorClass, record.ClassConnect)
		}},
		{"16 a cached prompt is seen", func(t *testing.T) {
			r := exchanged(t, "llamacpp-b11549-ar/errors/unknown_model")
			n, known := r.CachedTokens()
			want(t, "told", known, true)
			want(t, "cached tokens", n, 45)
		}},
		{"19 ids, times and fingerprints do not matter", func(t *testing.T) {
			for _, s := range servers {
				want(t, s, recorded(t, s+"/stream_usage").OK, true)
			}
		}},
		{"21 an error inside a 200 with a proper end", func(t *testing.T) {
			raws, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "recordings", "vllm-0.32.0-dies", "*.raw"))
			if err != nil || len(raws) == 0 {
				t.Fatalf("%d streams, %v", len(raws), err)
			}
			failed := 0
			for _, path := range raws {
				script := recordedScript(t, path)
				if len(script.Pieces) == 0 {
					continue
				}
				if r := playCase(t, script, simserver.AsWritten, 0); r.Status == 200 && r.ErrorClass == record.ClassStream {
					failed++
				}
			}
			if failed == 0 {
				t.Error("no stream of the dying engine is a failure")
			}
		}},
	} {
		t.Run(b.name, b.check)
	}
}

func generating(r record.Request) (n int) {
	for _, e := range r.Events {
		if e.Kind.Generates() {
			n++
		}
	}
	return n
}
