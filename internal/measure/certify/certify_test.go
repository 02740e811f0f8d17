package certify

import (
	"testing"
	"time"

	"treeline/internal/measure/record"
)

// The figures depend on the machine and are not judged here; that every event is matched is.
func TestRunMatchesEveryEvent(t *testing.T) {
	r, err := Run(t.Context(), Options{EventsPerS: 400, Streams: 4, Duration: 250 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Events != 100 || r.StampLagP99MS <= 0 || r.MedianMS <= 0 || r.EventsPerS <= 0 {
		t.Errorf("got %+v, want 100 events with positive delays", r)
	}
	t.Logf("%+v", r)
}

func TestJudge(t *testing.T) {
	s := &server{sent: map[int][]int64{0: {0, 10e6, 20e6, 30e6}}}
	at := func(lag float64) []record.Request {
		var r record.Request
		for _, sent := range s.sent[0] {
			r.Events = append(r.Events, record.Event{Kind: record.EventText, At: sent + int64(lag*1e6)})
		}
		return []record.Request{r}
	}
	tests := []struct {
		name    string
		lag     float64
		planned float64
		want    bool
	}{
		{"fast", 0.05, 100, true},
		{"late", 0.2, 100, false},
		{"cannot hold the rate", 0.05, 200, false},
	}
	for _, tt := range tests {
		if got := s.judge(at(tt.lag), tt.planned); got.Certified != tt.want {
			t.Errorf("%s: %+v, want certified %v", tt.name, got, tt.want)
		}
	}
	if got := s.judge(nil, 100); got.Certified {
		t.Errorf("no events: %+v", got)
	}
}
