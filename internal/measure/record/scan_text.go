package record

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// foldable reports whether encoding/json could take the name of a member for another one: it ignores case, by Unicode's
// rules, and decodes escapes.
func foldable(key []byte) bool {
	for _, c := range key {
		if (c >= 'A' && c <= 'Z') || c == '\\' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// quoted scans a string and returns the bytes between its quotes. plain says that they stand for themselves: ASCII
// without an escape.
func (s *scanner) quoted() (raw []byte, plain bool) {
	if s.next() != '"' {
		s.giveUp()
		return nil, true
	}
	plain = true
	b, from := s.b, s.at+1
	for i := from; ; {
		i += ordinary(b[i:])
		switch {
		case i == len(b) || b[i] < ' ':
			s.giveUp()
			return nil, true
		case b[i] == '"':
			s.at = i + 1
			return b[from:i], plain
		case b[i] == '\\':
			n := escapeLen(b[i+1:])
			if n == 0 {
				s.giveUp()
				return nil, true
			}
			i += 1 + n
		default: // beyond ASCII
			for i < len(b) && b[i] >= utf8.RuneSelf {
				i++
			}
		}
		plain = false
	}
}

// ordinary counts the bytes before the first quote, backslash, control character or byte beyond ASCII, eight at a time.
// In each byte of special the highest bit is set by what is looked for, and wrongly only above a byte where it is right.
func ordinary(b []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		special := w | (w - ones*' ') | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)
		if special &= high; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(b) && b[n] >= ' ' && b[n] < utf8.RuneSelf && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// escapeLen is the length of an escape after its backslash, 0 when it is none.
func escapeLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// text scans a string or null, which is "".
func (s *scanner) text() string { return s.repeated(nil) }

// repeated is text for what is the same in most chunks: it returns *last again when that is what comes, and keeps what
// comes there.
func (s *scanner) repeated(last *string) string {
	if s.null() {
		return ""
	}
	raw, plain := s.quoted()
	if last != nil && plain && string(raw) == *last {
		return *last
	}
	text := ""
	if plain {
		text = string(raw)
	} else {
		text = unquoted(raw)
	}
	if last != nil {
		*last = text
	}
	return text
}

// unquoted decodes the bytes between the quotes of a string whose escapes are well formed, as encoding/json does: bytes
// that are no UTF-8, and halves of surrogate pairs without the other half, become U+FFFD.
func unquoted(raw []byte) string {
	out := make([]byte, 0, 64)
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\' && raw[i+1] == 'u':
			r := hex4(raw[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		case c == '\\':
			out = append(out, escaped(raw[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}

// escaped is the byte that a backslash and c stand for.
func escaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// hex4 is the value of four hexadecimal digits.
func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
