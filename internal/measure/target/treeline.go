package target

import (
	"context"
	"fmt"

	"treeline/internal/wire/promtext"
)

// Treeline's own server answers with SGLang's names and adds counters that give the acceptance length exactly.
func treelineAdapter() adapter {
	return adapter{
		metrics: "/metrics", spec: true,
		extras: map[string]any{"stream_options": continuousUsage()},
		identify: func(ctx context.Context, s *Server) error {
			info, err := readServerInfo(ctx, s)
			if err != nil {
				return err
			}
			s.Version, s.Configured, s.Evidence = info.Version, info.method(), info.evidence()
			if t := info.Treeline; t != nil {
				if t.Version != "" {
					s.Version = t.Version
				}
				s.PID = t.PID
				s.Start = fmt.Sprintf("pid %d started at %d ns", t.PID, t.Start)
			}
			return nil
		},
		load: func(_ context.Context, _ *Server, m *promtext.Scrape) (Load, bool) {
			return gauges(m, "sglang:num_running_reqs", "sglang:num_queue_reqs")
		},
		counters: func(m *promtext.Scrape) Counters {
			return pick(m, map[Counter]string{
				Generated: "sglang:generation_tokens_total", Prompt: "sglang:prompt_tokens_total",
				Drafts: "treeline:spec_drafts_total", Drafted: "treeline:spec_draft_tokens_total",
				Accepted: "treeline:spec_accepted_tokens_total", Passes: "treeline:decode_passes_total",
			})
		},
	}
}
