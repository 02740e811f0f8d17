package experiment

import (
	"context"
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"treeline/internal/measure/arrival"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/targettest"
	"treeline/internal/measure/workload"
)

func prompts(n int) []workload.Prompt {
	var out []workload.Prompt
	for i := range n {
		out = append(out, workload.Prompt{ID: string(rune('a' + i)), Category: "test", Text: "prompt " + string(rune('a'+i))})
	}
	return out
}

// options measure quickly: the client's own test is replaced by a certificate.
func options(s *targettest.Server, n int) StartOptions {
	return StartOptions{URL: s.URL, Prompts: prompts(n), MaxTokens: 16, IdlePause: time.Millisecond, Client: &record.Client{Certified: true, StampLagP99MS: 0.0001}}
}

func codes(b *record.Bench) string {
	var out []string
	for _, w := range b.Warnings {
		out = append(out, w.Code)
	}
	return strings.Join(out, ",")
}

func TestMeasureStart(t *testing.T) {
	t.Parallel()
	s := targettest.Start(t, targettest.Options{Method: "NGRAM", PerStep: 3, Step: 5 * time.Millisecond, Tokens: 31})
	o := options(s, 6)
	o.Dir, o.Arm, o.Warmup, o.ExpectSpec, o.Concurrency, o.Requests = t.TempDir(), "spec", 2, "ngram", []int{1, 2}, 8
	calls := 0
	o.Progress = func(done, total int) {
		if calls++; total != 16 || done != calls {
			t.Errorf("progress %d of %d at call %d", done, total, calls)
		}
	}
	b, err := MeasureStart(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Valid || b.Target.Method != "ngram" || b.Target.ProofLevel != 2 || codes(b) != "" {
		t.Errorf("valid %v, target %+v, warnings %v", b.Valid, b.Target, b.Warnings)
	}
	want := record.Counts{Sent: 16, OK: 16, Errors: map[string]int{}}
	if diff := cmp.Diff(want, b.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	st := b.Starts[0]
	if st.Tau == nil || math.Abs(*st.Tau-3) > 1e-9 || st.Counters.Accepted != 16*20 || st.Counters.Verify != 16*10 {
		t.Errorf("tau %v, counters %+v; want 3 from 320 accepted in 160 passes", st.Tau, st.Counters)
	}
	if len(st.Prompts) != 6 || st.Prompts[0].Tokens != 31 || !strings.HasPrefix(st.Prompts[0].Text, "w0 w1 ") || st.ServerStart != "pid 41 started at 1041 ns" {
		t.Errorf("start %+v", st)
	}
	tpot := b.Metrics["tpot_ms"]
	if ideal := 5. / 3; tpot.N != 8 || tpot.P50 < ideal*0.9 || tpot.P50 > ideal*4 {
		t.Errorf("tpot %+v, want about %.2f ms over 8 requests", tpot, ideal)
	}
	if len(b.Levels) != 2 || b.Levels[1].Concurrency != 2 || b.Levels[1].Requests.OK != 8 || b.Metrics["tokens_per_chunk"].P50 != 3 {
		t.Errorf("levels %+v, tokens per chunk %+v", b.Levels, b.Metrics["tokens_per_chunk"])
	}
	checkDistinct(t, s)
	checkFolder(t, o.Dir, b)
}

// checkDistinct looks for a prompt that was sent twice: it would have been answered from a prefix cache.
func checkDistinct(t *testing.T, s *targettest.Server) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range s.Requests() {
		text := r["messages"].([]any)[0].(map[string]any)["content"].(string)
		if seen[text] {
			t.Errorf("prompt %q was sent twice", text)
		}
		seen[text] = true
	}
	if !seen["prompt a"] || !seen["[2] prompt a"] {
		t.Errorf("sent %v; want the plain prompt first and then numbered ones", seen)
	}
}

func checkFolder(t *testing.T, dir string, b *record.Bench) {
	t.Helper()
	folder := record.StartFolder(dir, 1, "spec")
	again, err := record.Recompute(folder)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := record.ReadRequests(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, again, cmpopts.IgnoreFields(record.Request{}, "Events")); diff != "" {
		t.Errorf("recomputed from raw streams (-stored +recomputed):\n%s", diff)
	}
	if diff := cmp.Diff(b.Starts[0].Prompts, metric.Prompts(again)); diff != "" {
		t.Errorf("figures of the prompts (-measured +recomputed):\n%s", diff)
	}
	if len(stored) != 18 {
		t.Errorf("%d requests on disk, want 16 and 2 of warm-up", len(stored))
	}
	for _, name := range []string{record.IdentityFile, record.MetricsBeforeFile, record.MetricsAfterFile} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s holds the server's API key", name)
		}
	}
}

