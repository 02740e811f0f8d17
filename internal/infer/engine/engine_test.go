package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/infer/engine/enginetest"
	"treeline/internal/infer/model"
	"treeline/internal/infer/sample"
)

func prompt(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(1 + i%7)
	}
	return p
}

// endless is a request that goes on to max_tokens.
func endless(maxTokens int) Request {
	return Request{Prompt: prompt(10), MaxTokens: maxTokens, IgnoreEOS: true, Sample: sample.Params{Temperature: 1, Seed: 1}}
}

// slowRunner takes a millisecond and another per row.
func slowRunner() *enginetest.Runner {
	r := enginetest.NewRunner()
	r.Delay = func(rows int) time.Duration { return time.Duration(1+rows) * time.Millisecond }
	return r
}

func submit(t *testing.T, e *Engine, reqs ...Request) *Answer {
	t.Helper()
	a, err := e.Submit(context.Background(), reqs...)
	if err != nil {
		t.Fatalf("Submit: %v", err)
	}
	return a
}

func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, slowRunner(), Options{MaxRunning: 1, MaxQueue: 1})
		first, second := submit(t, e, endless(5)), submit(t, e, endless(3))
		_, res, err := collect(first, 1)
		if err != nil {
			t.Fatal(err)
		}
		// A prefill of 10 rows takes 11 ms, each decode pass 2 ms.
		if got := res[0].Timings; got.PromptMS != 11 || got.PredictedMS != 8 || got.PredictedN != 5 || got.PromptN != 10 {
			t.Errorf("Timings = %+v, want prompt 10 in 11 ms, 5 predicted in 8 ms", got)
		}
		_, res, err = collect(second, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := res[0]; got.QueueMS != 19 || got.Timings.PromptMS != 11 || got.Timings.PredictedMS != 4 {
			t.Errorf("second: %+v, want 19 ms in the queue, 11 and 4 ms of work", got)
		}
	})
}

func TestCountersAddUp(t *testing.T) {
	for _, name := range []string{"none", "ngram"} {
		o := Options{MaxQueue: 8}
		if name == "ngram" {
			o.NewDrafter, o.DraftTokens, o.RoundDrafts = lookupDrafter(0), 4, 64
		}
		e := newEngine(t, enginetest.NewRunner(), o)
		greedy := endless(60)
		greedy.Sample = sample.Params{}
		a := submit(t, e, greedy, endless(60), endless(1))
		_, res, err := collect(a, 3)
		if err != nil {
			t.Fatal(err)
		}
		c := e.Counters()
		if c.PromptTokens != 30 || c.GenerationTokens != 121 || c.Requests != 3 || c.Running != 0 {
			t.Errorf("%s: counters %+v, want 30 prompt tokens, 121 generated, 3 requests, none running", name, c)
		}
		if got := 3 + c.DecodePasses + c.Accepted; got != c.GenerationTokens {
			t.Errorf("%s: first tokens + passes + accepted = %d, want %d", name, got, c.GenerationTokens)
		}
		var drafts, drafted, accepted int
		for _, r := range res {
			drafts, drafted, accepted = drafts+r.Timings.VerifyN, drafted+r.Timings.DraftN, accepted+r.Timings.DraftNAccepted
		}
		if int64(drafts) != c.Drafts || int64(drafted) != c.DraftTokens || int64(accepted) != c.Accepted {
			t.Errorf("%s: requests say %d drafts, %d drafted, %d accepted; counters %+v", name, drafts, drafted, accepted, c)
		}
		if spec := c.Drafts > 0 && c.Accepted > 0; spec != (name == "ngram") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestChoicesDiffer(t *testing.T) {
	e := newEngine(t, enginetest.NewRunner(), Options{})
	var reqs []Request
	for k := range 3 {
		r := endless(20)
		r.Sample.Seed = sample.ChoiceSeed(9, k)
		reqs = append(reqs, r)
	}
	got, _, err := collect(submit(t, e, reqs...), 3)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].text == got[1].text || got[1].text == got[2].text {
		t.Errorf("choices are the same: %q", got)
	}
}

func TestSubmitRefuses(t *testing.T) {
	e := newEngine(t, enginetest.NewRunner(), Options{MaxRunning: 2, MaxQueue: 1})
	for _, tc := range []struct {
		name string
		req  Request
		want string
	}{
		{"empty", Request{}, "the prompt is empty"},
		{"too long", Request{Prompt: prompt(512)}, "512 tokens; the context holds 512"},
		{"token", Request{Prompt: []int32{1, 64}}, "prompt token 1 is 64; this model's tokens are 0 to 63"},
		{"negative", Request{Prompt: prompt(1), MaxTokens: -1}, "must not be negative"},
	} {
		if _, err := e.Submit(context.Background(), tc.req); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Submit = %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := e.Submit(context.Background(), endless(1), endless(1), endless(1), endless(1)); !errors.Is(err, ErrBusy) {
		t.Errorf("four choices: %v, want ErrBusy", err)
	}
	if c := e.Counters(); c.Queued != 0 || c.Requests != 0 {
		t.Errorf("refused requests left %+v", c)
	}
}

func TestBusyThenFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, slowRunner(), Options{MaxRunning: 1, MaxQueue: 1})
		ctx, cancel := context.WithCancel(context.Background())
		running, err := e.Submit(ctx, endless(400))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := running.Next(); err != nil {
			t.Fatal(err)
		}
		queued, err := e.Submit(ctx, endless(400))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Submit(context.Background(), endless(1)); !errors.Is(err, ErrBusy) {
			t.Errorf("third request: %v, want ErrBusy", err)
		}
		if c := e.Counters(); c.Running != 1 || c.Queued != 1 {
			t.Errorf("counters %+v, want one running, one queued", c)
		}
		cancel() // both go away
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		if c := e.Counters(); c.Running != 0 || c.Queued != 0 || c.Aborted != 2 {
			t.Errorf("after the cancellation %+v, want nothing running, 2 aborted", c)
		}
		for _, a := range []*Answer{running, queued} {
			if ev, err := a.Next(); !errors.Is(err, context.Canceled) {
				t.Errorf("Next after the cancellation = %+v, %v", ev, err)
			}
		}
		if _, _, err := collect(submit(t, e, endless(3)), 1); err != nil {
			t.Errorf("the slot is not free: %v", err)
		}
	})
}

