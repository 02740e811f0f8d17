package record

// The classes of failed requests, the keys of Counts.Errors.
const (
	ClassConnect   = "connect"      // no connection could be made
	ClassTransport = "transport"    // the connection broke before a response header came
	ClassHTTP3xx   = "http_3xx"     // a redirect, which is never followed: it would send the prompt to another host
	ClassHTTP4xx   = "http_4xx"     // the server refused the request
	ClassHTTP5xx   = "http_5xx"     // the server failed
	ClassStream    = "stream_error" // an error object, a finish reason that gives up, or data that is not JSON, inside a stream that began with 200
	ClassTruncated = "truncated"    // the stream ended before any choice was finished
	ClassTimeout   = "timeout"      // nothing arrived for longer than the idle limit
	ClassNotSSE    = "not_sse"      // a 200 that is neither a stream of events nor an answer, such as a web page
	ClassEmpty     = "empty"        // a stream without a single choice, with or without [DONE]
	ClassCancelled = "cancelled"    // we stopped it: the window closed or the user interrupted
)
