package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"treeline/internal/measure/certify"
	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/proof"
	"treeline/internal/measure/record"
	"treeline/internal/measure/target"
)

// MeasureStart measures one running server: identify it, see that it is idle, warm it up, certify this client, read its
// counters, send the load level by level, read the counters again, and judge what ran. The result has one Start.
//
// An error means that nothing could be measured. When ctx ends in mid-load the result so far is returned beside ctx's
// error, marked interrupted and invalid. Failed requests are no error: they are counted in the result.
func MeasureStart(ctx context.Context, o StartOptions) (*record.Bench, error) {
	m, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer m.close()
	m.measureRTT(ctx)
	if err := m.warmUp(ctx); err != nil {
		return nil, err
	}
	if err := m.certify(ctx); err != nil {
		return nil, err
	}
	before, err := m.server.Scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.keep(record.MetricsBeforeFile, before.Metrics); err != nil {
		return nil, err
	}
	loadErr := m.watch(ctx, m.load)
	interrupted := ctx.Err() != nil
	if loadErr != nil && !interrupted {
		return nil, loadErr
	}
	if interrupted {
		m.warn(record.WarnInterrupted, fmt.Sprintf("stopped after %d requests", len(m.requests)))
		return m.bench(proof.Proof{Method: target.MethodUnknown}, before, before), ctx.Err()
	}
	after, p := m.prove(ctx, before)
	if err := m.keep(record.MetricsAfterFile, after.Metrics); err != nil {
		return nil, err
	}
	b := m.bench(p, before, after)
	return b, m.identity(&b.Starts[0])
}

// start is the work in progress on one start.
type start struct {
	o        StartOptions
	began    time.Time
	server   *target.Server
	client   *loadgen.Client
	writer   *record.Writer
	without  []string // request members that this server refuses
	id       int
	pass     int // passes over the prompts so far: a repeated prompt gets another beginning
	done     int
	warm     []record.Request
	requests []record.Request // measured ones
	encoded  int              // answers that came compressed
	cert     record.Client
	rtt      *record.RTT
	clock    *certify.Clock
	others   *float64 // share of the processors that others used before the load; nil unknown
	warnings []record.Warning
}

func prepare(ctx context.Context, o StartOptions) (*start, error) {
	if len(o.Prompts) == 0 {
		return nil, errors.New("no prompts to measure with")
	}
	if o.Epoch.IsZero() {
		o.Epoch = time.Now()
	}
	if len(o.Concurrency) == 0 {
		o.Concurrency = []int{1}
	}
	if o.IdlePause == 0 {
		o.IdlePause = time.Second
	}
	o.Order = max(o.Order, 1)
	m := &start{o: o, began: time.Now(), clock: o.Clock}
	var err error
	m.server, err = target.Identify(ctx, target.Options{URL: o.URL, APIKey: o.APIKey, Model: o.Model, Kind: o.ServerKind, TLS: o.TLS})
	if err != nil {
		return nil, err
	}
	cpu := certify.WatchCPU()
	idle, err := m.server.Idle(ctx, o.IdlePause)
	switch {
	case err != nil:
		return nil, err
	case !idle.Known:
		m.warn(record.WarnIdleUnknown, idle.Text)
	case !idle.Idle:
		m.warn(record.WarnForeignLoad, idle.Text)
	}
	if err := m.background(ctx, cpu); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		if err := record.CreateFolder(o.Dir, o.Fingerprint); err != nil {
			return nil, err
		}
		if m.writer, err = record.CreateStart(o.Dir, o.Order, o.Arm); err != nil {
			return nil, err
		}
	}
	m.client = loadgen.NewClient(loadgen.ClientOptions{
		Base: m.server.Base, APIKey: o.APIKey, Idle: o.Idle, Epoch: o.Epoch, TLS: o.TLS, HTTP2: o.HTTP2, Reuse: o.Reuse,
	})
	return m, m.identity(nil)
}

func (m *start) close() {
	m.client.Close()
	if m.writer != nil {
		m.writer.Close()
	}
}

// identity writes identity.json: before the load what the server says, after it what was shown.
func (m *start) identity(s *record.Start) error {
	if m.writer == nil {
		return nil
	}
	return m.writer.JSON(record.IdentityFile, struct {
		Server *target.Server `json:"server"`
		Start  *record.Start  `json:"start,omitempty"`
	}{m.server, s})
}

