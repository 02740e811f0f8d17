package simserver

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"treeline/internal/measure/strictyaml"
)

// The modes of a server.
const (
	ModeLaw    = "law"    // answers follow a token law
	ModeScript = "script" // answers are transcripts, byte for byte
	ModeClock  = "clock"  // answers carry the moment of their sending; the request says how many events, how fast
)

// Spec says how a simulated server behaves. The zero values of durations and shares mean "none"; Parse fills in the
// defaults of a plain server.
type Spec struct {
	Mode    string   `yaml:"mode"`
	As      string   `yaml:"as"`    // whom it imitates: generic, vllm, sglang, llamacpp
	Model   string   `yaml:"model"` // the name it lists
	Seed    uint64   `yaml:"seed"`
	Start   uint64   `yaml:"start"`   // number of this server start: another one draws other effects
	Scripts []string `yaml:"scripts"` // mode script: files of transcripts, answered in turn

	TTFT     time.Duration `yaml:"ttft"`              // from the request's last byte to its first token
	Prefill  time.Duration `yaml:"prefill_per_token"` // added per prompt token that is not in the cache
	TPOT     time.Duration `yaml:"tpot"`              // per token without speculation
	Tokens   int           `yaml:"tokens"`            // tokens of an answer, 0 means what the request asks for
	Natural  bool          `yaml:"natural_end"`       // answers end by themselves at a length of their own, unless ignore_eos
	Thinking int           `yaml:"reasoning"`         // tokens of reasoning before the answer
	Slots    int           `yaml:"slots"`             // requests served at a time, the others wait in order; 0 means all
	Cache    bool          `yaml:"prefix_cache"`

	Vary  Vary   `yaml:"vary"`
	Spec  *Draft `yaml:"speculation"`
	Form  Form   `yaml:"stream"`
	Fails Fails  `yaml:"fails"`
}

// Vary holds standard deviations of the logarithm of the speed: an effect of 0.02 is about 2 %. Each is drawn once for
// what it names, from the seed; step is drawn for every token or round.
type Vary struct {
	Start   float64 `yaml:"start"`
	Prompt  float64 `yaml:"prompt"`
	Request float64 `yaml:"request"`
	Step    float64 `yaml:"step"`
}

// Draft is speculation: every round drafts tokens, of which the first ones are accepted, and adds one of its own.
type Draft struct {
	Method string        `yaml:"method"` // the name in the imitated server's own words, such as ngram
	Accept []float64     `yaml:"accept"` // probability that draft token i is accepted when those before it were
	Round  time.Duration `yaml:"round"`  // time of a round, drafting and verifying
	Burst  string        `yaml:"burst"`  // event: a round's tokens in one event; tokens: one event each, in one write
	Silent bool          `yaml:"silent"` // the counters of speculation stay still
}

// Form is how a stream looks.
type Form struct {
	Role     string        `yaml:"role"`       // with_first: beside the first token; early: a chunk of its own at once; never
	Usage    string        `yaml:"usage"`      // asked: when the request asks; always; never; continuous: in every chunk when asked
	PerEvent int           `yaml:"per_event"`  // tokens an event without speculation (a stream interval)
	NoDone   bool          `yaml:"no_done"`    // leave [DONE] out
	Lump     time.Duration `yaml:"lump"`       // hold events back and release them at this period, as a buffering proxy does
	Pad      int           `yaml:"event_size"` // least bytes of an event
}

// Fails are shares of requests that go wrong, drawn from the seed.
type Fails struct {
	Status   int     `yaml:"status"`    // refused with this HTTP status
	Refused  float64 `yaml:"refused"`   // share of those
	InStream float64 `yaml:"in_stream"` // share that ends with an error object after half the tokens
	Cut      float64 `yaml:"cut"`       // share whose connection breaks after half the tokens
}

// Default is a plain server: 20 ms to the first token, 5 ms a token.
func Default() Spec {
	return Spec{
		Mode: ModeLaw, As: "generic", Model: "simulated", Seed: 1, TTFT: 20 * time.Millisecond, TPOT: 5 * time.Millisecond,
		Form: Form{Role: "with_first", Usage: "asked", PerEvent: 1}, Fails: Fails{Status: 429},
	}
}

// Load reads a spec file.
func Load(path string) (Spec, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("read spec: %w", err)
	}
	return Parse(path, b)
}

