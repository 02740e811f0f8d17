package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"treeline/internal/measure/certify"
	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
)

// chat is the request for a prompt.
func (m *start) chat(prompt string) loadgen.Chat {
	return loadgen.Chat{
		Model: m.server.Model, Prompt: prompt, MaxTokens: m.o.MaxTokens, Temperature: m.o.Temperature, Seed: m.o.Seed,
		IgnoreEOS: m.o.IgnoreEOS, Stream: true, Extra: m.server.Extras(), Without: m.without,
	}
}

func (m *start) job(r record.Request, prompt string) (loadgen.Job, error) {
	m.id++
	r.ID, r.MaxTokens = m.id, m.o.MaxTokens
	body, err := m.chat(prompt).Body()
	return loadgen.Job{Request: r, Body: body}, err
}

// warmUp finds out what the server refuses and lets it do everything once. Warm-up requests are recorded, marked, and
// counted nowhere. Their prompts are short and not among the measured ones.
func (m *start) warmUp(ctx context.Context) error {
	if err := m.probeOptions(ctx); err != nil {
		return err
	}
	if m.o.Warmup <= 0 {
		return nil
	}
	topics := []string{"the sea", "a small town", "bread", "winter", "clocks", "a river", "paper", "bees"}
	plan := loadgen.Plan{
		Concurrency: min(slices.Max(m.o.Concurrency), m.o.Warmup), Requests: m.o.Warmup,
		Job: func(i int) (loadgen.Job, error) {
			text := fmt.Sprintf("Warm-up %d: tell me in three sentences about %s.", i+1, topics[i%len(topics)])
			return m.job(record.Request{Prompt: fmt.Sprintf("warm-up-%d", i+1), Warmup: true, Level: plainLevel(m.o)}, text)
		},
	}
	err := loadgen.Run(ctx, m.client, plan, func(r *record.Request, s *record.Stream) error {
		m.warm = append(m.warm, *r)
		return m.store(r, s)
	})
	return err
}

// probeOptions asks servers that may be strict for one token, and leaves out what they refuse: by name where the
// refusal names it, all optional members otherwise.
func (m *start) probeOptions(ctx context.Context) error {
	switch m.server.Kind {
	case target.Treeline, target.LlamaCpp, target.VLLM, target.SGLang:
		return nil // these take everything that we send
	}
	for range 8 {
		chat := m.chat("Say yes.")
		chat.MaxTokens = 1
		body, err := chat.Body()
		if err != nil {
			return err
		}
		m.id++
		r := record.Request{ID: m.id, Prompt: "options", Warmup: true}
		s := m.client.Do(ctx, body, &r)
		s.Fill(&r)
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.OK || (r.Status != 400 && r.Status != 422) {
			return nil
		}
		left := slices.DeleteFunc(chat.Optional(), func(k string) bool { return slices.Contains(m.without, k) })
		if len(left) == 0 {
			return nil // refused for another reason: the measured requests will tell
		}
		named := slices.DeleteFunc(slices.Clone(left), func(k string) bool { return !strings.Contains(r.Error, k) })
		if len(named) == 0 {
			named = left
		}
		m.without = append(m.without, named...)
		m.warn(record.WarnOptionRefused, fmt.Sprintf("the server refuses %s; the requests go without", strings.Join(named, ", ")))
	}
	return nil
}

// certify tests this client at the event rate that the warm-up suggests.
func (m *start) certify(ctx context.Context) error {
	if m.o.Client != nil {
		m.cert = *m.o.Client
		return nil
	}
	streams := slices.Max(m.o.Concurrency)
	perStream := 50.0
	for i := range m.warm {
		a := m.warm[i].Arrivals()
		if n := len(a); n > 2 && a[n-1].At > a[0].At {
			perStream = max(perStream, float64(n-1)/(float64(a[n-1].At-a[0].At)/1e9))
		}
	}
	rate := min(perStream*float64(streams)*1.2, 10_000)
	duration := time.Duration(math.Min(math.Max(60/rate, 0.3), 0.7) * float64(time.Second))
	var r certify.Result
	for range 2 { // one disturbance from elsewhere is not the client's failing
		var err error
		r, err = certify.Run(ctx, certify.Options{EventsPerS: rate, Streams: streams, Duration: duration})
		if err != nil {
			return err
		}
		if r.Certified {
			break
		}
	}
	m.cert = r.Client
	if !r.Certified {
		m.warn(record.WarnClientUnsure, fmt.Sprintf("at %.0f events/s this client's stamps were %.3f ms late in the median and %.3f ms at p99 (certified: at most %.1f ms in the median)",
			r.EventsPerS, r.MedianMS, r.StampLagP99MS, certify.MaxMedianMS))
	}
	return ctx.Err()
}

