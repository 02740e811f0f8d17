package server

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/sample"
	"treeline/internal/wire/openai"
)

// maxChoices bounds n, maxStops the number of stop strings.
const (
	maxChoices = 128
	maxStops   = 16
)

// extras are members that decide something here but are no part of the shared types.
type extras struct {
	Logprobs       json.RawMessage `json:"logprobs"`
	TopLogprobs    json.RawMessage `json:"top_logprobs"`
	Tools          json.RawMessage `json:"tools"`
	Functions      json.RawMessage `json:"functions"`
	ResponseFormat *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	BestOf         *int    `json:"best_of"`
	Suffix         *string `json:"suffix"`
	ReturnTokenIDs bool    `json:"return_token_ids"`
}

// readBody decodes a body into each target. Every fault of it is a 400 that names the member, or a 413.
func readBody(w http.ResponseWriter, r *http.Request, targets ...any) error {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(writeTimeout)) // where the writer has no deadlines (tests), there is none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	rc.SetReadDeadline(time.Time{})
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return &apiError{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the request is larger than %d MiB", MaxBodyBytes>>20), code: "request_too_large"}
	}
	if err != nil {
		return invalid("", "read the request: %v", err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return invalid("", "the request has no body; send a JSON object")
	}
	for _, t := range targets {
		if err := json.Unmarshal(body, t); err != nil {
			return badJSON(body, err)
		}
	}
	return nil
}

func badJSON(body []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return invalid("", "the request is not valid JSON: byte %d: %v", syntax.Offset, err)
	case errors.As(err, &wrong):
		if wrong.Field == "" {
			return invalid("", "the request is a JSON %s; send an object", wrong.Value)
		}
		field := strings.TrimPrefix(wrong.Field, "Sampling.") // the embedded struct's name is no member
		return invalid(field, "%s: got a %s, want %s", field, wrong.Value, jsonName(wrong.Type.Kind().String()))
	}
	// A type with its own decoder does not say which member it is: try the one that has one.
	var probe struct {
		Stop json.RawMessage `json:"stop"`
	}
	param := "messages"
	if json.Unmarshal(body, &probe) == nil && probe.Stop != nil && new(openai.StringList).UnmarshalJSON(probe.Stop) != nil {
		param = "stop"
	}
	return invalid(param, "%s: %v", param, err)
}

// jsonName says in JSON's words what a Go kind decodes from.
func jsonName(kind string) string {
	switch kind {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "a list"
	case "struct", "map":
		return "an object"
	case "float64":
		return "a number"
	default:
		return "a whole number"
	}
}

func given(raw json.RawMessage) bool {
	v := string(bytes.TrimSpace(raw))
	return v != "" && v != "null" && v != "false" && v != "[]"
}

// refuse names what this server does not do. Nothing that changes the answer is ignored silently.
func (x *extras) refuse() error {
	switch {
	case given(x.Logprobs) || given(x.TopLogprobs):
		return invalid("logprobs", "log probabilities are not supported; leave logprobs out")
	case given(x.Tools) || given(x.Functions):
		return invalid("tools", "tool calls are not supported; leave tools out")
	case x.ResponseFormat != nil && x.ResponseFormat.Type != "text" && x.ResponseFormat.Type != "":
		return invalid("response_format", "response_format %q is not supported; only text is", x.ResponseFormat.Type)
	case x.BestOf != nil && *x.BestOf != 1:
		return invalid("best_of", "best_of is not supported; use n")
	case x.Suffix != nil && *x.Suffix != "":
		return invalid("suffix", "suffix is not supported")
	}
	return nil
}

