// Package record holds what a measurement leaves behind: one Request per request, one Start per server start, and the
// run folder they are written to. Everything between here and a verdict is a pure function of these values.
//
// Clock: nanoseconds on one monotonic clock whose zero is the start of the run (Epoch). Absent stamps are 0 only in
// fields documented so; a stamp that never happened is -1.
package record

import (
	"treeline/internal/host"
	"treeline/internal/wire/openai"
)

// Warning is a doubt about a result. Codes are listed in docs/warnings.md.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Request is one request from schedule to end. Stamps are those of bench-metric definitions (docs/metrics.md).
type Request struct {
	ID       int    `json:"id"`
	Prompt   string `json:"prompt"` // id in the workload
	Category string `json:"category"`
	Warmup   bool   `json:"warmup,omitempty"`
	Trial    int    `json:"trial"`
	Level    int    `json:"level"` // concurrency of the level it belongs to

	MaxTokens int `json:"max_tokens,omitempty"` // most tokens asked for; 0 unknown

	Capped    bool  `json:"capped,omitempty"` // it waited because too many others were in flight
	Shares    bool  `json:"shares,omitempty"` // its prompt begins like others on purpose: a cache hit is no repeat
	Sched     int64 `json:"sched"`            // planned send time; equals Call in a closed loop
	Call      int64 `json:"call"`             // our code starts the request
	Conn      int64 `json:"conn"`             // connection obtained
	Reused    bool  `json:"reused"`           // the connection served a request before
	Wrote     int64 `json:"wrote"`            // last request byte handed to the kernel
	Header    int64 `json:"header"`           // response header seen
	FirstByte int64 `json:"first_byte"`       // first body byte
	First     int64 `json:"first"`            // first generating event
	FirstOut  int64 `json:"first_out"`        // first answer event (not reasoning)
	Last      int64 `json:"last"`             // last generating event
	Done      int64 `json:"done"`             // [DONE], or EOF if none

	Status     int             `json:"status"`
	Proto      string          `json:"proto,omitempty"` // "HTTP/1.1" or "HTTP/2.0"
	OK         bool            `json:"ok"`
	Censored   bool            `json:"censored,omitempty"`    // in flight when the window closed: neither a success nor a failure
	ErrorClass string          `json:"error_class,omitempty"` // one of the Class constants
	Error      string          `json:"error,omitempty"`
	Usage      *openai.Usage   `json:"usage,omitempty"` // nil: unknown
	Timings    *openai.Timings `json:"timings,omitempty"`
	Finish     string          `json:"finish,omitempty"`
	Model      string          `json:"model,omitempty"`
	Text       string          `json:"text"`
	Reasoning  string          `json:"reasoning,omitempty"`
	Others     []string        `json:"others,omitempty"`     // texts of the choices after the first, n > 1
	Tools      []ToolCall      `json:"tools,omitempty"`      // of the first choice
	Heartbeats int             `json:"heartbeats,omitempty"` // comment lines that kept the connection alive
	Notes      []string        `json:"notes,omitempty"`      // the Note constants that apply
	Events     []Event         `json:"-"`                    // on disk they follow from the stream
	FromLine   bool            `json:"-"`                    // read from disk without its stream: Events are missing
}

