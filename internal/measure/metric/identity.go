package metric

// The names of the checks.
const (
	checkLittle    = "little"
	checkTokens    = "tokens_counted"
	checkChunks    = "chunks_add_up"
	checkRTT       = "ttft_above_rtt"
	checkEffective = "decode_above_effective"
	checkTau       = "tau_agrees"
)

// Identity explains one check: what holds, and what it usually means where it does not.
type Identity struct {
	Name  string
	Holds string
	Fails string
}

// Identities lists the checks in the order in which they are made.
func Identities() []Identity {
	return []Identity{
		{
			checkLittle, "the mean number in flight in the steady window is the rate of requests times their mean time in flight (Little's law), within 5 %; from 40 requests for each place on",
			"the load was not steady: a request held its place for most of the window, or times are not those of the requests they stand with",
		},
		{
			checkTokens, "the tokens of usage are those that the server counted, within 1 %, or 2 tokens",
			"somebody else used the server, it counts tokens that it did not send, or its usage is not what it says",
		},
		{
			checkChunks, "the tokens that events told are those of usage, within 1 %",
			"chunks were lost or repeated on the way, or the token ids of the events are not the tokens that are charged",
		},
		{
			checkRTT, "no first token comes before the shortest round trip (less 0.2 ms, what timers and schedulers add)",
			"something nearer than the server answered, such as a cache, or the request was stamped as written too late",
		},
		{
			checkEffective, "no stream with a known first token decodes slower than it runs with the wait for that token in it",
			"the first token was stamped before the request was written: it began to answer before it was asked, or a stamp is wrong",
		},
		{
			checkTau, "tokens a chunk at the client are the acceptance length of the server's counters, within 5 % and what the last step of an answer can be cut by, at concurrency 1",
			"a proxy or the server's stream interval merges steps into a chunk, something cuts one into several, or the answers are full of characters of several tokens, which a server holds back until they are whole; then icl_ms and tokens_per_chunk are not those of steps",
		},
	}
}
