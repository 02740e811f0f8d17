package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/wire/openai"
)

func TestChat(t *testing.T) {
	for _, method := range []string{"NONE", "NGRAM"} {
		f := serve(t, fixtureOptions{method: method})
		r := f.ask(t, "/v1/chat/completions", `{"model":"fake",`+question+`,"max_tokens":30,"ignore_eos":true}`)
		c := r.Choices[0]
		if r.Object != "chat.completion" || r.Model != "fake" || *c.FinishReason != "length" || c.Message.Role != "assistant" || *c.Message.Content == "" {
			t.Errorf("%s: answer %+v, message %+v", method, r, c.Message)
		}
		if u := r.Usage; u.CompletionTokens != 30 || u.PromptTokens != len("<user>the cat sat on the mat\n<assistant>") || u.TotalTokens != u.PromptTokens+30 {
			t.Errorf("%s: usage %+v", method, u)
		}
		if r.Seed == nil || *r.Seed != 3 || r.Timings.PredictedN != 30 || r.SystemFingerprint == "" || !strings.HasPrefix(r.ID, "chatcmpl-") {
			t.Errorf("%s: seed %v, timings %+v, id %q", method, r.Seed, r.Timings, r.ID)
		}
		if spec := r.Timings.VerifyN > 0; spec != (method == "NGRAM") {
			t.Errorf("%s: timings %+v", method, r.Timings)
		}
	}
}

func TestChatStream(t *testing.T) {
	f := serve(t, fixtureOptions{method: "NGRAM"})
	body := `{` + question + `,"max_tokens":40,"ignore_eos":true,"temperature":0.5`
	once := f.ask(t, "/v1/chat/completions", body+`}`)
	_, b, h := f.call(t, "POST", "/v1/chat/completions", body+`,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`)
	chunks, raw := events(t, b)
	if got := h.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("Content-Type %q", got)
	}
	if raw[len(raw)-1] != "[DONE]" {
		t.Errorf("last event %q, want [DONE]", raw[len(raw)-1])
	}
	first, finish, usage := chunks[0], chunks[len(chunks)-2], chunks[len(chunks)-1]
	if d := first.Choices[0].Delta; d.Role != "assistant" || d.Content == nil || *d.Content != "" {
		t.Errorf("first chunk %+v, want the role with empty content", d)
	}
	if f := finish.Choices[0].FinishReason; f == nil || *f != "length" || finish.Timings == nil || *finish.Seed != 3 {
		t.Errorf("finish chunk %+v", finish)
	}
	if !strings.Contains(raw[len(raw)-2], `"choices":[]`) || usage.Usage.CompletionTokens != 40 || usage.Timings == nil {
		t.Errorf("usage chunk %s", raw[len(raw)-2])
	}
	text, ids, rounds := "", 0, 0
	for _, c := range chunks[1 : len(chunks)-2] {
		text += *c.Choices[0].Delta.Content
		ids += len(c.Choices[0].TokenIDs)
		rounds++
		if c.Choices[0].FinishReason != nil || c.Choices[0].Delta.Role != "" {
			t.Errorf("chunk %+v", c.Choices[0])
		}
	}
	if text != *once.Choices[0].Message.Content || ids != 40 {
		t.Errorf("streamed %q (%d tokens), want %q (40)", text, ids, *once.Choices[0].Message.Content)
	}
	if want := 40 - finish.Timings.DraftNAccepted; rounds != want || rounds == 40 {
		t.Errorf("%d chunks for 40 tokens, want one per round: %d", rounds, want)
	}
}

func TestContinuousUsage(t *testing.T) {
	f := serve(t, fixtureOptions{})
	_, b, _ := f.call(t, "POST", "/v1/chat/completions", `{`+question+`,"max_tokens":5,"ignore_eos":true,"stream":true,"stream_options":{"continuous_usage_stats":true}}`)
	chunks, _ := events(t, b)
	last := 0
	for _, c := range chunks {
		if c.Usage == nil || c.Usage.CompletionTokens < last {
			t.Fatalf("usage %+v after %d", c.Usage, last)
		}
		last = c.Usage.CompletionTokens
	}
	if last != 5 {
		t.Errorf("last usage %d tokens, want 5", last)
	}
}

