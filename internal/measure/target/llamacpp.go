package target

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"treeline/internal/wire/promtext"
)

// slot is what we read of one entry of llama.cpp's /slots. Speculative is true only when the speculative context was
// really made: the server falls back to plain decoding without a word when that fails. Params is there after a slot's
// first task.
type slot struct {
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
	Params      struct {
		Types string `json:"speculative.types"`
	} `json:"params"`
}

func llamacppAdapter() adapter {
	return adapter{
		metrics: "/metrics", spec: true,
		extras:   map[string]any{"cache_prompt": false},
		identify: identifyLlamaCpp,
		load: func(ctx context.Context, s *Server, m *promtext.Scrape) (Load, bool) {
			slots, err := readSlots(ctx, s)
			if err != nil {
				return gauges(m, "llamacpp:requests_processing", "llamacpp:requests_deferred")
			}
			l := Load{Source: "/slots"}
			for _, sl := range slots {
				if sl.Processing {
					l.Running++
				}
			}
			if m != nil {
				l.Waiting, _ = m.Sum("llamacpp:requests_deferred", nil)
			}
			return l, true
		},
		counters: func(m *promtext.Scrape) Counters {
			c := pick(m, map[Counter]string{
				Generated: "llamacpp:tokens_predicted_total", Prompt: "llamacpp:prompt_tokens_total",
				Drafts: "llamacpp:spec_decode_num_drafts_total", Drafted: "llamacpp:spec_decode_num_draft_tokens_total",
				Accepted: "llamacpp:spec_decode_num_accepted_tokens_total",
			})
			return c
		},
	}
}

func readSlots(ctx context.Context, s *Server) ([]slot, error) {
	var slots []slot
	if err := s.web.getJSON(ctx, "/slots", &slots); err != nil {
		return nil, err
	}
	return slots, nil
}

func identifyLlamaCpp(ctx context.Context, s *Server) error {
	var props struct {
		Build string `json:"build_info"`
	}
	res, err := s.web.get(ctx, "/props")
	if err != nil {
		return err
	}
	if res.status == http.StatusOK && res.json(&props) == nil {
		s.Version = props.Build
	}
	s.Configured, s.Evidence = MethodUnknown, ""
	slots, err := readSlots(ctx, s)
	if err != nil || len(slots) == 0 {
		return nil // --no-slots: the counters have to show it
	}
	speculative, types := false, ""
	for _, sl := range slots {
		speculative = speculative || sl.Speculative
		if sl.Params.Types != "" {
			types = sl.Params.Types
		}
	}
	switch {
	case !speculative:
		s.Configured, s.Evidence = MethodNone, "/slots says speculative false in every slot"
	case types == "" || types == "none":
		s.Evidence = "/slots says speculative true and names no method yet"
	default:
		s.Configured = llamacppMethod(types)
		s.Evidence = fmt.Sprintf("/slots says speculative true with speculative.types %q", types)
	}
	return nil
}

// llamacppMethod translates speculative.types, which may list several.
func llamacppMethod(types string) string {
	for _, m := range []struct{ part, method string }{
		{"mtp", "nextn"}, {"eagle3", "eagle3"}, {"eagle", "eagle"}, {"dflash", "dflash"}, {"suffix", "suffix"}, {"ngram", "ngram"}, {"draft", "draft"},
	} {
		if strings.Contains(types, m.part) {
			return m.method
		}
	}
	return MethodUnknown
}
