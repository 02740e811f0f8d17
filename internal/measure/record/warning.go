package record

import "strings"

// The codes of warnings. docs/warnings.md is generated from WarningTable.
const (
	WarnUsageMissing     = "usage_missing"
	WarnFirstEventSize   = "first_event_size_unknown"
	WarnBuffered         = "buffered_stream"
	WarnNotStreamed      = "not_streamed"
	WarnCompressed       = "compressed_stream"
	WarnClientBound      = "client_bound"
	WarnClientUnsure     = "client_not_certified"
	WarnCapped           = "capped_load"
	WarnTraceLengths     = "trace_lengths"
	WarnIdentity         = "identity_failed"
	WarnForeignLoad      = "foreign_load"
	WarnIdleUnknown      = "idle_unknown"
	WarnCacheHit         = "cache_hit"
	WarnRequestsFailed   = "requests_failed"
	WarnOptionRefused    = "option_refused"
	WarnMethodUnproven   = "method_unproven"
	WarnMethodUnexpected = "method_unexpected"
	WarnConfoundedTime   = "confounded_with_time"
	WarnConfoundedHost   = "confounded_with_machine"
	WarnLengthMismatch   = "length_mismatch"
	WarnThrottled        = "throttled"
	WarnSynthetic        = "synthetic_acceptance"
	WarnCountersReset    = "counters_reset"
	WarnIdentityChanged  = "identity_changed"
	WarnDrafterMissing   = "drafter_missing"
	WarnRankMissing      = "rank_missing"
	WarnInterrupted      = "interrupted"
	WarnUnequalTuning    = "unequal_tuning"
	WarnSameStart        = "same_start"
	WarnPromptsDropped   = "prompts_dropped"
	WarnNoCommonPrompts  = "no_common_prompts"
	WarnIncompleteBlock  = "incomplete_block"
	WarnOrderUnbalanced  = "order_unbalanced"
	WarnLosslessBroken   = "lossless_broken"
)

// WarningMeaning explains one code: what it says and what it does to a result.
type WarningMeaning struct {
	Code   string
	Means  string
	Effect string
}

