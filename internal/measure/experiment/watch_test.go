package experiment

import (
	"strings"
	"testing"

	"treeline/internal/measure/record"
)

// Each rule by itself: which figures of the client make which metric doubtful, and the result invalid.
func TestBounds(t *testing.T) {
	metrics := map[string]record.Summary{"ttft_ms": {P50: 20, N: 9}, "e2e_ms": {P50: 340, N: 9}}
	share := func(v float64) *float64 { return &v }
	during := func(p99 float64) *record.ClientDuring { return &record.ClientDuring{StampLagP99MS: p99} }
	late := func(p99 float64) *record.ClientDuring {
		return &record.ClientDuring{StampLagP99MS: 0.1, Schedule: &record.SendLag{P99MS: p99}}
	}
	tests := []struct {
		name    string
		c       record.Client
		decode  float64
		want    string // what the warnings begin with
		invalid bool
	}{
		{"quick", record.Client{StampLagP99MS: 9, During: during(0.1)}, 320, "", false},
		{"late for the first token", record.Client{During: during(0.3)}, 320, "ttft_ms", false},
		{"late for the decode time", record.Client{During: during(3.3)}, 320, "ttft_ms tpot_ms", true},
		{"the same in long answers", record.Client{During: during(3.3)}, 6400, "ttft_ms", false},
		{"not watched", record.Client{StampLagP99MS: 4}, 320, "ttft_ms tpot_ms", true},
		{"no answer of two tokens", record.Client{During: during(4)}, 0, "ttft_ms", false},
		{"schedule held", record.Client{During: late(3.3)}, 320, "", false},
		{"schedule late", record.Client{During: late(3.5)}, 320, "ttft_sched_ms", false},
		{"a full machine that lets the client through", record.Client{BackgroundCPU: share(1), During: during(0.15)}, 320, "no", true},
		{"a nearly full machine that lets the client through", record.Client{BackgroundCPU: share(0.92), During: during(0.15)}, 320, "", false},
		{"a full machine", record.Client{BackgroundCPU: share(0.91), During: during(4)}, 6400, "ttft_ms no", true},
		{"the server under test fills the machine", record.Client{BackgroundCPU: share(0.02), During: during(4)}, 6400, "ttft_ms", false},
		{"use of the processors unknown", record.Client{During: during(4)}, 6400, "ttft_ms", false},
	}
	for _, tt := range tests {
		var got []string
		invalid := false
		for _, w := range bounds(tt.c, metrics, tt.decode) {
			first, _, _ := strings.Cut(w.Text, " ")
			got = append(got, strings.TrimSuffix(first, ":"))
			invalid = invalid || w.Invalidates()
		}
		if s := strings.Join(got, " "); s != tt.want || invalid != tt.invalid {
			t.Errorf("%s: warns of %q, invalid %v; want %q, %v", tt.name, s, invalid, tt.want, tt.invalid)
		}
	}
}
