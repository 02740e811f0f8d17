package cli

import (
	"os"

	"treeline/internal/infer/engine"
	"treeline/internal/infer/server"
	"treeline/internal/wire/openai"
)

// loadBackend loads a model file into a running engine.
func loadBackend(f serveFlags, metrics *server.Metrics) (*server.Backend, error) {
	limit, err := parseBytes(f.memLimit)
	if err != nil {
		return nil, err
	}
	l, err := engine.Load(f.path, engine.LoadOptions{
		ISA: f.isa, Threads: f.threads, Context: f.ctx, MemLimit: limit, Float32: f.dtype == "float32",
		MaxRunning: f.maxRunning, MaxQueue: f.maxQueue, Prefill: f.prefill,
		Method: f.algorithm, DraftTokens: f.drafts, Fixed: f.adaptive == "off", Observe: metrics,
	})
	if err != nil {
		return nil, err
	}
	b := &server.Backend{
		Engine: l.Engine, Text: serveText{l}, Prompt: l.Tokenizer.Prompt,
		Info: server.Info{
			ModelPath: f.path, ISA: l.ISA, Threads: l.Threads, Weights: l.Weights, Method: f.algorithm,
			PID: os.Getpid(), StartUnixNS: f.started.UnixNano(),
		},
	}
	if l.Chat != nil {
		b.Chat = func(messages []openai.Message, kwargs map[string]any) (string, error) {
			return l.Chat.Render(messages, true, kwargs)
		}
	}
	return b, nil
}

// serveText shows the tokenizer to the server. Control tokens give text here: whoever asks for the text of ids wants
// to see them.
type serveText struct{ *engine.Loaded }

func (t serveText) Encode(text string, parseSpecial bool) []int32 {
	return t.Tokenizer.Encode(text, parseSpecial)
}
func (t serveText) Decode(ids []int32) string { return t.Tokenizer.Decode(ids, false) }