// Parse reads the text of a spec; file names it in errors, all of which are reported at once with their places.
func Parse(file string, text []byte) (Spec, error) {
	s := Default()
	f := faults{strictyaml.New(file, text)}
	if f.Decode(text, &s, "") {
		f.check(&s)
	}
	return s, f.Err()
}

type faults struct{ *strictyaml.Faults }

func (f faults) check(s *Spec) {
	f.oneOf(s.Mode, []string{ModeLaw, ModeScript, ModeClock}, "mode")
	f.oneOf(s.As, []string{"generic", "vllm", "sglang", "llamacpp"}, "as")
	f.oneOf(s.Form.Role, []string{"with_first", "early", "never"}, "stream", "role")
	f.oneOf(s.Form.Usage, []string{"asked", "always", "never", "continuous"}, "stream", "usage")
	for path, d := range map[string]time.Duration{"ttft": s.TTFT, "prefill_per_token": s.Prefill, "tpot": s.TPOT} {
		if d < 0 {
			f.At([]any{path}, "%s is negative", path)
		}
	}
	for path, n := range map[string]int{"tokens": s.Tokens, "reasoning": s.Thinking, "slots": s.Slots} {
		if n < 0 {
			f.At([]any{path}, "%s is %d; give 0 or more", path, n)
		}
	}
	if s.Form.PerEvent < 1 {
		f.At([]any{"stream", "per_event"}, "per_event is %d; give 1 or more", s.Form.PerEvent)
	}
	if s.Form.Lump < 0 || s.Form.Pad < 0 {
		f.At([]any{"stream"}, "lump and event_size cannot be negative")
	}
	for path, v := range map[string]float64{"start": s.Vary.Start, "prompt": s.Vary.Prompt, "request": s.Vary.Request, "step": s.Vary.Step} {
		if !(v >= 0 && v <= 2) {
			f.At([]any{"vary", path}, "%s is %g; give a standard deviation from 0 to 2, such as 0.02 for 2 %%", path, v)
		}
	}
	for path, v := range map[string]float64{"refused": s.Fails.Refused, "in_stream": s.Fails.InStream, "cut": s.Fails.Cut} {
		if !(v >= 0 && v <= 1) {
			f.At([]any{"fails", path}, "%s is %g; give a share from 0 to 1", path, v)
		}
	}
	if s.Fails.Status < 400 || s.Fails.Status > 599 {
		f.At([]any{"fails", "status"}, "status is %d; give an HTTP status from 400 to 599", s.Fails.Status)
	}
	if s.Mode == ModeScript && len(s.Scripts) == 0 {
		f.At([]any{"scripts"}, "mode script needs scripts: the files of the transcripts to answer with")
	}
	f.draft(s.Spec)
}

func (f faults) draft(d *Draft) {
	if d == nil {
		return
	}
	if d.Burst == "" {
		d.Burst = "event"
	}
	f.oneOf(d.Burst, []string{"event", "tokens"}, "speculation", "burst")
	if d.Method == "" {
		f.At([]any{"speculation"}, "speculation needs a method, such as ngram")
	}
	if len(d.Accept) == 0 || len(d.Accept) > 64 {
		f.At([]any{"speculation", "accept"}, "accept needs 1 to 64 probabilities, one for each draft token of a round")
	}
	for i, p := range d.Accept {
		if !(p >= 0 && p <= 1) || math.IsNaN(p) {
			f.At([]any{"speculation", "accept", i}, "accept[%d] is %g; give a probability from 0 to 1", i, p)
		}
	}
	if d.Round <= 0 {
		f.At([]any{"speculation", "round"}, "round must be above zero: the time of one round, such as 7ms")
	}
}

func (f faults) oneOf(got string, known []string, path ...any) {
	if !slices.Contains(known, got) {
		f.At(path, "%v is %q; known: %s", path[len(path)-1], got, strings.Join(known, ", "))
	}
}

// Tau is the acceptance length that the law has in the long run: 1 plus the mean number of accepted draft tokens of a
// round, the sum over i of the product of the first i probabilities. It is 1 without speculation.
func (s Spec) Tau() float64 {
	tau, p := 1.0, 1.0
	if s.Spec != nil {
		for _, accept := range s.Spec.Accept {
			p *= accept
			tau += p
		}
	}
	return tau
}
