package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
	"treeline/internal/measure/workload"
)

// chat is the request for a prompt. A mark at the beginning keeps it apart from the same prompt before.
func (m *start) chat(p workload.Prompt, mark string) loadgen.Chat {
	most := m.o.MaxTokens
	if p.MaxTokens > 0 {
		most = p.MaxTokens
	}
	return loadgen.Chat{
		Model: m.server.Model, Messages: p.Messages(mark), MaxTokens: most, Temperature: m.o.Temperature, Seed: m.o.Seed,
		IgnoreEOS: m.o.IgnoreEOS, Stream: true, Extra: m.server.Extras(), Without: m.without,
	}
}

func (m *start) job(r record.Request, p workload.Prompt, mark string) (loadgen.Job, error) {
	m.id++
	chat := m.chat(p, mark)
	r.ID, r.MaxTokens, r.Shares = m.id, chat.MaxTokens, p.Shares
	body, err := chat.Body()
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
		Concurrency: min(slices.Max(m.o.Concurrency), m.o.Warmup), Requests: m.o.Warmup, Keep: m.recorder(),
		Job: func(i int) (loadgen.Job, error) {
			text := fmt.Sprintf("Warm-up %d: tell me in three sentences about %s.", i+1, topics[i%len(topics)])
			return m.job(record.Request{Prompt: fmt.Sprintf("warm-up-%d", i+1), Warmup: true, Level: plainLevel(m.o)}, workload.Prompt{Text: text}, "")
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
		chat := m.chat(workload.Prompt{Text: "Say yes."}, "")
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

// load sends the measured requests of all levels.
func (m *start) load(ctx context.Context) error {
	levels := m.o.Concurrency
	if m.o.open() {
		levels = []int{0}
	}
	schedule := m.o.schedule()
	perLevel := m.o.perLevel()
	total := perLevel * len(levels)
	if len(schedule) > 0 {
		total = len(schedule)
	}
	for _, c := range levels {
		sent := 0
		plan := loadgen.Plan{
			Concurrency: c, Ramp: m.o.Ramp, Schedule: schedule, MaxInFlight: m.o.MaxInFlight,
			Requests: perLevel, Duration: m.o.Duration, Cut: m.o.Cut, Keep: m.recorder(),
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
			if err := m.store(r, s); err != nil {
				return err
			}
			if m.o.Finished != nil {
				m.o.Finished(r)
			}
			return nil
		})
		if err != nil {
			return err
		}
		m.pass += (sent + len(m.o.Prompts) - 1) / len(m.o.Prompts)
	}
	m.checkPlan(schedule)
	return nil
}

// checkPlan warns where what was sent is not what was planned: requests of an open loop that were never sent, and prompts
// of another length than the trace's.
func (m *start) checkPlan(schedule []time.Duration) {
	if dropped := len(schedule) - len(m.requests); len(schedule) > 0 && dropped > 0 {
		m.warn(record.WarnCapped, fmt.Sprintf("%d of %d planned requests were never sent: they still waited for others to end when the time was up", dropped, len(schedule)))
	}
	wanted := map[string]int{}
	for _, p := range m.o.Prompts {
		if p.Tokens > 0 {
			wanted[p.ID] = p.Tokens
		}
	}
	planned, got, n := 0, 0, 0
	for i := range m.requests {
		if r := &m.requests[i]; r.Usage != nil && wanted[r.Prompt] > 0 {
			planned, got, n = planned+wanted[r.Prompt], got+r.Usage.PromptTokens, n+1
		}
	}
	const share = 0.05
	if n > 0 && math.Abs(float64(got-planned)) > share*float64(planned) {
		m.warn(record.WarnTraceLengths, fmt.Sprintf("prompts had %.0f tokens in the mean, those of the trace %.0f", float64(got)/float64(n), float64(planned)/float64(n)))
	}
}

// measured is request i of a level. The first pass sends the prompts as they are; each later one puts its number in
// front, so that no request finds its prompt in the server's prefix cache. The same pass has the same text in every
// start, so that outputs can be compared.
func (m *start) measured(i, level int) (loadgen.Job, error) {
	p := m.o.Prompts[i%len(m.o.Prompts)]
	trial := i / len(m.o.Prompts)
	mark := ""
	if pass := m.pass + trial; pass > 0 {
		mark = fmt.Sprintf("[%d] ", pass+1)
	}
	return m.job(record.Request{Prompt: p.ID, Category: p.Category, Trial: trial, Level: level}, p, mark)
}

func (m *start) store(r *record.Request, s *record.Stream) error {
	if m.writer == nil {
		return nil
	}
	return m.writer.Request(r, s)
}

// recorder keeps raw streams, nil when there is no run folder.
func (m *start) recorder() loadgen.Recorder {
	if m.writer == nil {
		return nil
	}
	return m.writer
}

func plainLevel(o StartOptions) int {
	if o.open() {
		return 0
	}
	return o.Concurrency[0]
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