func TestVerdictsOnOneStart(t *testing.T) {
	tests := []struct {
		name   string
		server targettest.Options
		edit   func(*StartOptions)
		valid  bool
		codes  string
		method string
		level  int
	}{
		{"plain", targettest.Options{Step: 2 * time.Millisecond}, func(o *StartOptions) { o.ExpectSpec = "none" }, true, "", "none", 2},
		{"speculation meant, none there", targettest.Options{Step: 2 * time.Millisecond}, func(o *StartOptions) { o.ExpectSpec = "ngram" }, false, record.WarnMethodUnexpected, "none", 2},
		{"configured, counters still", targettest.Options{Method: "NGRAM", PerStep: 2, Quiet: true, Step: 2 * time.Millisecond}, nil, true, record.WarnMethodUnproven, "ngram", 1},
		{"busy before", targettest.Options{Busy: 3, Step: 2 * time.Millisecond}, nil, true, record.WarnForeignLoad, "none", 2},
		{"no usage", targettest.Options{NoUsage: true, Step: 2 * time.Millisecond}, nil, true, record.WarnUsageMissing, "none", 2},
		{"cut off", targettest.Options{Break: 3, Step: 2 * time.Millisecond}, nil, false, record.WarnRequestsFailed, "none", 2},
		{"refused", targettest.Options{Status: http.StatusServiceUnavailable}, nil, false, record.WarnRequestsFailed + "," + record.WarnMethodUnproven, "none", 1},
		{"slow client", targettest.Options{Step: 2 * time.Millisecond}, func(o *StartOptions) { o.Client = &record.Client{StampLagP99MS: 50} }, false, record.WarnClientBound + "," + record.WarnClientBound, "none", 2},
		{
			"strict server",
			targettest.Options{OwnedBy: "someone", Refuses: []string{"ignore_eos"}, Step: 2 * time.Millisecond},
			func(o *StartOptions) { o.IgnoreEOS = true }, true,
			record.WarnIdleUnknown + "," + record.WarnOptionRefused + "," + record.WarnMethodUnproven, "unknown", 0,
		},
		{"open loop", targettest.Options{Step: 2 * time.Millisecond}, func(o *StartOptions) { o.Arrival = &arrival.Law{Rate: 100} }, true, "", "none", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := targettest.Start(t, tt.server)
			o := options(s, 3)
			if tt.edit != nil {
				tt.edit(&o)
			}
			b, err := MeasureStart(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if b.Valid != tt.valid || codes(b) != tt.codes || b.Target.Method != tt.method || b.Target.ProofLevel != tt.level {
				t.Errorf("valid %v, codes %s, method %s, level %d; want %v, %s, %s, %d\n%v %v",
					b.Valid, codes(b), b.Target.Method, b.Target.ProofLevel, tt.valid, tt.codes, tt.method, tt.level, b.Warnings, b.Target.Evidence)
			}
			if failed := Failure(b); (b.Requests.OK+b.Requests.Excluded == 0) != errors.Is(failed, ErrAllFailed) {
				t.Errorf("%+v, Failure %v", b.Requests, failed)
			}
		})
	}
}

func TestRestartInMidLoadIsInvalid(t *testing.T) {
	t.Parallel()
	s := targettest.Start(t, targettest.Options{Step: time.Millisecond})
	o := options(s, 6)
	o.Progress = func(done, _ int) {
		if done == 3 {
			s.Restart()
		}
	}
	b, err := MeasureStart(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if b.Valid || !strings.Contains(codes(b), record.WarnIdentityChanged) {
		t.Errorf("valid %v, warnings %v", b.Valid, b.Warnings)
	}
}

func TestInterruptKeepsFinishedRequests(t *testing.T) {
	t.Parallel()
	s := targettest.Start(t, targettest.Options{Step: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	o := options(s, 6)
	o.Dir = t.TempDir()
	o.Progress = func(done, _ int) {
		if done == 2 {
			cancel()
		}
	}
	b, err := MeasureStart(ctx, o)
	if !errors.Is(err, context.Canceled) || b == nil || b.Valid || b.Requests.OK != 2 {
		t.Fatalf("error %v, result %+v", err, b)
	}
	stored, err := record.ReadRequests(record.StartFolder(o.Dir, 1, ""))
	if err != nil || len(stored) < 2 || !stored[1].OK {
		t.Errorf("on disk: %d requests, %v", len(stored), err)
	}
}

func TestProbe(t *testing.T) {
	s := targettest.Start(t, targettest.Options{Method: "NGRAM", PerStep: 3, Tokens: 31})
	p, err := Probe(t.Context(), ProbeOptions{URL: s.URL + "/v1", Prompt: ProbePrompt, MaxTokens: 128})
	if err != nil {
		t.Fatal(err)
	}
	if p.CompletionTokens != 31 || p.FinishReason != "length" || p.Server.Method != "ngram" || p.Server.ProofLevel != 2 || math.Abs(p.TokS-31/p.Seconds) > 1e-9 {
		t.Errorf("got %+v", p)
	}
	req := s.Requests()[0]
	if req["stream"] != false || req["max_tokens"] != 128. || req["temperature"] != 0. || req["stream_options"] != nil {
		t.Errorf("sent %v", req)
	}
	bad := targettest.Start(t, targettest.Options{Status: 500})
	p, err = Probe(t.Context(), ProbeOptions{URL: bad.URL, Prompt: "x", MaxTokens: 1})
	if err == nil || p == nil || !strings.Contains(p.Error, "refused by the test") {
		t.Errorf("refused: %+v, error %v", p, err)
	}
}
