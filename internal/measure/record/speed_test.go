package record

import "testing"

// BenchmarkFill is the cost of an event once it has been read: framing, decoding, and what is kept of it.
func BenchmarkFill(b *testing.B) {
	event := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null,"logprobs":null}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}` + "\n\n"
	p := Piece{Reads: []Read{{At: 1, N: len(event)}}, Bytes: []byte(event)}
	var r Request
	f := NewFiller(&r, &Stream{Status: 200, ContentType: "text/event-stream"})
	b.ReportAllocs()
	for b.Loop() {
		f.Feed(p)
		r.Events = r.Events[:0]
	}
}