func (m *start) keep(file string, b []byte) error {
	if m.writer == nil || b == nil {
		return nil
	}
	return m.writer.File(file, b)
}

func (m *start) warn(code, text string) {
	m.warnings = append(m.warnings, record.Warning{Code: code, Text: text})
}

// prove reads the counters after the load and judges. Counters that move only when a request ends, or late, get two
// seconds to catch up with what we received.
func (m *start) prove(ctx context.Context, before target.Scrape) (target.Scrape, proof.Proof) {
	received := 0
	for i := range m.requests {
		n, _ := m.requests[i].OutputTokens()
		received += n
	}
	var after target.Scrape
	var err error
	for wait := time.Duration(0); wait <= 2*time.Second; wait += 200 * time.Millisecond {
		after, err = m.server.Scrape(ctx)
		if err != nil || !after.Has() || target.Delta(before.Counters, after.Counters)[target.Generated] >= float64(received) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	was := *m.server
	changed := ""
	switch rerr := m.server.Refresh(ctx); {
	case err != nil:
		changed = "the server did not answer after the load: " + err.Error()
	case rerr != nil:
		changed = "the server did not answer after the load: " + rerr.Error()
	case was.Start != m.server.Start || (before.Start != "" && before.Start != after.Start):
		changed = fmt.Sprintf("the server restarted during the measurement: %q became %q", was.Start+before.Start, m.server.Start+after.Start)
	case was.Version != m.server.Version:
		changed = fmt.Sprintf("the server's version changed from %s to %s", was.Version, m.server.Version)
	}
	return after, proof.Judge(proof.Facts{
		Kind: m.server.Kind, Configured: m.server.Configured, Evidence: m.server.Evidence, Expected: m.o.ExpectSpec, Changed: changed,
		TellsSpec: m.server.TellsSpeculation(after), Before: before.Counters, After: after.Counters, Requests: m.requests,
	})
}

// measureRTT times a few connections. A server that cannot be reached so is none of its business.
func (m *start) measureRTT(ctx context.Context) {
	times, err := loadgen.RTT(ctx, m.server.Base, 5)
	if err != nil {
		return
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	m.rtt = &record.RTT{MinMS: ms(times[0]), MedianMS: ms(times[len(times)/2]), N: len(times)}
}

// bench computes the result from what was recorded.
func (m *start) bench(p proof.Proof, before, after target.Scrape) *record.Bench {
	t := record.Target{
		Kind: m.server.Kind, Version: m.server.Version, Model: m.server.Model,
		Method: p.Method, ProofLevel: p.Level, Evidence: p.Evidence,
	}
	b := &record.Bench{
		Schema: record.BenchSchema, Target: t, Requests: metric.Count(m.requests), Client: m.cert,
		Metrics: map[string]record.Summary{},
	}
	top, concurrency := fillLevels(b, m.requests, m.planned(), m.o.SLOs)
	b.RTT, b.Tau = m.rtt, p.Tau
	bound := m.clientBound(b)
	bound = m.waited() || bound
	b.Client = m.cert
	if m.encoded > 0 {
		m.warn(record.WarnCompressed, fmt.Sprintf("%d answers came compressed although identity was asked for", m.encoded))
	}
	b.Checks = metric.Checks(top, outside(&record.Start{Tau: p.Tau, Counters: p.Counters}, m.cert, m.rtt, concurrency, len(m.planned())))
	if !bound { // a client that was the limit explains more than a contradiction does
		m.warnings = append(m.warnings, metric.Failed(b.Checks)...)
	}
	b.Warnings = append(append(append([]record.Warning{}, m.warnings...), metric.Warnings(m.requests)...), p.Warnings...)
	b.Valid = p.Valid && !bound && b.Requests.OK+b.Requests.Excluded > 0
	serverStart := m.server.Start
	if serverStart == "" {
		serverStart = max(before.Start, after.Start)
	}
	b.Starts = []record.Start{{
		Arm: m.o.Arm, Block: m.o.Block, Order: m.o.Order, Began: m.began.Format(time.RFC3339), URL: m.server.Base,
		ServerStart: serverStart, Fingerprint: m.o.Fingerprint, Target: t, Tau: p.Tau, Counters: p.Counters,
		Requests: &b.Requests, Prompts: metric.Prompts(m.requests), Warnings: b.Warnings,
	}}
	return b
}
