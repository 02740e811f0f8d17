package target

import (
	"context"
	"fmt"
	"strings"

	"treeline/internal/wire/promtext"
)

// serverInfo is what we read of SGLang's /server_info, a flat dump of its arguments; Treeline's server answers the same
// names and adds a member of its own. The dump holds API keys in clear: only these members are ever kept.
type serverInfo struct {
	Version   string  `json:"version"`
	ModelPath string  `json:"model_path"`
	Algorithm *string `json:"speculative_algorithm"`
	DraftPath *string `json:"speculative_draft_model_path"`
	DDTree    bool    `json:"speculative_dflash_enable_ddtree"` // a fork shows DFLASH with this flag
	Treeline  *struct {
		Version string `json:"version"`
		PID     int    `json:"pid"`
		Start   int64  `json:"start_time_unix_ns"`
	} `json:"treeline"`
}

// readServerInfo tries the present and the older name of the route.
func readServerInfo(ctx context.Context, s *Server) (info serverInfo, err error) {
	if err = s.web.getJSON(ctx, "/server_info", &info); err != nil {
		if s.web.getJSON(ctx, "/get_server_info", &info) == nil {
			err = nil
		}
	}
	return info, err
}

// method gives the canonical method. SGLang shows EAGLE for a head inside the checkpoint as well; that is NEXTN.
func (i serverInfo) method() string {
	if i.Algorithm == nil || *i.Algorithm == "" || strings.EqualFold(*i.Algorithm, "none") {
		return MethodNone
	}
	own := i.DraftPath == nil || *i.DraftPath == "" || *i.DraftPath == i.ModelPath
	switch strings.ToUpper(*i.Algorithm) {
	case "NGRAM":
		return "ngram"
	case "EAGLE":
		if own {
			return "nextn"
		}
		return "eagle"
	case "NEXTN", "FROZEN_KV_MTP":
		return "nextn"
	case "EAGLE3":
		return "eagle3"
	case "STANDALONE":
		return "draft"
	case "DFLASH":
		if i.DDTree {
			return "ddtree"
		}
		return "dflash"
	case "DDTREE":
		return "ddtree"
	case "GRAFT":
		return "graft"
	case "SUFFIX":
		return "suffix"
	}
	return MethodUnknown
}

func (i serverInfo) evidence() string {
	if i.Algorithm == nil {
		return "/server_info says speculative_algorithm null"
	}
	return fmt.Sprintf("/server_info says speculative_algorithm %q", *i.Algorithm)
}

func sglangAdapter() adapter {
	return adapter{
		metrics: "/metrics", spec: true,
		extras: map[string]any{"stream_options": continuousUsage()},
		identify: func(ctx context.Context, s *Server) error {
			info, err := readServerInfo(ctx, s)
			if err != nil {
				return err
			}
			s.Version, s.Configured, s.Evidence = info.Version, info.method(), info.evidence()
			return nil
		},
		load: func(ctx context.Context, s *Server, m *promtext.Scrape) (Load, bool) {
			if l, ok := sglangLoads(ctx, s); ok {
				return l, true
			}
			return gauges(m, "sglang:num_running_reqs", "sglang:num_queue_reqs")
		},
		counters: func(m *promtext.Scrape) Counters {
			return pick(m, map[Counter]string{
				Generated: "sglang:generation_tokens_total", Prompt: "sglang:prompt_tokens_total",
				Requests: "sglang:num_requests_total", Verify: "sglang:spec_verify_calls_total",
			})
		},
	}
}

// sglangLoads reads /v1/loads, which newer servers have without any flag.
func sglangLoads(ctx context.Context, s *Server) (Load, bool) {
	var reply struct {
		Loads []struct {
			Running float64            `json:"num_running_reqs"`
			Waiting float64            `json:"num_waiting_reqs"`
			Queues  map[string]float64 `json:"queues"`
		} `json:"loads"`
	}
	if s.web.getJSON(ctx, "/v1/loads?include=core,queues", &reply) != nil || len(reply.Loads) == 0 {
		return Load{}, false
	}
	l := Load{Source: "/v1/loads"}
	for _, rank := range reply.Loads {
		l.Running += rank.Running
		waiting := rank.Waiting
		for name, v := range rank.Queues {
			if name != "waiting" {
				waiting += v
			}
		}
		l.Waiting += waiting
	}
	return l, true
}

// continuousUsage asks for the running token count in every chunk, which tells what each of them holds.
func continuousUsage() map[string]any {
	return map[string]any{"include_usage": true, "continuous_usage_stats": true}
}
