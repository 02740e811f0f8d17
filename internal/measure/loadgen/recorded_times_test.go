package loadgen

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"treeline/internal/measure/metric"
	"treeline/internal/sharedtest"
)

// replayTimes serves a recording with the times of its reads, on synctest's clock.
func replayTimes(t *testing.T, base string) []piece {
	t.Helper()
	raw, err := os.ReadFile(base + ".raw")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(base + ".reads.json")
	if err != nil {
		t.Fatal(err)
	}
	var reads struct {
		Reads [][3]float64 `json:"reads"`
	}
	if err := json.Unmarshal(b, &reads); err != nil {
		t.Fatal(err)
	}
	var out []piece
	last := 0.0
	for _, r := range reads.Reads {
		at, n := int(r[1]), int(r[2])
		if n > 0 {
			out = append(out, piece{time.Duration((r[0] - last) * float64(time.Millisecond)), string(raw[at : at+n])})
			last = r[0]
		}
	}
	return out
}

// What our client makes of a stream agrees with the server's own clock: time per token within 3 %, and a step's tokens
// are one arrival however they were cut.
func TestCommittedTimesAgreeWithTheServer(t *testing.T) {
	checkTimes(t, filepath.Join("testdata", "llamacpp_ngram"))
}

func TestRecordedTimesAgreeWithTheServer(t *testing.T) {
	dir := filepath.Join(sharedtest.Dir(t), "recordings")
	for _, mode := range []string{"ar", "ngram", "draft", "synth"} {
		for _, name := range []string{"stream_usage", "stream_stop", "stream_logprobs", "stream_token_ids"} {
			checkTimes(t, filepath.Join(dir, "llamacpp-b11549-"+mode, name))
		}
	}
}

func checkTimes(t *testing.T, base string) {
	t.Helper()
	name := filepath.Base(filepath.Dir(base)) + "/" + filepath.Base(base)
	pieces := replayTimes(t, base)
	synctest.Test(t, func(t *testing.T) {
		r, _ := do(t.Context(), &scripted{answer: answers(pieces...)}, 0)
		time.Sleep(time.Hour) // let the server's side end
		tpot, ok := metric.TPOT(&r)
		if !ok || r.Timings == nil {
			t.Fatalf("%s: no time per token: %+v", name, r)
		}
		server := r.Timings.PredictedMS / float64(r.Timings.PredictedN-1)
		if off := tpot/server - 1; math.Abs(off) > 0.03 {
			t.Errorf("%s: %.3f ms per token by the client, %.3f by the server: %.1f %% apart", name, tpot, server, 100*off)
		}
		steps := r.Timings.PredictedN - 1 - r.Timings.DraftNAccepted
		chunks := len(r.Arrivals()) - 1
		if strings.Contains(name, "stop") { // text that may begin the stop string is held back
			return
		}
		if off := math.Abs(float64(chunks - steps)); off > max(2, 0.06*float64(steps)) {
			t.Errorf("%s: %d arrivals after the first, the server made %d steps", name, chunks, steps)
		}
	})
}
