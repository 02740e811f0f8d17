package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/spec"
	"treeline/internal/infer/spec/lookup"
	"treeline/internal/wire/openai"
)

// fixture is a served fake model.
type fixture struct {
	*Server
	engine *engine.Engine
	url    string
}

type fixtureOptions struct {
	delay  time.Duration
	method string
	key    string
	engine engine.Options
}

func serve(t *testing.T, o fixtureOptions) *fixture {
	t.Helper()
	r := enginetest.NewRunner()
	if o.delay > 0 {
		r.Delay = func(int) time.Duration { return o.delay }
	}
	m := NewMetrics("fake")
	eo := o.engine
	eo.EOS, eo.Observe = []int32{enginetest.EOS}, m
	eo.NewText = func() engine.Detokenizer { return enginetest.Text{}.NewStream() }
	if eo.MaxQueue == 0 {
		eo.MaxQueue = 16
	}
	if o.method == "NGRAM" {
		eo.DraftTokens = 4
		eo.NewDrafter = func() spec.Drafter { return lookup.New(lookup.Options{MinMatch: 1, MaxMatch: 4}) }
	}
	e, err := engine.New(r, eo)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Model: "fake", APIKey: o.key, Version: "test", Metrics: m})
	s.Ready(&Backend{
		Engine: e, Text: enginetest.Text{},
		Chat: func(ms []openai.Message, _ map[string]any) (string, error) {
			var sb strings.Builder
			for _, m := range ms {
				sb.WriteString("<" + m.Role + ">" + string(m.Content) + "\n")
			}
			return sb.String() + "<assistant>", nil
		},
		Info: Info{ModelPath: "fake.gguf", ISA: "go", Threads: 2, Weights: "F32", Method: o.method, PID: 7, StartUnixNS: 5},
	})
	hs := httptest.NewServer(s)
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &fixture{s, e, hs.URL}
}

// call sends a request and returns status, body and header.
func (f *fixture) call(t *testing.T, method, path, body string) (int, []byte, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b, resp.Header
}

func (f *fixture) ask(t *testing.T, path, body string) openai.Response {
	t.Helper()
	status, b, _ := f.call(t, "POST", path, body)
	var r openai.Response
	if err := json.Unmarshal(b, &r); err != nil || status != 200 {
		t.Fatalf("%s %s: status %d, %s (%v)", path, body, status, b, err)
	}
	return r
}

// events splits a stream into its data payloads.
func events(t *testing.T, b []byte) (chunks []openai.Response, raw []string) {
	t.Helper()
	for part := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\n\n")), []byte("\n\n")) {
		data, ok := bytes.CutPrefix(part, []byte("data: "))
		if !ok {
			t.Fatalf("event %q has no data", part)
		}
		raw = append(raw, string(data))
		var c openai.Response
		if string(data) != "[DONE]" {
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatalf("chunk %q: %v", data, err)
			}
			chunks = append(chunks, c)
		}
	}
	return chunks, raw
}

const question = `"messages":[{"role":"user","content":"the cat sat on the mat"}],"seed":3`
