package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/proof"
	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
)

// ProbePrompt is what probe asks when nothing else is said.
const ProbePrompt = "Write a Python function fibonacci(n) using iteration. Return only code."

// ProbeOptions are those of one request.
type ProbeOptions struct {
	URL         string // with or without /v1
	APIKey      string
	Model       string // "" takes the server's first
	ServerKind  string // "" detects
	Prompt      string
	MaxTokens   int
	Temperature float64
}

// ProbeResult is what one request yielded. TokS is CompletionTokens / Seconds, with everything in it: connection,
// prefill and decoding.
type ProbeResult struct {
	Seconds          float64          `json:"seconds"`
	CompletionTokens int              `json:"completion_tokens"`
	TokS             float64          `json:"tok_s"`
	FinishReason     string           `json:"finish_reason"`
	Model            string           `json:"model"`
	Server           ProbeServer      `json:"server"`
	URL              string           `json:"url"`
	PromptTokens     int              `json:"prompt_tokens"`
	Text             string           `json:"text"`
	CannotTell       []string         `json:"cannot_tell"`
	Warnings         []record.Warning `json:"warnings"`
	Error            string           `json:"error,omitempty"`
}

// ProbeServer is the server that answered.
type ProbeServer struct {
	Kind       string   `json:"kind"`
	Version    string   `json:"version"`
	Method     string   `json:"method"`
	ProofLevel int      `json:"proof_level"`
	Evidence   []string `json:"evidence"`
}

// Probe sends one request that is not streamed. When the request itself fails the result is returned beside the error,
// with what is known about the server.
func Probe(ctx context.Context, o ProbeOptions) (*ProbeResult, error) {
	s, err := target.Identify(ctx, target.Options{URL: o.URL, APIKey: o.APIKey, Model: o.Model, Kind: o.ServerKind})
	if err != nil {
		return nil, err
	}
	before, err := s.Scrape(ctx)
	if err != nil {
		return nil, err
	}
	body, err := loadgen.Chat{Model: s.Model, Prompt: o.Prompt, MaxTokens: o.MaxTokens, Temperature: o.Temperature}.Body()
	if err != nil {
		return nil, err
	}
	c := loadgen.NewClient(loadgen.ClientOptions{Base: s.Base, APIKey: o.APIKey})
	defer c.Close()
	r := record.Request{ID: 1, Prompt: "probe", Level: 1}
	c.Do(ctx, body, &r).Fill(&r)

	out := &ProbeResult{
		Model: s.Model, URL: s.Base, Text: r.Reasoning + r.Text, FinishReason: r.Finish, Warnings: []record.Warning{},
		Seconds: float64(r.Done-r.Call) / 1e9, Server: ProbeServer{Kind: s.Kind, Version: s.Version, Method: target.MethodUnknown, Evidence: []string{}},
	}
	if !r.OK {
		out.Error = r.Error
		if err := ctx.Err(); err != nil {
			return out, err
		}
		return out, fmt.Errorf("probe %s: the request failed (%s): %s", s.Base, r.ErrorClass, r.Error)
	}
	if r.Usage != nil {
		out.PromptTokens = r.Usage.PromptTokens
	}
	n, known := r.OutputTokens()
	if known && out.Seconds > 0 {
		out.CompletionTokens, out.TokS = n, float64(n)/out.Seconds
	} else if !known {
		out.Warnings = append(out.Warnings, record.Warning{Code: record.WarnUsageMissing, Text: "the server does not say how many tokens it generated: there is no speed"})
	}
	p := proveProbe(ctx, s, before, r)
	out.Server.Method, out.Server.ProofLevel = p.Method, p.Level
	out.Server.Evidence = append(out.Server.Evidence, p.Evidence...)
	out.Warnings = append(out.Warnings, p.Warnings...)
	out.CannotTell = cannotTell(&r, out)
	return out, nil
}

// proveProbe is the proof of MeasureStart over one request. Counters get a second to catch up.
func proveProbe(ctx context.Context, s *target.Server, before target.Scrape, r record.Request) proof.Proof {
	var after target.Scrape
	n, _ := r.OutputTokens()
	for range 5 {
		var err error
		after, err = s.Scrape(ctx)
		if err != nil || !after.Has() || target.Delta(before.Counters, after.Counters)[target.Generated] >= float64(n) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	changed := ""
	if err := s.Refresh(ctx); err != nil {
		changed = err.Error()
	}
	return proof.Judge(proof.Facts{
		Kind: s.Kind, Configured: s.Configured, Evidence: s.Evidence, Changed: changed, TellsSpec: s.TellsSpeculation(after),
		Before: before.Counters, After: after.Counters, Requests: []record.Request{r},
	})
}

// cannotTell says plainly what the figure is not good for.
func cannotTell(r *record.Request, p *ProbeResult) []string {
	split := "how much of it was waiting for the first token: the answer came in one piece"
	if t := r.Timings; t != nil && t.PredictedN > 1 {
		split = fmt.Sprintf("the decode speed: tok_s mixes prefill and decoding (by the server's own clock %.0f ms and %.0f ms)", t.PromptMS, t.PredictedMS)
	}
	out := []string{
		"how sure the figure is: one request has no interval",
		"what the next start of this server would give: starts of one and the same server differ by several per cent, and only repeated starts show it",
		split,
		"the speed with other prompts: speculation pays differently for code, chat and translation",
		"the speed under load: one request had the server to itself, or shared it with others unseen",
	}
	if cached, ok := r.CachedTokens(); ok && cached > 0 {
		out = append(out, fmt.Sprintf("the time for a new prompt: %d of %d prompt tokens came from a cache", cached, p.PromptTokens))
	}
	if strings.EqualFold(r.Finish, "stop") {
		out = append(out, "the speed at full length: the answer ended by itself, so another server's answer may be longer or shorter")
	}
	return append(out, "whether a change made it faster: measure both sides with treeline bench, several starts each, and use treeline compare")
}