// sampling checks the shared members and gives the request of choice 0 without a prompt, the number of choices, and
// the seed, drawn when there is none. defaultMax is max_tokens when absent; 0 is the rest of the context.
func (s *Server) sampling(p *openai.Sampling, b *Backend, maxTokens *int, defaultMax int) (req engine.Request, n int, seed int64, err error) {
	if p.Model != "" && p.Model != s.opt.Model {
		return req, 0, 0, &apiError{status: http.StatusNotFound, param: "model", code: "model_not_found", message: fmt.Sprintf("the model %q does not exist here; this server has %q", p.Model, s.opt.Model)}
	}
	req.MaxTokens, n = defaultMax, 1
	if maxTokens != nil {
		if req.MaxTokens = *maxTokens; req.MaxTokens < 1 {
			return req, 0, 0, invalid("max_tokens", "max_tokens is %d, want at least 1", req.MaxTokens)
		}
	}
	if p.MinTokens != nil {
		req.MinTokens = *p.MinTokens
		if req.MinTokens < 0 || req.MaxTokens > 0 && req.MinTokens > req.MaxTokens {
			return req, 0, 0, invalid("min_tokens", "min_tokens is %d, want 0 to max_tokens", req.MinTokens)
		}
	}
	if p.N != nil {
		if n = *p.N; n < 1 || n > min(maxChoices, b.Engine.Capacity()) {
			return req, 0, 0, invalid("n", "n is %d, want 1 to %d", n, min(maxChoices, b.Engine.Capacity()))
		}
	}
	sp := &req.Sample
	sp.Temperature, sp.TopP = 1, 1
	if p.TopK != nil {
		if sp.TopK = *p.TopK; sp.TopK < -1 {
			return req, 0, 0, invalid("top_k", "top_k is %d, want a positive number, or 0 or -1 for no limit", sp.TopK)
		}
	}
	for _, f := range []struct {
		name   string
		in     *float64
		out    *float64
		lo, hi float64
	}{
		{"temperature", p.Temperature, &sp.Temperature, 0, 2},
		{"top_p", p.TopP, &sp.TopP, 0, 1},
		{"min_p", p.MinP, &sp.MinP, 0, 1},
		{"presence_penalty", p.PresencePenalty, &sp.Presence, -2, 2},
		{"frequency_penalty", p.FrequencyPenalty, &sp.Frequency, -2, 2},
	} {
		if f.in == nil {
			continue
		}
		if *f.out = *f.in; !(*f.in >= f.lo && *f.in <= f.hi) || f.name == "top_p" && *f.in == 0 {
			from := "from"
			if f.name == "top_p" {
				from = "above"
			}
			return req, 0, 0, invalid(f.name, "%s is %v, want a number %s %v to %v", f.name, *f.in, from, f.lo, f.hi)
		}
	}
	if sp.Bias, err = bias(p.LogitBias, b.Engine.Config().Vocab); err != nil {
		return req, 0, 0, err
	}
	if len(p.Stop) > maxStops || slices.Contains(p.Stop, "") {
		return req, 0, 0, invalid("stop", "stop has %d strings; want up to %d, none of them empty", len(p.Stop), maxStops)
	}
	req.Stop, req.IgnoreEOS = p.Stop, p.IgnoreEOS
	if seed = drawSeed(); p.Seed != nil {
		seed = *p.Seed
	}
	return req, n, seed, nil
}

// bias reads logit_bias. The order is fixed so that a request's fate does not hang on that of a map.
func bias(in map[string]float64, vocab int) ([]sample.Bias, error) {
	var out []sample.Bias
	for k, v := range in {
		id, err := strconv.Atoi(k)
		if err != nil || id < 0 || id >= vocab {
			return nil, invalid("logit_bias", "logit_bias has the key %q; this model's tokens are 0 to %d", k, vocab-1)
		}
		if !(v >= -100 && v <= 100) || math.IsNaN(v) {
			return nil, invalid("logit_bias", "logit_bias of token %d is %v, want -100 to 100", id, v)
		}
		out = append(out, sample.Bias{ID: int32(id), Value: v})
	}
	slices.SortFunc(out, func(a, b sample.Bias) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(out); i++ { // "7" and "07" are one token
		if out[i].ID == out[i-1].ID {
			return nil, invalid("logit_bias", "logit_bias names token %d twice", out[i].ID)
		}
	}
	return out, nil
}

// drawSeed is a random seed that a float64 holds exactly, so that any JSON reader can send it back.
func drawSeed() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}
