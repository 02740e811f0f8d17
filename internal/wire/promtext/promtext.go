// Package promtext reads the Prometheus text format as far as measuring needs it: values by family name, summed over
// labels, and differences between two scrapes. Parsing itself is done by prometheus/common.
//
// It does not collect or serve metrics.
package promtext

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Sample is one series. Histograms and summaries appear as two samples, NAME_sum and NAME_count.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Scrape is one reading of a server's metrics.
type Scrape struct {
	series map[string][]Sample
}

// Parse reads a whole exposition. Text that is not Prometheus' is an error that names the line; input that the parser
// cannot digest at all is an error too, never a panic.
func Parse(r io.Reader) (s *Scrape, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("read metrics: parser failed: %v", p)
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	s = &Scrape{series: make(map[string][]Sample, len(families))}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string, len(m.GetLabel()))
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			switch {
			case m.Counter != nil:
				s.add(name, labels, m.GetCounter().GetValue())
			case m.Gauge != nil:
				s.add(name, labels, m.GetGauge().GetValue())
			case m.Untyped != nil:
				s.add(name, labels, m.GetUntyped().GetValue())
			case m.Histogram != nil:
				s.add(name+"_sum", labels, m.GetHistogram().GetSampleSum())
				s.add(name+"_count", labels, float64(m.GetHistogram().GetSampleCount()))
			case m.Summary != nil:
				s.add(name+"_sum", labels, m.GetSummary().GetSampleSum())
				s.add(name+"_count", labels, float64(m.GetSummary().GetSampleCount()))
			}
		}
	}
	return s, nil
}

func (s *Scrape) add(name string, labels map[string]string, v float64) {
	s.series[name] = append(s.series[name], Sample{Labels: labels, Value: v})
}

// Series returns the samples of a name in no particular order.
func (s *Scrape) Series(name string) []Sample { return s.series[name] }

// Has reports whether a name is exposed at all.
func (s *Scrape) Has(name string) bool { return len(s.series[name]) > 0 }

// Sum adds up all series of a name, so that ranks and engines count together. match keeps only the series whose labels
// have these values; a series without the label passes. ok is false when nothing is left or a value is not a number.
func (s *Scrape) Sum(name string, match map[string]string) (sum float64, ok bool) {
	for _, sample := range s.series[name] {
		if !matches(sample.Labels, match) {
			continue
		}
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
			return 0, false
		}
		sum += sample.Value
		ok = true
	}
	return sum, ok
}

// LabelValues lists the distinct values of one label over the series of a name, sorted.
func (s *Scrape) LabelValues(name, label string) []string {
	var out []string
	for _, sample := range s.series[name] {
		if v, ok := sample.Labels[label]; ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// Delta is the growth of a counter's sum between two scrapes. A counter that appears only in the later scrape grew
// from zero: several servers create a series on first use. ok is false when the later scrape does not have it.
// A negative result means that the server restarted or reset its counters.
func Delta(before, after *Scrape, name string) (float64, bool) {
	b, ok := after.Sum(name, nil)
	if !ok {
		return 0, false
	}
	a, _ := before.Sum(name, nil)
	return b - a, true
}

func matches(labels, match map[string]string) bool {
	for k, want := range match {
		if got, ok := labels[k]; ok && got != want {
			return false
		}
	}
	return true
}
