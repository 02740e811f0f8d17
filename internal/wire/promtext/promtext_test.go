package promtext

import (
	"strings"
	"testing"
)

const text = `# HELP x:tokens_total tokens
# TYPE x:tokens_total counter
x:tokens_total{engine="0",pos="1"} 3
x:tokens_total{engine="1",pos="0"} 4.5
# TYPE x:lat histogram
x:lat_bucket{le="1"} 2
x:lat_bucket{le="+Inf"} 3
x:lat_sum 7
x:lat_count 3
# TYPE x:bad gauge
x:bad NaN
loose 12
`

func parse(t *testing.T, s string) *Scrape {
	t.Helper()
	got, err := Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSum(t *testing.T) {
	s := parse(t, text)
	tests := []struct {
		name  string
		match map[string]string
		want  float64
		ok    bool
	}{
		{"x:tokens_total", nil, 7.5, true},
		{"x:tokens_total", map[string]string{"engine": "1"}, 4.5, true},
		{"x:tokens_total", map[string]string{"tp_rank": "0"}, 7.5, true},
		{"x:tokens_total", map[string]string{"engine": "9"}, 0, false},
		{"x:lat_sum", nil, 7, true},
		{"x:lat_count", nil, 3, true},
		{"x:bad", nil, 0, false},
		{"loose", nil, 12, true},
		{"absent", nil, 0, false},
	}
	for _, tt := range tests {
		got, ok := s.Sum(tt.name, tt.match)
		if got != tt.want || ok != tt.ok {
			t.Errorf("Sum(%s, %v) = %v, %v; want %v, %v", tt.name, tt.match, got, ok, tt.want, tt.ok)
		}
	}
	if got := strings.Join(s.LabelValues("x:tokens_total", "pos"), ","); got != "0,1" {
		t.Errorf("LabelValues = %q, want 0,1", got)
	}
}

func TestDelta(t *testing.T) {
	before := parse(t, "a 5\n")
	after := parse(t, "a 3\nb 2\n")
	for _, tt := range []struct {
		name string
		want float64
		ok   bool
	}{{"a", -2, true}, {"b", 2, true}, {"c", 0, false}} {
		got, ok := Delta(before, after, tt.name)
		if got != tt.want || ok != tt.ok {
			t.Errorf("Delta(%s) = %v, %v; want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestNotMetrics(t *testing.T) {
	for _, s := range []string{"<html><body>no</body></html>", `{"error":"not found"}`, "a{b=\"c} 1"} {
		if _, err := Parse(strings.NewReader(s)); err == nil || !strings.Contains(err.Error(), "read metrics") {
			t.Errorf("Parse(%q): got error %v, want one that says what was read", s, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text)
	f.Add("# TYPE a histogram\na_bucket{le=\"x\"} 1\n")
	f.Add("a{quantile=\"0.5\"} 1 2\n")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(strings.NewReader(s))
		if (got == nil) == (err == nil) {
			t.Errorf("got %v and error %v", got, err)
		}
	})
}
