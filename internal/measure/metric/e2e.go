package metric

func e2e() Metric {
	return Metric{
		Name: "e2e_ms", Unit: "ms", Better: Lower,
		Formula: "t_last - t_wrote",
		Source:  "client stamps",
		About:   "From the written request to the last output. What comes after it (usage, [DONE], close) is not part of it. For an answer that was not streamed it ends with the body.",
		Values:  (*View).whole,
	}
}

func e2eSched() Metric {
	return Metric{
		Name: "e2e_sched_ms", Unit: "ms", Better: Lower, OpenOnly: true,
		Formula: "t_last - t_sched",
		Source:  "client stamps",
		About:   "As e2e_ms, from the planned send time.",
		Values:  func(v *View) []float64 { return between(v.Sched, v.Last) },
	}
}

func tail() Metric {
	return Metric{
		Name: "tail_ms", Unit: "ms", Better: Lower,
		Formula: "t_done - t_last",
		Source:  "client stamps",
		About:   "What follows the last output: finish reason, usage, [DONE] or the end of the body.",
		Values:  func(v *View) []float64 { return between(v.Last, v.Done) },
	}
}

func connect() Metric {
	return Metric{
		Name: "connect_ms", Unit: "ms", Better: Neither,
		Formula: "t_conn - t_call",
		Source:  "client stamps",
		About:   "The time to get a connection. It lies before t_wrote and is in no other metric; near 0 where connections are reused.",
		Values:  func(v *View) []float64 { return between(v.Call, v.Conn) },
	}
}
