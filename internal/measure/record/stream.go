package record

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Read is one return of a read of the response body: when it returned and how many bytes it brought.
type Read struct {
	At int64
	N  int
}

// MarshalJSON writes [at, n].
func (r Read) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "[%d,%d]", r.At, r.N), nil }

// UnmarshalJSON reads [at, n].
func (r *Read) UnmarshalJSON(b []byte) error {
	var pair [2]int64
	if err := json.Unmarshal(b, &pair); err != nil {
		return fmt.Errorf("read stamp %s: %w", b, err)
	}
	r.At, r.N = pair[0], int(pair[1])
	return nil
}

// End says how a response body ended.
type End string

// The ends of a body.
const (
	EndEOF       End = "eof"       // the server closed it properly
	EndDone      End = "done"      // [DONE] came and the server kept the connection open: we closed it
	EndError     End = "error"     // the connection broke
	EndTimeout   End = "timeout"   // the idle limit passed
	EndCancelled End = "cancelled" // we stopped it
	EndWindow    End = "window"    // the measured window closed while it was in flight
)

// Piece is a part of a response's body: the bytes of some reads, and their stamps.
type Piece struct {
	Reads []Read
	Bytes []byte
}

// Stream is a response as it arrived: the body's exact bytes (after HTTP's own chunk framing) and the stamp of every
// read. All that Request says about the answer is computed from it by a Filler, at the time of measuring and again from
// disk. Reads and Body are set only where a stream is held in memory as a whole.
type Stream struct {
	Status      int    `json:"status"`          // 0 when no response header came
	Proto       string `json:"proto,omitempty"` // "HTTP/1.1" or "HTTP/2.0"
	ContentType string `json:"content_type"`
	Encoding    string `json:"content_encoding,omitempty"`
	End         End    `json:"end"` // "" while it goes on
	EndAt       int64  `json:"end_at"`
	Error       string `json:"error,omitempty"`       // what broke the connection
	Class       string `json:"error_class,omitempty"` // set when no response header came
	Reads       []Read `json:"-"`
	Body        []byte `json:"-"`
}

// head is what is known of a stream when its response header has come.
func (s *Stream) head() *Stream {
	return &Stream{Status: s.Status, Proto: s.Proto, ContentType: s.ContentType, Encoding: s.Encoding}
}

// Append adds a piece to a stream that is held in memory.
func (s *Stream) Append(p Piece) {
	s.Reads = append(s.Reads, p.Reads...)
	s.Body = append(s.Body, p.Bytes...)
}

// IsEvents reports whether the header says that the body is a stream of events, uncompressed.
func (s *Stream) IsEvents() bool {
	kind, _, _ := strings.Cut(strings.ToLower(s.ContentType), ";")
	return s.Status >= 200 && s.Status < 300 && strings.TrimSpace(kind) == "text/event-stream" && !s.compressed()
}

func (s *Stream) compressed() bool { return s.Encoding != "" && s.Encoding != "identity" }