// WarningTable lists all codes.
func WarningTable() []WarningMeaning {
	return []WarningMeaning{
		{WarnUsageMissing, "Successful requests came without usage, or with zero tokens for text that is there.", "They are excluded: counted, but in no token metric. Nothing is guessed."},
		{WarnFirstEventSize, "Nothing tells how many tokens the first event of a stream held.", "TPOT takes one token an event and is too small when there were more, which happens with speculation."},
		{WarnBuffered, "More than half of a stream's events came in one read: a proxy held them back.", "No TTFT, TPOT and ICL for these requests; a comparison is invalid when they are more than a tenth."},
		{WarnNotStreamed, "The server answered in one piece although a stream was asked for.", "No TTFT, TPOT and ICL for these requests."},
		{WarnCompressed, "The stream was compressed although identity was asked for.", "Times are those of the compressor's blocks."},
		{WarnClientBound, "This client was the limit. One of: the delay of its stamps (p99, by a sentinel stream beside the load) is more than 1 % of the median time to first token (ttft_ms) or of the median decode time (tpot_ms); an open loop's requests left later than planned (p99) by more than 1 % of the median latency (ttft_sched_ms); other programs kept 94 % of this machine's processors busy before the load, while the server under test was idle, or 90 % and the stamps were more than 1 ms late (no processor was free; a server that spins while idle counts, so measure it from another machine).", "The metric it names is not to be trusted. When it is tpot_ms, or no processor was free, the result is invalid."},
		{WarnClientUnsure, "The client was not tested, was not watched during the load, could not hold the planned event rate against a server of known event times, or its median stamp was more than 0.1 ms late.", "Small differences may be the client's."},
		{WarnCapped, "Requests of an open loop waited because --max-in-flight others were under way, or were never sent because the time was up before their turn came.", "The load was not the one planned. Figures from the planned time (ttft_sched_ms, e2e_sched_ms) hold the wait, those from the sending do not."},
		{WarnTraceLengths, "The prompts made for a trace are more than 5 % longer or shorter, by the server's own count, than those of the trace.", "The load on the prompt's side is not the trace's; arrivals and answers are."},
		{WarnIdentity, "Figures contradict each other: an identity that holds in every sound measurement does not (docs/metrics.md, checks).", "Something was misread: a counter shared with others, a proxy that merges or repeats chunks, a usage that is not what it says. Find out before the figures are used."},
		{WarnForeignLoad, "The server did other work during the measurement: it was not idle before, or generated more tokens than we asked for. In an experiment also: other programs used more of this machine's processors than the plan allows.", "Figures describe a busy server or machine; a comparison is invalid. An experiment measures such a start once more before it keeps it."},
		{WarnIdleUnknown, "This kind of server, or this operating system, does not tell whether it is idle.", "Foreign load would not be noticed."},
		{WarnCacheHit, "The server took prompt tokens from its prefix cache.", "TTFT is that of a repeated prompt; a comparison is invalid."},
		{WarnRequestsFailed, "Some requests failed.", "Figures are those of the others. When all failed there are none; above 1 % a comparison is invalid."},
		{WarnOptionRefused, "The server refused a member of the request, which was then left out.", "For example without ignore_eos lengths are not fixed. Both arms of a comparison must have the same."},
		{WarnMethodUnproven, "It could not be shown which method was active.", "A verdict is at most likely and names no method."},
		{WarnMethodUnexpected, "The server was seen to run another method than this arm is meant to.", "The start is invalid."},
		{WarnConfoundedTime, "The compared starts were not interleaved.", "The verdict is at most likely."},
		{WarnConfoundedHost, "The compared starts ran on different machines or GPUs.", "The verdict is at most likely; both fingerprints are shown."},
		{WarnLengthMismatch, "Answers of the compared arms differ in length.", "End-to-end times are not compared."},
		{WarnThrottled, "The processor or GPU lowered its clock.", "Speed is not the machine's usual one; a comparison is invalid."},
		{WarnSynthetic, "The server accepts draft tokens at random at a set rate.", "No verdict about a drafter."},
		{WarnCountersReset, "A counter went backwards between the two scrapes: the server restarted or was flushed.", "The start is invalid."},
		{WarnIdentityChanged, "After the load the server was another one than before, or the starts of an arm differ in version.", "The start is invalid; of other versions the verdict is at most likely."},
		{WarnDrafterMissing, "A method that needs a drafter runs without one.", "The method is not what its name says."},
		{WarnRankMissing, "Counters of a data-parallel rank are absent.", "Sums are incomplete."},
		{WarnUnequalTuning, "Only one of two compared arms was tuned on this machine.", "The difference may be that of the tuning."},
		{WarnInterrupted, "The measurement was stopped before its end.", "The result is invalid; finished requests are kept."},
		{WarnSameStart, "Several measurements are of one server process.", "They count as one start."},
		{WarnPromptsDropped, "Some prompts have no speed in some start.", "They are left out of the comparison everywhere."},
		{WarnNoCommonPrompts, "No prompt has a speed in every start of both arms.", "Nothing can be paired; the comparison is invalid."},
		{WarnIncompleteBlock, "A block lacks a start of one arm.", "Its other start is left out."},
		{WarnOrderUnbalanced, "The arms ran in the same order in every block.", "A steady drift is part of the ratio."},
		{WarnLosslessBroken, "The outputs differ between the arms more than between two starts of the baseline.", "The comparison is invalid, unless the change is meant to alter the output."},
	}
}

// Invalidates reports whether a warning by itself makes a start's result invalid.
func (w Warning) Invalidates() bool {
	switch w.Code {
	case WarnMethodUnexpected, WarnCountersReset, WarnIdentityChanged, WarnInterrupted:
		return true
	case WarnClientBound:
		return !w.FirstTokenOnly()
	}
	return false
}

// FirstTokenOnly reports whether a client_bound warning leaves the decode speed alone: the metric it names is one of the
// first token.
func (w Warning) FirstTokenOnly() bool { return strings.HasPrefix(w.Text, "ttft_") }
