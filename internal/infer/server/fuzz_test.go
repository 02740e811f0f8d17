package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"treeline/internal/wire/openai"
)

// FuzzBody: whatever the body, the answer is a completion or an error object with a 4xx status, never a 5xx.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"a"}],"max_tokens":3}`, `{"prompt":"a","n":2,"stream":true}`, `{"prompt":[[1],[2]]}`,
		`{"prompt":"a","logit_bias":{"1":-100},"stop":["b",""]}`, `{"prompt":"a","seed":9223372036854775807,"temperature":1e-300}`,
		`{"prompt":null}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"top_p":1e-9,"min_p":1}`, `{"prompt":"a","top_k":2147483648}`,
		`{"prompt":"a","presence_penalty":-2,"frequency_penalty":2,"max_tokens":9,"min_tokens":9}`, "\x00", `{"prompt":"\ud800"}`,
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, body string, chat bool) {
		s := serve(t, fixtureOptions{})
		path := "/v1/completions"
		if chat {
			path = "/v1/chat/completions"
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		if w.Code == 200 {
			return
		}
		var e struct{ Error *openai.Error }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error == nil || e.Error.Message == "" || w.Code >= 500 {
			t.Errorf("%q: status %d, %s", body, w.Code, w.Body)
		}
	})
}
