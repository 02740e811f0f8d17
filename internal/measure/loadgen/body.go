package loadgen

import (
	"encoding/json"
	"maps"
	"slices"

	"treeline/internal/measure/workload"
)

// Chat says what a request asks for. Names are those of the API.
type Chat struct {
	Model       string
	Prompt      string // of the user, where there are no Messages
	Messages    []workload.Message
	MaxTokens   int // 0 leaves it out
	Temperature float64
	Seed        int64 // sent when Temperature is above 0
	IgnoreEOS   bool
	Stream      bool
	// Extra are members that only some servers know, such as llama.cpp's cache_prompt. A stream_options among them
	// replaces the usual one.
	Extra map[string]any
	// Without names members to leave out because this server refuses them.
	Without []string
}

// Body is the JSON of the request. A member that the server refuses can be left out; messages and model cannot.
func (c Chat) Body() ([]byte, error) {
	m := map[string]any{"temperature": c.Temperature}
	maps.Copy(m, c.Extra)
	if c.MaxTokens > 0 {
		m["max_tokens"] = c.MaxTokens
	}
	if c.Temperature > 0 {
		m["seed"] = c.Seed
	}
	if c.IgnoreEOS {
		m["ignore_eos"] = true
	}
	if _, own := m["stream_options"]; !own && c.Stream {
		m["stream_options"] = map[string]any{"include_usage": true}
	}
	if !c.Stream {
		delete(m, "stream_options")
	}
	maps.DeleteFunc(m, func(k string, _ any) bool { return slices.Contains(c.Without, k) })
	m["model"], m["stream"] = c.Model, c.Stream
	m["messages"] = c.Messages
	if len(c.Messages) == 0 {
		m["messages"] = []workload.Message{{Role: "user", Content: c.Prompt}}
	}
	return json.Marshal(m)
}

// Optional lists the members of c that a strict server may refuse and that can be left out.
func (c Chat) Optional() []string {
	out := slices.Collect(maps.Keys(c.Extra))
	if c.IgnoreEOS {
		out = append(out, "ignore_eos")
	}
	if c.Temperature > 0 {
		out = append(out, "seed")
	}
	if c.Stream {
		out = append(out, "stream_options")
	}
	slices.Sort(out)
	return slices.Compact(out)
}