// load sends the measured requests of all levels.
func (m *start) load(ctx context.Context) error {
	levels := m.o.Concurrency
	if m.o.Rate > 0 {
		levels = []int{0}
	}
	perLevel := m.o.Requests
	if perLevel <= 0 && m.o.Duration <= 0 {
		perLevel = len(m.o.Prompts)
	}
	total := perLevel * len(levels)
	for _, c := range levels {
		sent := 0
		plan := loadgen.Plan{
			Concurrency: c, Rate: m.o.Rate, Constant: m.o.Constant, Seed: uint64(m.o.Seed), Requests: perLevel, Duration: m.o.Duration,
			Job: func(i int) (loadgen.Job, error) {
				sent = i + 1
				return m.measured(i, c)
			},
		}
		err := loadgen.Run(ctx, m.client, plan, func(r *record.Request, s *record.Stream) error {
			m.requests = append(m.requests, *r)
			if s.Encoding != "" && s.Encoding != "identity" {
				m.encoded++
			}
			m.done++
			if m.o.Progress != nil {
				m.o.Progress(m.done, total)
			}
			return m.store(r, s)
		})
		if err != nil {
			return err
		}
		m.pass += (sent + len(m.o.Prompts) - 1) / len(m.o.Prompts)
	}
	return nil
}

// measured is request i of a level. The first pass sends the prompts as they are; each later one puts its number in
// front, so that no request finds its prompt in the server's prefix cache. The same pass has the same text in every
// start, so that outputs can be compared.
func (m *start) measured(i, level int) (loadgen.Job, error) {
	p := m.o.Prompts[i%len(m.o.Prompts)]
	trial := i / len(m.o.Prompts)
	text := p.Text
	if pass := m.pass + trial; pass > 0 {
		text = fmt.Sprintf("[%d] %s", pass+1, text)
	}
	return m.job(record.Request{Prompt: p.ID, Category: p.Category, Trial: trial, Level: level}, text)
}

func (m *start) store(r *record.Request, s *record.Stream) error {
	if m.writer == nil {
		return nil
	}
	return m.writer.Request(r, s)
}

func plainLevel(o StartOptions) int {
	if o.Rate > 0 {
		return 0
	}
	return o.Concurrency[0]
}

// clientBound warns when the client's p99 delay could have moved a metric by more than 1 %, and reports whether that
// spoils the decode speed.
func (m *start) clientBound(b *record.Bench) bool {
	const share = 0.01
	lag := m.cert.StampLagP99MS
	if s, ok := b.Metrics["ttft_ms"]; ok && lag > share*s.P50 {
		m.warn(record.WarnClientBound, fmt.Sprintf("ttft_ms: this client's stamps are up to %.3f ms late (p99), %.1f %% of the median", lag, 100*lag/s.P50))
	}
	var decode []float64
	for i := range m.requests {
		if _, ok := metric.TPOT(&m.requests[i]); ok {
			decode = append(decode, float64(m.requests[i].Last-m.requests[i].First)/1e6)
		}
	}
	if median := metric.Median(decode); len(decode) > 0 && lag > share*median {
		m.warn(record.WarnClientBound, fmt.Sprintf("tpot_ms: this client's stamps are up to %.3f ms late (p99), %.1f %% of the median decode time of %.1f ms", lag, 100*lag/median, median))
		return true
	}
	return false
}

// ErrAllFailed says that a load ended without one successful request.
var ErrAllFailed = errors.New("all requests failed")

// Failure explains a result in which no request succeeded, nil for any other. It wraps ErrAllFailed.
func Failure(b *record.Bench) error {
	if b.Requests.Sent == 0 || b.Requests.OK+b.Requests.Excluded > 0 {
		return nil
	}
	for _, w := range b.Warnings {
		if w.Code == record.WarnRequestsFailed {
			return fmt.Errorf("%w: %s", ErrAllFailed, w.Text)
		}
	}
	return ErrAllFailed
}
