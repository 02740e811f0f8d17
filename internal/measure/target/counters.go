package target

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"treeline/internal/wire/promtext"
)

// Counter names one growing number of a server.
type Counter string

// The counters. A pass is one decode step of the target model for one sequence, whether or not it carried drafts.
const (
	Generated Counter = "generated" // output tokens
	Prompt    Counter = "prompt"    // prompt tokens processed
	Requests  Counter = "requests"  // finished requests
	Drafts    Counter = "drafts"    // passes that carried draft tokens
	Drafted   Counter = "drafted"   // draft tokens proposed
	Accepted  Counter = "accepted"  // draft tokens kept, without the bonus token
	Passes    Counter = "passes"    // all decode passes
	Verify    Counter = "verify"    // passes of the speculative worker, where accepted is not told (SGLang)
)

// Counters are the numbers a server tells; one that it does not tell is absent.
type Counters map[Counter]float64

// Scrape is one reading of a server's counters. Metrics is the text as it came, nil when the server has none.
type Scrape struct {
	Counters Counters
	Metrics  []byte
	Start    string // what the metrics say about the server's start, "" nothing
	parsed   *promtext.Scrape
}

// Has reports whether the server told any counter at all.
func (s Scrape) Has() bool { return len(s.Counters) > 0 }

// Scrape reads the server's counters. A server without metrics gives an empty Scrape and no error.
func (s *Server) Scrape(ctx context.Context) (Scrape, error) {
	out := Scrape{Counters: Counters{}}
	if s.adapter.metrics == "" {
		return out, nil
	}
	res, err := s.web.get(ctx, s.adapter.metrics)
	if err != nil {
		return out, fmt.Errorf("read metrics of %s: %w", s.Base, err)
	}
	if res.status != http.StatusOK {
		return out, nil
	}
	out.parsed, err = promtext.Parse(bytes.NewReader(res.body))
	if err != nil {
		return out, fmt.Errorf("metrics of %s: %w", s.Base, err)
	}
	out.Metrics = res.body
	if v, ok := out.parsed.Sum("process_start_time_seconds", nil); ok && v > 0 {
		out.Start = fmt.Sprintf("process started at %.2f", v)
	}
	if v := res.header.Get("Process-Start-Time-Unix"); v != "" {
		out.Start = "process started at " + v
	}
	if s.adapter.counters != nil {
		out.Counters = s.adapter.counters(out.parsed)
	}
	return out, nil
}

// TellsSpeculation reports whether this scrape can show speculation or its absence: the server has counters, and a
// method that ran would be seen in them.
func (s *Server) TellsSpeculation(sc Scrape) bool { return s.adapter.spec && sc.Has() }

// Delta is the growth of every counter that the later reading has. A counter that is only in the later one grew from
// zero: some servers create them on first use.
func Delta(before, after Counters) Counters {
	d := Counters{}
	for k, v := range after {
		d[k] = v - before[k]
	}
	return d
}

// pick sums the named series into counters; absent series stay absent.
func pick(s *promtext.Scrape, names map[Counter]string) Counters {
	c := Counters{}
	for k, name := range names {
		if v, ok := s.Sum(name, map[string]string{"tp_rank": "0"}); ok {
			c[k] = v
		}
	}
	return c
}

// Load is how busy a server is.
type Load struct {
	Running float64
	Waiting float64
	Source  string // where it was read
}

// Idle is the outcome of an idle check.
type Idle struct {
	Known bool
	Idle  bool
	Text  string
}

// Idle reads the server's load twice, pause apart (a second in practice: gauges lag), and calls it idle when nothing
// ran or waited at both times.
func (s *Server) Idle(ctx context.Context, pause time.Duration) (Idle, error) {
	if s.adapter.load == nil {
		return Idle{Text: fmt.Sprintf("a %s server does not tell its load", s.Kind)}, nil
	}
	for i := range 2 {
		if i > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return Idle{}, ctx.Err()
			}
		}
		sc, err := s.Scrape(ctx)
		if err != nil {
			return Idle{}, err
		}
		l, ok := s.adapter.load(ctx, s, sc.parsed)
		if !ok {
			return Idle{Text: fmt.Sprintf("this %s server does not tell its load (are its metrics enabled?)", s.Kind)}, nil
		}
		if l.Running > 0 || l.Waiting > 0 {
			return Idle{Known: true, Text: fmt.Sprintf("%g requests running and %g waiting by %s before the measurement", l.Running, l.Waiting, l.Source)}, nil
		}
	}
	return Idle{Known: true, Idle: true, Text: "no request running or waiting at two readings"}, nil
}

// gauges reads running and waiting from metrics.
func gauges(s *promtext.Scrape, running string, waiting ...string) (Load, bool) {
	if s == nil {
		return Load{}, false
	}
	r, ok := s.Sum(running, nil)
	if !ok {
		return Load{}, false
	}
	l := Load{Running: r, Source: running}
	for _, name := range waiting {
		if v, ok := s.Sum(name, nil); ok {
			l.Waiting += v
		}
	}
	return l, true
}
