package record

import "fmt"

// EventKind says what a stream event carried.
type EventKind uint8

// The kinds of events. Text, Reasoning, Tool and Tokens generate; the others do not. Tokens is an event without any text
// in which the running token count grew: the server holds text back.
const (
	EventOther EventKind = iota
	EventRole
	EventText
	EventReasoning
	EventTool
	EventTokens
	EventUsage
	EventFinish
	EventError
	EventDone
)

// kindNames are the words of the record format, by kind.
func kindNames() [10]string {
	return [...]string{"other", "role", "text", "reasoning", "tool", "tokens", "usage", "finish", "error", "done"}
}

// Generates reports whether events of this kind carry output tokens.
func (k EventKind) Generates() bool { return k >= EventText && k <= EventTokens }

// String is the word for the kind in the record format.
func (k EventKind) String() string {
	if names := kindNames(); int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText gives the word for the kind.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the word for a kind. A word of a later version is read as other.
func (k *EventKind) UnmarshalText(b []byte) error {
	*k = EventOther
	for i, name := range kindNames() {
		if name == string(b) {
			*k = EventKind(i)
		}
	}
	return nil
}

// Event is one server-sent event. At is the return of the read that completed it; Read numbers that read, so that
// events released in one lump are visible. Tokens is the token count if the server told it (token ids, continuous
// usage), else 0. It is kept small, 24 bytes, because a run can hold millions.
type Event struct {
	At     int64     `json:"at"`
	Read   int32     `json:"read"`
	Tokens int32     `json:"tokens,omitempty"`
	Bytes  int32     `json:"bytes"`
	Kind   EventKind `json:"kind"`
}
