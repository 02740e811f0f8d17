package target

import (
	"context"
	"fmt"
	"net/http"

	"treeline/internal/wire/promtext"
)

const vllmDrafts = "vllm:spec_decode_num_drafts_total"

func vllmAdapter() adapter {
	return adapter{
		metrics: "/metrics", spec: true,
		extras:   map[string]any{"stream_options": continuousUsage()},
		identify: identifyVLLM,
		load: func(_ context.Context, _ *Server, m *promtext.Scrape) (Load, bool) {
			return gauges(m, "vllm:num_requests_running", "vllm:num_requests_waiting")
		},
		counters: func(m *promtext.Scrape) Counters {
			return pick(m, map[Counter]string{
				Generated: "vllm:generation_tokens_total", Prompt: "vllm:prompt_tokens_total", Requests: "vllm:request_success_total",
				Drafts: vllmDrafts, Drafted: "vllm:spec_decode_num_draft_tokens_total", Accepted: "vllm:spec_decode_num_accepted_tokens_total",
			})
		},
	}
}

// identifyVLLM learns the method from the configuration in developer mode. Otherwise the series of speculation tell
// only whether there is a method: vLLM registers them at start if and only if one is configured.
func identifyVLLM(ctx context.Context, s *Server) error {
	var version struct {
		Version string `json:"version"`
	}
	if s.web.getJSON(ctx, "/version", &version) == nil {
		s.Version = version.Version
	}
	s.Configured, s.Evidence = MethodUnknown, ""
	if vllmConfig(ctx, s) {
		return nil
	}
	sc, err := s.Scrape(ctx)
	if err != nil || sc.parsed == nil {
		return nil
	}
	if v, ok := sc.parsed.Sum("vllm:generation_tokens_created", nil); ok && s.Start == "" {
		s.Start = fmt.Sprintf("counters created at %.2f", v)
	}
	if !sc.parsed.Has(vllmDrafts) {
		s.Configured, s.Evidence = MethodNone, "/metrics has no vllm:spec_decode series, which are registered only with a method"
		return nil
	}
	positions := len(sc.parsed.LabelValues("vllm:spec_decode_num_accepted_tokens_per_pos_total", "position"))
	s.Evidence = fmt.Sprintf("/metrics has vllm:spec_decode series with %d draft positions; the method's name is not exposed", positions)
	return nil
}

// vllmConfig reads /server_info, which exists in developer mode only.
func vllmConfig(ctx context.Context, s *Server) bool {
	var info struct {
		Config struct {
			Spec *struct {
				Method string `json:"method"`
			} `json:"speculative_config"`
		} `json:"vllm_config"`
	}
	res, err := s.web.get(ctx, "/server_info?config_format=json")
	if err != nil || res.status != http.StatusOK || res.json(&info) != nil {
		return false
	}
	if info.Config.Spec == nil {
		s.Configured, s.Evidence = MethodNone, "/server_info says speculative_config null"
		return true
	}
	s.Configured = vllmMethod(info.Config.Spec.Method)
	s.Evidence = fmt.Sprintf("/server_info says speculative_config method %q", info.Config.Spec.Method)
	return true
}

func vllmMethod(name string) string {
	switch name {
	case "ngram", "ngram_gpu":
		return "ngram"
	case "mtp":
		return "nextn"
	case "draft_model":
		return "draft"
	case "eagle", "eagle3", "suffix", "dflash", "ddtree":
		return name
	}
	return MethodUnknown
}
