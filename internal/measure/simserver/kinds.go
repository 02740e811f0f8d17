package simserver

import (
	"fmt"
	"net/http"
	"strings"

	"treeline/internal/wire/openai"
)

// version is what the imitations say; the word tells a reader of a result what it was.
const version = "0.0-simulated"

func (s *Server) models() openai.ModelList {
	owner := s.spec.As
	if owner == "generic" {
		owner = "simulated"
	}
	return openai.ModelList{Object: "list", Data: []openai.Model{{ID: s.spec.Model, Object: "model", OwnedBy: owner, MaxModelLen: 131072}}}
}

// identity answers the paths by which the imitated server is known.
func (s *Server) identity(w *reply, path string) (known bool, err error) {
	var v any
	switch s.spec.As + " " + path {
	case "sglang /server_info", "sglang /get_server_info":
		var algorithm any
		if s.spec.Spec != nil {
			algorithm = strings.ToUpper(s.spec.Spec.Method)
		}
		v = map[string]any{"version": version, "model_path": s.spec.Model, "speculative_algorithm": algorithm}
	case "vllm /version":
		v = map[string]any{"version": version}
	case "llamacpp /props":
		v = map[string]any{"build_info": version}
	case "llamacpp /slots":
		v = s.slotList()
	case "sglang /metrics", "vllm /metrics", "llamacpp /metrics":
		return true, w.send(http.StatusOK, "text/plain; version=0.0.4", []byte(s.metrics()))
	default:
		return false, nil
	}
	return true, w.json(http.StatusOK, v)
}

func (s *Server) slotList() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []any
	for i := range max(1, s.spec.Slots, s.count.running) {
		slot := map[string]any{"id": i, "speculative": s.spec.Spec != nil, "is_processing": i < s.count.running}
		if s.spec.Spec != nil {
			slot["params"] = map[string]any{"speculative.types": s.spec.Spec.Method}
		}
		out = append(out, slot)
	}
	return out
}

// metrics is the Prometheus text under the imitated server's names.
func (s *Server) metrics() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	c, drafts := s.count, s.spec.Spec != nil
	line := func(name string, v int) { fmt.Fprintf(&b, "%s %d\n", name, v) }
	switch s.spec.As {
	case "sglang":
		line("sglang:num_running_reqs", c.running)
		line("sglang:num_queue_reqs", c.waiting)
		line("sglang:prompt_tokens_total", c.prompt)
		line("sglang:generation_tokens_total", c.generated)
		line("sglang:num_requests_total", c.requests)
		line("sglang:cached_tokens_total", c.hits)
		if drafts {
			line("sglang:spec_verify_calls_total", c.drafts)
		}
	case "vllm":
		line("vllm:num_requests_running", c.running)
		line("vllm:num_requests_waiting", c.waiting)
		line("vllm:prompt_tokens_total", c.prompt)
		line("vllm:generation_tokens_total", c.generated)
		fmt.Fprintf(&b, "vllm:generation_tokens_created %.3f\n", float64(s.wall)/1e9)
		line(`vllm:request_success_total{finished_reason="length"}`, c.requests)
		line("vllm:prefix_cache_queries_total", c.prompt)
		line("vllm:prefix_cache_hits_total", c.hits)
		s.specSeries(&b, "vllm:", drafts)
	case "llamacpp":
		line("llamacpp:requests_processing", c.running)
		line("llamacpp:requests_deferred", c.waiting)
		line("llamacpp:prompt_tokens_total", c.prompt-c.hits)
		line("llamacpp:tokens_predicted_total", c.generated)
		s.specSeries(&b, "llamacpp:", drafts)
	}
	return b.String()
}

// specSeries are the counters of speculation, which vLLM and llama.cpp name alike.
func (s *Server) specSeries(b *strings.Builder, prefix string, drafts bool) {
	if !drafts {
		return
	}
	c := s.count
	fmt.Fprintf(b, "%sspec_decode_num_drafts_total %d\n", prefix, c.drafts)
	fmt.Fprintf(b, "%sspec_decode_num_draft_tokens_total %d\n", prefix, c.drafted)
	fmt.Fprintf(b, "%sspec_decode_num_accepted_tokens_total %d\n", prefix, c.accepted)
	for i, n := range c.perPos {
		fmt.Fprintf(b, "%sspec_decode_num_accepted_tokens_per_pos_total{position=\"%d\"} %d\n", prefix, i, n)
	}
}
