package metric

import "treeline/internal/measure/record"

func e2e() Metric {
	return Metric{
		Name: "e2e_ms", Unit: "ms", Better: Lower,
		Formula: "t_last - t_wrote",
		Source:  "client stamps",
		About:   "From the written request to the last output. What comes after it (usage, [DONE], close) is not part of it. For an answer that was not streamed it ends with the body.",
		Values: func(r *record.Request) []float64 {
			if r.Last < 0 {
				return between(r.Wrote, r.Done)
			}
			return between(r.Wrote, r.Last)
		},
	}
}

func e2eSched() Metric {
	return Metric{
		Name: "e2e_sched_ms", Unit: "ms", Better: Lower, OpenOnly: true,
		Formula: "t_last - t_sched",
		Source:  "client stamps",
		About:   "As e2e_ms, from the planned send time.",
		Values:  func(r *record.Request) []float64 { return between(r.Sched, r.Last) },
	}
}
