package tokenizer

// Stream turns tokens into text as they come, whole characters only: bytes of a character that is not complete are
// held back until it is, or until it can't become one. What it gives in all is what Decode gives.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	held        []byte // a start of a character, at most three bytes
}

// NewStream starts a text. With skipSpecial, control tokens give no text.
func (t *Tokenizer) NewStream(skipSpecial bool) *Stream {
	return &Stream{t: t, skipSpecial: skipSpecial}
}

// Push returns the characters that a token completes, perhaps none.
func (s *Stream) Push(id int32) string {
	piece := s.t.Piece(id, s.skipSpecial)
	if piece == "" {
		return ""
	}
	b := append(s.held, piece...)
	var out []byte
	for len(b) > 0 && partial(b) < len(b) {
		out, b = appendRune(out, b)
	}
	s.held = append([]byte(nil), b...)
	return string(out)
}

// Flush returns what is left at the end of a text: U+FFFD when it ends within a character. The stream starts anew.
func (s *Stream) Flush() string {
	if len(s.held) == 0 {
		return ""
	}
	s.held = nil
	return "\uFFFD"
}