func TestChoices(t *testing.T) {
	f := serve(t, fixtureOptions{})
	body := `{` + question + `,"max_tokens":12,"n":3,"ignore_eos":true`
	r := f.ask(t, "/v1/chat/completions", body+`}`)
	if len(r.Choices) != 3 || r.Usage.CompletionTokens != 36 {
		t.Fatalf("%d choices, usage %+v", len(r.Choices), r.Usage)
	}
	_, b, _ := f.call(t, "POST", "/v1/chat/completions", body+`,"stream":true}`)
	chunks, _ := events(t, b)
	texts := make([]string, 3)
	for _, c := range chunks {
		if d := c.Choices[0].Delta; d.Content != nil {
			texts[c.Choices[0].Index] += *d.Content
		}
	}
	for i, c := range r.Choices {
		if c.Index != i || *c.Message.Content != texts[i] {
			t.Errorf("choice %d: %q, streamed %q", i, *c.Message.Content, texts[i])
		}
	}
	if texts[0] == texts[1] || texts[1] == texts[2] {
		t.Errorf("choices do not differ: %q", texts)
	}
}

func TestCompletionPrompts(t *testing.T) {
	f := serve(t, fixtureOptions{})
	ids, err := json.Marshal(enginetest.Text{}.Encode("abc", false))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(prompt string) []string {
		r := f.ask(t, "/v1/completions", `{"prompt":`+prompt+`,"temperature":0}`)
		var out []string
		for _, c := range r.Choices {
			out = append(out, *c.Text)
		}
		if r.Object != "text_completion" || r.Usage.CompletionTokens > 16*len(out) {
			t.Errorf("%s: %+v", prompt, r)
		}
		return out
	}
	one := ask(`"abc"`)
	if len(one) != 1 || one[0] == "" {
		t.Fatalf("answers %q", one)
	}
	for _, form := range []string{string(ids), `[` + string(ids) + `]`, `["abc"]`} {
		if diff := cmp.Diff(one, ask(form)); diff != "" {
			t.Errorf("prompt %s (-want +got):\n%s", form, diff)
		}
	}
	if two := ask(`["abc","xyz"]`); len(two) != 2 || two[0] != one[0] || two[1] == one[0] {
		t.Errorf("two prompts: %q, the first alone %q", two, one)
	}
}

func TestStopAndSeed(t *testing.T) {
	f := serve(t, fixtureOptions{})
	body := `{` + question + `,"max_tokens":60,"ignore_eos":true,"temperature":0.7`
	full := *f.ask(t, "/v1/chat/completions", body+`}`).Choices[0].Message.Content
	stop := full[10:13]
	raw, err := json.Marshal(stop)
	if err != nil {
		t.Fatal(err)
	}
	r := f.ask(t, "/v1/chat/completions", body+`,"stop":`+string(raw)+`}`)
	if want, _, _ := strings.Cut(full, stop); *r.Choices[0].Message.Content != want || *r.Choices[0].FinishReason != "stop" {
		t.Errorf("stop %q: %q %s, want %q", stop, *r.Choices[0].Message.Content, *r.Choices[0].FinishReason, want)
	}
	// A seed that the server drew gives the same answer again.
	free := strings.Replace(body, `,"seed":3`, "", 1)
	drawn := f.ask(t, "/v1/chat/completions", free+`}`)
	seed, err := json.Marshal(drawn.Seed)
	if err != nil {
		t.Fatal(err)
	}
	again := f.ask(t, "/v1/chat/completions", free+`,"seed":`+string(seed)+`}`)
	if *again.Choices[0].Message.Content != *drawn.Choices[0].Message.Content {
		t.Errorf("seed %s gave %q, at first %q", seed, *again.Choices[0].Message.Content, *drawn.Choices[0].Message.Content)
	}
	if other := f.ask(t, "/v1/chat/completions", free+`}`); *other.Seed == *drawn.Seed {
		t.Error("two requests drew the same seed")
	}
}

