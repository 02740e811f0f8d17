package server

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"treeline/internal/infer/engine"
)

// Metrics are the Prometheus series of one server: SGLang's names where SGLang has them, treeline: for the rest. It is
// the engine's Observer. All series exist, at 0, from the start; counters are read from the engine when scraped, and
// the engine completes them before a request's last byte is sent.
type Metrics struct {
	engine   atomic.Pointer[engine.Engine]
	handler  http.Handler
	ttft     prometheus.Histogram
	itl      prometheus.Histogram
	e2e      prometheus.Histogram
	families []family
}

// family is one series that mirrors an engine counter.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*engine.Counters) int64
}

var _ engine.Observer = (*Metrics)(nil)

// NewMetrics registers the series of a model.
func NewMetrics(model string) *Metrics {
	labels := prometheus.Labels{"model_name": model}
	hist := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: labels, Buckets: buckets})
	}
	m := &Metrics{
		ttft: hist("sglang:time_to_first_token_seconds", "Time from the request to its first token, waiting included.",
			[]float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}),
		itl: hist("sglang:inter_token_latency_seconds", "Time of a decode round divided by its tokens, once per token.",
			[]float64{.0005, .001, .002, .003, .005, .0075, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}),
		e2e: hist("sglang:e2e_request_latency_seconds", "Time from the request to its last token.",
			[]float64{.05, .1, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}),
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, f := range []struct {
		name, help string
		kind       prometheus.ValueType
		read       func(*engine.Counters) int64
	}{
		{"sglang:num_running_reqs", "Requests being worked on.", gauge, func(c *engine.Counters) int64 { return c.Running }},
		{"sglang:num_queue_reqs", "Requests waiting.", gauge, func(c *engine.Counters) int64 { return c.Queued }},
		{"sglang:prompt_tokens_total", "Prompt tokens processed.", counter, func(c *engine.Counters) int64 { return c.PromptTokens }},
		{"sglang:generation_tokens_total", "Tokens generated.", counter, func(c *engine.Counters) int64 { return c.GenerationTokens }},
		{"sglang:num_requests_total", "Requests ended.", counter, func(c *engine.Counters) int64 { return c.Requests }},
		{"sglang:num_aborted_requests_total", "Requests ended by their caller's leaving.", counter, func(c *engine.Counters) int64 { return c.Aborted }},
		{"treeline:spec_drafts_total", "Rounds of a request that verified at least one draft token.", counter, func(c *engine.Counters) int64 { return c.Drafts }},
		{"treeline:spec_draft_tokens_total", "Draft tokens verified.", counter, func(c *engine.Counters) int64 { return c.DraftTokens }},
		{"treeline:spec_accepted_tokens_total", "Draft tokens kept; the bonus token of a round is not counted.", counter, func(c *engine.Counters) int64 { return c.Accepted }},
		{"treeline:decode_passes_total", "Rounds of a request that emitted tokens in decode, with or without a draft.", counter, func(c *engine.Counters) int64 { return c.DecodePasses }},
		{"treeline:spec_dropped_drafts_total", "Drafts that broke the rules of draft trees.", counter, func(c *engine.Counters) int64 { return c.DroppedDrafts }},
	} {
		m.families = append(m.families, family{prometheus.NewDesc(f.name, f.help, nil, labels), f.kind, f.read})
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m, m.ttft, m.itl, m.e2e)
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range m.families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector with one consistent set of counters.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	var c engine.Counters
	if e := m.engine.Load(); e != nil {
		c = e.Counters()
	}
	for _, f := range m.families {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, float64(f.read(&c)))
	}
}

// FirstToken implements engine.Observer.
func (m *Metrics) FirstToken(d time.Duration) { m.ttft.Observe(d.Seconds()) }

// Round implements engine.Observer.
func (m *Metrics) Round(d time.Duration, tokens int) {
	for range tokens {
		m.itl.Observe(d.Seconds() / float64(tokens))
	}
}

// Finished implements engine.Observer.
func (m *Metrics) Finished(d time.Duration) { m.e2e.Observe(d.Seconds()) }

func (m *Metrics) serve(w http.ResponseWriter, r *http.Request, _ *Backend) {
	m.handler.ServeHTTP(w, r)
}