func TestMemory(t *testing.T) {
	r := enginetest.NewRunner()
	r.MemoryTokens = 100
	e := newEngine(t, r, Options{MaxQueue: 8})
	// Two of 60 tokens fit one after the other, 200 never.
	a := submit(t, e, endless(50), endless(50), endless(190))
	_, res, err := collect(a, 3)
	if err != nil {
		t.Fatal(err)
	}
	if res[0].Err != nil || res[1].Err != nil || !errors.Is(res[2].Err, ErrMemory) {
		t.Errorf("results %v, %v, %v, want two good, then ErrMemory", res[0].Err, res[1].Err, res[2].Err)
	}
}

func TestForwardFails(t *testing.T) {
	r := enginetest.NewRunner()
	passes := 0
	r.Fail = func() error {
		if passes++; passes == 4 {
			return errors.New("the disk is on fire")
		}
		return nil
	}
	e := newEngine(t, r, Options{})
	_, res, err := collect(submit(t, e, endless(50)), 1)
	if err != nil {
		t.Fatal(err)
	}
	if res[0].Err == nil || !strings.Contains(res[0].Err.Error(), "the disk is on fire") || res[0].FinishReason != "" {
		t.Errorf("result %+v, want the model's error", res[0])
	}
	if _, res, err = collect(submit(t, e, endless(5)), 1); err != nil || res[0].Err != nil {
		t.Errorf("after a failed pass: %v, %v", err, res[0])
	}
}

// TestPrefillDoesNotStarve lets a long prompt join a decoding request and looks at the decoder's gaps.
func TestPrefillDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowRunner()
		e := newEngine(t, r, Options{PrefillTokens: 16})
		a := submit(t, e, endless(100))
		if _, err := a.Next(); err != nil {
			t.Fatal(err)
		}
		long := endless(1)
		long.Prompt = prompt(400)
		b := submit(t, e, long)
		last, worst := time.Now(), time.Duration(0)
		for {
			if _, err := a.Next(); err != nil {
				break
			}
			worst, last = max(worst, time.Since(last)), time.Now()
		}
		if want := 18 * time.Millisecond; worst != want { // 1 + 16 prompt rows + 1 root
			t.Errorf("longest gap while a prompt of 400 joins: %v, want %v", worst, want)
		}
		if _, res, err := collect(b, 1); err != nil || res[0].FinishReason != FinishLength {
			t.Errorf("the long prompt: %v, %+v", err, res[0])
		}
	})
}

func TestSlowReaderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, enginetest.NewRunner(), Options{})
		req := endless(400)
		a := submit(t, e, req)
		synctest.Wait() // the whole answer is there, unread
		if c := e.Counters(); c.Running != 0 {
			t.Fatalf("a reader that does not read holds its slot: %+v", c)
		}
		if n := len(a.pending); n > maxPending {
			t.Errorf("%d events wait, want at most %d", n, maxPending)
		}
		got, _, err := collect(a, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := oracle(t, enginetest.NewRunner(), req, []int32{enginetest.EOS})
		if diff := cmp.Diff(w, got[0], cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("joined events (-want +got):\n%s", diff)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowRunner()
		e := newEngine(t, r, Options{})
		a := submit(t, e, endless(20))
		if _, err := a.Next(); err != nil {
			t.Fatal(err)
		}
		closeEngine(t, e)
		if !r.Closed() {
			t.Error("the model is still open")
		}
		if _, res, err := collect(a, 1); err != nil || res[0].FinishReason != FinishLength {
			t.Errorf("the running request: %v, %+v; want it finished", err, res[0])
		}
		if _, err := e.Submit(context.Background(), endless(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit after Close: %v, want ErrClosed", err)
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, slowRunner(), Options{MaxRunning: 1, MaxQueue: 1})
		a, b := submit(t, e, endless(400)), submit(t, e, endless(400))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Answer{a, b} {
			if _, res, err := collect(x, 1); err != nil || !errors.Is(res[0].Err, ErrClosed) {
				t.Errorf("an aborted request: %v, %+v; want ErrClosed", err, res[0])
			}
		}
	})
}

func TestNextAfterTheEnd(t *testing.T) {
	e := newEngine(t, enginetest.NewRunner(), Options{})
	a := submit(t, e, endless(2))
	if _, _, err := collect(a, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("Next after the end: %v, want io.EOF", err)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(enginetest.NewRunner(), Options{NewDrafter: lookupDrafter(0), DraftTokens: 256})
	if err == nil {
		t.Error("256 draft tokens were accepted, want an error")
	}
}

// nanRunner gives no usable logits.
type nanRunner struct{ *enginetest.Runner }

func (nanRunner) Logits(int) []float32 { return make([]float32, 0) }

func TestNoUsableLogits(t *testing.T) {
	var _ model.Runner = nanRunner{}
	e := newEngine(t, nanRunner{enginetest.NewRunner()}, Options{})
	_, res, err := collect(submit(t, e, endless(5)), 1)
	if err != nil || res[0].Err == nil {
		t.Errorf("result %+v, %v; want an error", res[0], err)
	}
}