func TestRefusals(t *testing.T) {
	f := serve(t, fixtureOptions{engine: engine.Options{MaxRunning: 2, MaxQueue: 2}})
	chat, plain := "/v1/chat/completions", "/v1/completions"
	ok := `"messages":[{"role":"user","content":"a"}]`
	for _, tc := range []struct {
		path, body string
		status     int
		param      string
		message    string
	}{
		{chat, `{`, 400, "", "not valid JSON"},
		{chat, ``, 400, "", "no body"},
		{chat, `[]`, 400, "", "the request is a JSON array; send an object"},
		{chat, `{` + ok + `} x`, 400, "", "not valid JSON"},
		{chat, `{"messages":"hi"}`, 400, "messages", "got a string, want a list"},
		{chat, `{}`, 400, "messages", "messages is empty"},
		{chat, `{"messages":[]}`, 400, "messages", "messages is empty"},
		{chat, `{"messages":[{"role":"wizard","content":"a"}]}`, 400, "messages", `messages[0].role is "wizard"`},
		{chat, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages", "image_url is not supported"},
		{chat, `{"messages":[{"role":"user","content":7}]}`, 400, "messages", "content must be"},
		{chat, `{"model":"gpt-4",` + ok + `}`, 404, "model", `"gpt-4" does not exist here; this server has "fake"`},
		{chat, `{` + ok + `,"max_tokens":0}`, 400, "max_tokens", "max_tokens is 0"},
		{chat, `{` + ok + `,"max_tokens":-5}`, 400, "max_tokens", "max_tokens is -5"},
		{chat, `{` + ok + `,"max_tokens":1.5}`, 400, "max_tokens", "number 1.5"},
		{chat, `{` + ok + `,"max_tokens":"9"}`, 400, "max_tokens", "got a string, want a whole number"},
		{chat, `{` + ok + `,"max_completion_tokens":0}`, 400, "max_tokens", "max_tokens is 0"},
		{chat, `{` + ok + `,"temperature":2.1}`, 400, "temperature", "temperature is 2.1, want a number from 0 to 2"},
		{chat, `{` + ok + `,"temperature":-0.1}`, 400, "temperature", "from 0 to 2"},
		{chat, `{` + ok + `,"temperature":true}`, 400, "temperature", "got a bool, want a number"},
		{chat, `{` + ok + `,"top_p":0}`, 400, "top_p", "above 0 to 1"},
		{chat, `{` + ok + `,"top_p":1.1}`, 400, "top_p", "above 0 to 1"},
		{chat, `{` + ok + `,"top_k":-2}`, 400, "top_k", "top_k is -2"},
		{chat, `{` + ok + `,"min_p":2}`, 400, "min_p", "from 0 to 1"},
		{chat, `{` + ok + `,"presence_penalty":3}`, 400, "presence_penalty", "from -2 to 2"},
		{chat, `{` + ok + `,"n":0}`, 400, "n", "n is 0, want 1 to 4"},
		{chat, `{` + ok + `,"n":5}`, 400, "n", "n is 5, want 1 to 4"},
		{chat, `{` + ok + `,"min_tokens":9,"max_tokens":3}`, 400, "min_tokens", "0 to max_tokens"},
		{chat, `{` + ok + `,"stop":""}`, 400, "stop", "none of them empty"},
		{chat, `{` + ok + `,"stop":[1]}`, 400, "stop", "must be a string or a list of strings"},
		{chat, `{` + ok + `,"logit_bias":{"x":1}}`, 400, "logit_bias", `the key "x"`},
		{chat, `{` + ok + `,"logit_bias":{"64":1}}`, 400, "logit_bias", "0 to 63"},
		{chat, `{` + ok + `,"logit_bias":{"1":101}}`, 400, "logit_bias", "-100 to 100"},
		{chat, `{` + ok + `,"logit_bias":{"1":1,"01":1}}`, 400, "logit_bias", "twice"},
		{chat, `{` + ok + `,"logprobs":true}`, 400, "logprobs", "not supported"},
		{chat, `{` + ok + `,"tools":[{"type":"function"}]}`, 400, "tools", "not supported"},
		{chat, `{` + ok + `,"response_format":{"type":"json_object"}}`, 400, "response_format", "json_object"},
		{chat, `{` + ok + `,"stream_options":{"include_usage":true}}`, 400, "", "only allowed with stream"},
		{chat, `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 600) + `"}]}`, 400, "", "the prompt has 618 tokens; the context holds 512"},
		{plain, `{}`, 400, "prompt", "prompt is missing"},
		{plain, `{"prompt":""}`, 400, "prompt", "prompt 0 is empty"},
		{plain, `{"prompt":[]}`, 400, "prompt", "empty list"},
		{plain, `{"prompt":7}`, 400, "prompt", "must be a string"},
		{plain, `{"prompt":[1,-1]}`, 400, "prompt", "prompt token 1 is -1"},
		{plain, `{"prompt":[64]}`, 400, "prompt", "prompt token 0 is 64"},
		{plain, `{"prompt":["a","b","c","d","e"]}`, 400, "prompt", "more than the 4 choices"},
		{plain, `{"prompt":"a","echo":true}`, 400, "echo", "not supported"},
		{plain, `{"prompt":"a","logprobs":1}`, 400, "logprobs", "not supported"},
		{plain, `{"prompt":"a","best_of":2}`, 400, "best_of", "not supported"},
		{plain, `{"prompt":"a","suffix":"z"}`, 400, "suffix", "not supported"},
		{plain, `{"prompt":"` + strings.Repeat("a", MaxBodyBytes) + `"}`, 413, "", "larger than 16 MiB"},
		{"/tokenize", `{}`, 400, "prompt", "missing"},
		{"/detokenize", `{"tokens":[99]}`, 400, "tokens", "tokens[0] is 99"},
		{"/nowhere", `{}`, 404, "", "nothing at /nowhere"},
		{"/v1/models", `{}`, 405, "", "POST is not possible"},
	} {
		status, b, _ := f.call(t, "POST", tc.path, tc.body)
		var e struct{ Error *openai.Error }
		if err := json.Unmarshal(b, &e); err != nil || e.Error == nil {
			t.Errorf("%s %.60s: body %s is no error object", tc.path, tc.body, b)
			continue
		}
		if status != tc.status || !strings.Contains(e.Error.Message, tc.message) || e.Error.Type == "" {
			t.Errorf("%s %.60s: %d %s, want %d %q", tc.path, tc.body, status, b, tc.status, tc.message)
		}
		if tc.param != "" && (e.Error.Param == nil || *e.Error.Param != tc.param) {
			t.Errorf("%s %.60s: param in %s, want %q", tc.path, tc.body, b, tc.param)
		}
	}
	if status, b, _ := f.call(t, "GET", "/v1/chat/completions", ""); status != 405 || !bytes.Contains(b, []byte(`"error"`)) {
		t.Errorf("GET on a POST endpoint: %d %s", status, b)
	}
	if c := f.engine.Counters(); c.Requests != 0 || c.Queued != 0 {
		t.Errorf("refused requests reached the engine: %+v", c)
	}
}

func TestAPIKey(t *testing.T) {
	f := serve(t, fixtureOptions{key: "secret"})
	for _, tc := range []struct {
		path, header string
		want         int
	}{
		{"/v1/models", "", 401},
		{"/v1/models", "Bearer wrong", 401},
		{"/v1/models", "secret", 401},
		{"/v1/models", "Bearer secret", 200},
		{"/server_info", "", 401},
		{"/flush_cache", "", 401},
		{"/health", "", 200},
		{"/metrics", "", 200},
	} {
		req, err := http.NewRequest("GET", f.url+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.header != "" {
			req.Header.Set("Authorization", tc.header)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s with %q: %d, want %d", tc.path, tc.header, resp.StatusCode, tc.want)
		}
	}
}

func TestInfo(t *testing.T) {
	for _, tc := range []struct {
		method string
		want   any
		drafts any
	}{{"NONE", nil, nil}, {"NGRAM", "NGRAM", 4.0}} {
		f := serve(t, fixtureOptions{method: tc.method})
		for _, path := range []string{"/server_info", "/get_server_info"} {
			var m map[string]any
			_, b, _ := f.call(t, "GET", path, "")
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			if m["speculative_algorithm"] != tc.want || m["speculative_num_draft_tokens"] != tc.drafts || m["context_length"] != 512.0 {
				t.Errorf("%s %s: %s", tc.method, path, b)
			}
			if own, ok := m["treeline"].(map[string]any); !ok || own["isa"] != "go" || own["threads"] != 2.0 || own["pid"] != 7.0 {
				t.Errorf("%s: treeline member in %s", path, b)
			}
		}
		_, b, _ := f.call(t, "GET", "/v1/models", "")
		var l openai.ModelList
		if err := json.Unmarshal(b, &l); err != nil || l.Data[0].OwnedBy != "treeline" || l.Data[0].ID != "fake" || l.Data[0].MaxModelLen != 512 {
			t.Errorf("/v1/models: %s", b)
		}
		if status, b, _ := f.call(t, "GET", "/v1/models/fake", ""); status != 200 {
			t.Errorf("/v1/models/fake: %d %s", status, b)
		}
		if status, _, _ := f.call(t, "GET", "/v1/models/other", ""); status != 404 {
			t.Errorf("/v1/models/other: %d, want 404", status)
		}
		for _, m := range []string{"GET", "POST"} {
			if status, b, _ := f.call(t, m, "/flush_cache", ""); status != 200 {
				t.Errorf("%s /flush_cache: %d %s", m, status, b)
			}
		}
	}
}

func TestTokenize(t *testing.T) {
	f := serve(t, fixtureOptions{})
	var got struct {
		Tokens []int32
		Count  int
	}
	_, b, _ := f.call(t, "POST", "/tokenize", `{"prompt":"abc"}`)
	if err := json.Unmarshal(b, &got); err != nil || !slices.Equal(got.Tokens, []int32{1, 2, 3}) || got.Count != 3 {
		t.Errorf("/tokenize: %s", b)
	}
	if _, b, _ := f.call(t, "POST", "/detokenize", `{"tokens":[1,2,3]}`); !bytes.Contains(b, []byte(`"content":"abc"`)) {
		t.Errorf("/detokenize: %s", b)
	}
}

// TestMetrics: all series from the start, and up to date when the answer has ended.
func TestMetrics(t *testing.T) {
	f := serve(t, fixtureOptions{method: "NGRAM"})
	scrape := func() map[string]string {
		_, b, _ := f.call(t, "GET", "/metrics", "")
		out := map[string]string{}
		for line := range strings.Lines(string(b)) {
			if name, v, ok := strings.Cut(strings.TrimSpace(line), `{model_name="fake"} `); ok {
				out[name] = v
			}
		}
		return out
	}
	names := []string{
		"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:num_requests_total",
		"treeline:spec_drafts_total", "treeline:spec_draft_tokens_total", "treeline:spec_accepted_tokens_total", "treeline:decode_passes_total",
		"sglang:time_to_first_token_seconds_count", "sglang:inter_token_latency_seconds_count", "sglang:e2e_request_latency_seconds_count",
	}
	before := scrape()
	for _, n := range names {
		if before[n] != "0" {
			t.Errorf("%s = %q at the start, want 0", n, before[n])
		}
	}
	for i, stream := range []string{"false", "true"} {
		body := `{"prompt":"the cat sat on the mat","max_tokens":50,"temperature":0,"ignore_eos":true,"stream":` + stream + `}`
		f.call(t, "POST", "/v1/completions", body)
		after := scrape()
		want := map[string]string{}
		for n, v := range map[string][2]string{
			"sglang:num_running_reqs": {"0", "0"}, "sglang:num_requests_total": {"1", "2"}, "sglang:prompt_tokens_total": {"22", "44"},
			"sglang:generation_tokens_total": {"50", "100"}, "sglang:time_to_first_token_seconds_count": {"1", "2"},
			"sglang:inter_token_latency_seconds_count": {"49", "98"}, "sglang:e2e_request_latency_seconds_count": {"1", "2"},
		} {
			if want[n] = v[i]; after[n] != v[i] {
				t.Errorf("stream %s: %s = %s, want %s", stream, n, after[n], v[i])
			}
		}
		if after["treeline:spec_drafts_total"] == "0" || after["treeline:spec_accepted_tokens_total"] == "0" {
			t.Errorf("stream %s: no speculation counted: %v", stream, after)
		}
	}
}