// Summary is one metric over requests of one start and level. Quantiles and the interval of the median are nil below
// the minimum n (see docs/metrics.md).
type Summary struct {
	Mean float64  `json:"mean"`
	P50  float64  `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	N    int      `json:"n"`
	Lo   *float64 `json:"lo"` // of P50
	Hi   *float64 `json:"hi"`

	P95    *float64 `json:"p95,omitempty"`
	P999   *float64 `json:"p99_9,omitempty"`
	P90Lo  *float64 `json:"p90_lo,omitempty"`
	P90Hi  *float64 `json:"p90_hi,omitempty"`
	P95Lo  *float64 `json:"p95_lo,omitempty"`
	P95Hi  *float64 `json:"p95_hi,omitempty"`
	P99Lo  *float64 `json:"p99_lo,omitempty"`
	P99Hi  *float64 `json:"p99_hi,omitempty"`
	P999Lo *float64 `json:"p99_9_lo,omitempty"`
	P999Hi *float64 `json:"p99_9_hi,omitempty"`
}

// PromptValue is what one start yielded for one prompt: medians over its trials. Zero TPOTms means undefined.
type PromptValue struct {
	Prompt   string  `json:"prompt"`
	Category string  `json:"category"`
	TPOTms   float64 `json:"tpot_ms"`
	TTFTms   float64 `json:"ttft_ms"`
	E2Ems    float64 `json:"e2e_ms"`
	Tokens   int     `json:"tokens"`
	Text     string  `json:"text,omitempty"` // output of the first trial, for the lossless check
}

// Target says what a server is and what it was seen to run. ProofLevel as in docs/methods.md: 0 asserted,
// 1 configured, 2 observed, 3 discriminated.
type Target struct {
	Kind       string   `json:"kind"` // "treeline", "llamacpp", "vllm", "sglang", ..., "generic"
	Version    string   `json:"version"`
	Model      string   `json:"model"`
	Method     string   `json:"method"` // "none", "ngram", ..., "unknown"
	ProofLevel int      `json:"proof_level"`
	Evidence   []string `json:"evidence,omitempty"` // one sentence per fact, with the numbers
}

// Start is one server start, the unit of replication.
type Start struct {
	Arm         string           `json:"arm"`
	Block       int              `json:"block"` // from 1; 0 outside an experiment
	Order       int              `json:"order"` // position in the run, from 1
	Began       string           `json:"began"` // RFC 3339, wall clock, for people only
	URL         string           `json:"url"`
	ServerStart string           `json:"server_start,omitempty"` // what tells one start of the server from another (start time or pid), "" unknown
	Fingerprint host.Fingerprint `json:"fingerprint"`
	Target      Target           `json:"target"`
	Tau         *float64         `json:"acceptance_length"` // 1 + accepted/verify passes by server counters; nil unknown
	Counters    *SpecCounters    `json:"counters,omitempty"`
	Requests    *Counts          `json:"requests,omitempty"` // of this start, warm-up left out; nil unknown
	Prompts     []PromptValue    `json:"prompts"`
	Warnings    []Warning        `json:"warnings,omitempty"`
}

// SpecCounters are differences of a server's counters over the measured window.
type SpecCounters struct {
	Requests  float64 `json:"requests"`
	Generated float64 `json:"generated_tokens"`
	Drafts    float64 `json:"drafts"` // rounds that carried drafts
	Drafted   float64 `json:"drafted_tokens"`
	Accepted  float64 `json:"accepted_tokens"`
	Verify    float64 `json:"verify_passes"` // target passes of decode; 0 when the server does not tell
}

// Counts are a run's requests: Sent = OK + Failed + Excluded.
type Counts struct {
	Sent     int            `json:"sent"`
	OK       int            `json:"ok"`
	Failed   int            `json:"failed"`
	Excluded int            `json:"excluded"`           // succeeded without telling their tokens, and the censored ones
	Censored int            `json:"censored,omitempty"` // in flight when the window closed
	Errors   map[string]int `json:"errors"`             // by class
}

// Level is one concurrency or rate of a bench.
type Level struct {
	Concurrency int                `json:"concurrency"`             // 0 in an open loop
	Rate        float64            `json:"rate,omitempty"`          // planned requests a second of an open loop
	Achieved    float64            `json:"achieved_rate,omitempty"` // and at which they were sent
	Requests    Counts             `json:"requests"`
	Metrics     map[string]Summary `json:"metrics"`
	Goodput     *Goodput           `json:"goodput,omitempty"`
}

// Goodput is how many requests met all limits.
type Goodput struct {
	SLOs  map[string]float64 `json:"slos"`       // limits by metric, in its unit
	Met   int                `json:"met"`        // requests
	Of    int                `json:"of"`         // sent, the censored ones left out
	Share float64            `json:"share"`      // Met / Of
	PerS  float64            `json:"requests_s"` // Met by the time of the level
}

// Band is the time per token of the tokens at positions From up to To.
type Band struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	TPOTms Summary `json:"tpot_ms"`
	Spread int     `json:"spread,omitempty"` // of its n requests, those with chunks of unknown size: N is spread over these
}

// Check is an identity that must hold between figures; Skipped says why it could not be tried.
type Check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Text    string `json:"text,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// RTT is the time of TCP connections to the server, measured outside of the load and subtracted from nothing.
type RTT struct {
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	N        int     `json:"n"`
}

// Client says how trustworthy this client's clock was: by a test before the load at the event rate expected, and by a
// sentinel stream during it.
type Client struct {
	Certified     bool    `json:"certified"`
	EventsPerS    float64 `json:"events_per_s"`
	StampLagP99MS float64 `json:"stamp_lag_p99_ms"`
	WaitedMS      float64 `json:"waited_ms,omitempty"` // that readers of streams waited in all for parsing and disk
	StampLagP50MS float64 `json:"stamp_lag_p50_ms"`
	StampLagMaxMS float64 `json:"stamp_lag_max_ms"`
	Streams       int     `json:"streams"`
	SenderLate    int     `json:"sender_late"` // events that the test's own server sent too late: not the client's doing

	GCPauses       int     `json:"gc_pauses"`
	GCPauseTotalMS float64 `json:"gc_pause_total_ms"`
	GCPauseP99MS   float64 `json:"gc_pause_p99_ms"`
	GCPauseMaxMS   float64 `json:"gc_pause_max_ms"`

	CPU           *ClientCPU `json:"cpu,omitempty"`            // of the machine during the test; nil unknown
	BackgroundCPU *float64   `json:"background_cpu,omitempty"` // share that others used while the server was idle before the load; nil unknown
	Schedule      *SendLag   `json:"schedule,omitempty"`       // of the test of an open loop

	During *ClientDuring `json:"during,omitempty"` // nil when nothing was watched
}

// ClientCPU is the use of this machine's processors, as shares of all of them.
type ClientCPU struct {
	Own    float64 `json:"own"`    // this process and all that it started
	Sender float64 `json:"sender"` // part of own: the server that the client was tested against
	Others float64 `json:"others"` // includes a server under test that this process did not start
	Steal  float64 `json:"steal"`  // taken by the hypervisor
}

// SendLag is how long after their planned moments the requests of an open loop were begun.
type SendLag struct {
	RequestsPerS float64 `json:"requests_per_s"` // planned
	P50MS        float64 `json:"p50_ms"`
	P99MS        float64 `json:"p99_ms"`
	MaxMS        float64 `json:"max_ms"`
	N            int     `json:"n"`
}

// ClientDuring is what the sentinel stream saw of the client's lag during the load.
type ClientDuring struct {
	StampLagP50MS float64 `json:"stamp_lag_p50_ms"`
	StampLagP99MS float64 `json:"stamp_lag_p99_ms"`
	StampLagMaxMS float64 `json:"stamp_lag_max_ms"`
	N             int     `json:"n"`

	GCPauses       int     `json:"gc_pauses"`
	GCPauseTotalMS float64 `json:"gc_pause_total_ms"`
	GCPauseMaxMS   float64 `json:"gc_pause_max_ms"`

	CPU      *ClientCPU `json:"cpu,omitempty"`
	Schedule *SendLag   `json:"schedule,omitempty"` // of the load itself, when it was an open loop
}

// BenchSchema names the form of Bench.
const BenchSchema = "treeline.bench/1"

// Bench is the treeline.bench/1 object. baseline.json adds Starts.
type Bench struct {
	Schema   string             `json:"schema"`
	Target   Target             `json:"target"`
	Requests Counts             `json:"requests"`
	Metrics  map[string]Summary `json:"metrics"`
	Levels   []Level            `json:"levels,omitempty"`

	Goodput    *Goodput `json:"goodput,omitempty"`
	ByPosition []Band   `json:"by_position,omitempty"` // of the level of Metrics
	ByContext  []Band   `json:"by_context,omitempty"`
	RTT        *RTT     `json:"rtt,omitempty"`
	Tau        *float64 `json:"server_acceptance_length,omitempty"` // of the newest start, by the server's counters; nil unknown
	Checks     []Check  `json:"checks,omitempty"`

	Client   Client    `json:"client"`
	Warnings []Warning `json:"warnings"`
	Valid    bool      `json:"valid"`
	Starts   []Start   `json:"starts,omitempty"`
}
