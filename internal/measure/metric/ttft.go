package metric

import "treeline/internal/measure/record"

func ttft() Metric {
	return Metric{
		Name: "ttft_ms", Unit: "ms", Better: Lower,
		Formula: "t_first - t_wrote",
		Source:  "client stamps",
		About: "Time to first token: from the last byte of the request to the first event that carries output, be it answer, reasoning or a tool call. " +
			"A chunk with only a role is not output. Not given for a stream that a proxy held back.",
		Values: func(v *View) []float64 {
			if v.Lumped {
				return nil
			}
			return between(v.Wrote, v.First)
		},
	}
}

func ttfo() Metric {
	return Metric{
		Name: "ttfo_ms", Unit: "ms", Better: Lower,
		Formula: "t_out - t_wrote",
		Source:  "client stamps",
		About:   "Time to first output of the answer itself, after any reasoning.",
		Values: func(v *View) []float64 {
			if v.Lumped {
				return nil
			}
			return between(v.Wrote, v.FirstOut)
		},
	}
}

func ttftSched() Metric {
	return Metric{
		Name: "ttft_sched_ms", Unit: "ms", Better: Lower, OpenOnly: true,
		Formula: "t_first - t_sched",
		Source:  "client stamps",
		About:   "As ttft_ms, from the planned send time: what a user sees who does not wait for the client.",
		Values:  func(v *View) []float64 { return between(v.Sched, v.First) },
	}
}

func queueDelay() Metric {
	return Metric{
		Name: "queue_delay_ms", Unit: "ms", Better: Neither, OpenOnly: true,
		Formula: "t_call - t_sched",
		Source:  "client stamps",
		About:   "How late the client itself was. Never the server's doing.",
		Values:  func(v *View) []float64 { return between(v.Sched, v.Call) },
	}
}

// Buffered reports whether something between model and client held the stream back and let it go in lumps: one read
// with more than 16 generating events that are more than half of all. Its first event tells nothing about the first
// token.
func Buffered(r *record.Request) bool {
	total, most, same, read := 0, 0, 0, int32(-1)
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Kind.Generates() {
			continue
		}
		if e.Read != read { // reads are numbered in order
			same, read = 0, e.Read
		}
		total, same = total+1, same+1
		most = max(most, same)
	}
	return most > 16 && 2*most > total
}
