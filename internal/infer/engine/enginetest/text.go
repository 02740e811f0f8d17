package enginetest

import (
	"strings"
	"unicode/utf8"
)

// VocabSize is the number of tokens of Text. EOS is its end-of-sequence token.
const (
	VocabSize = 64
	EOS       = int32(0)
)

// Text is a vocabulary of letters, a few words, and loose bytes of multi-byte characters.
type Text struct{}

// extra follows end of sequence, a to z, space and newline.
var extra = [...]string{
	"\xc3", "\xa9", "\xe2", "\x82", "\xac", "é", "€", "ab", "bc", "the ", " and", "ing", "ed ", "st", "END", ".", ",",
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "(", ")", "def ", "return ", ":", "<", ">", "!",
}

func piece(id int32) string {
	switch {
	case id <= 0:
		return ""
	case id <= 26:
		return string(rune('a' + id - 1))
	case id == 27:
		return " "
	case id == 28:
		return "\n"
	default:
		return extra[int(id)-29]
	}
}

// Encode makes a token of every letter; upper case is folded and what has no token is a space.
func (Text) Encode(text string, _ bool) []int32 {
	var ids []int32
	for _, r := range strings.ToLower(text) {
		id := int32(27)
		for k := int32(1); k < VocabSize; k++ {
			if piece(k) == string(r) {
				id = k
				break
			}
		}
		ids = append(ids, id)
	}
	return ids
}

// Decode is the text of ids, broken characters replaced.
func (t Text) Decode(ids []int32) string {
	s := t.NewStream()
	var sb strings.Builder
	for _, id := range ids {
		sb.WriteString(s.Push(id))
	}
	return sb.String() + s.Flush()
}

// NewStream starts an incremental decoding.
func (Text) NewStream() *Stream { return &Stream{} }

// Stream decodes token by token and returns whole characters only.
type Stream struct{ rest string }

// Push returns the characters that id completes.
func (s *Stream) Push(id int32) string {
	s.rest += piece(id)
	var sb strings.Builder
	for s.rest != "" {
		if !utf8.FullRuneInString(s.rest) {
			break
		}
		r, n := utf8.DecodeRuneInString(s.rest)
		sb.WriteRune(r) // a broken byte becomes U+FFFD
		s.rest = s.rest[n:]
	}
	return sb.String()
}

// Flush returns what is left, broken.
func (s *Stream) Flush() string {
	if s.rest == "" {
		return ""
	}
	s.rest = ""
	return string(utf8.RuneError)
}
