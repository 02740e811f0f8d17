package tokenizer

import "unicode/utf8"

// byteAlphabet is how GPT-2's vocabularies write bytes: those that print stand for themselves as Latin-1, all others
// for the characters from U+0100 on, in order.
func byteAlphabet() (runes [256]rune) {
	next := rune(0x100)
	for b := range 256 {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			runes[b] = rune(b)
		default:
			runes[b] = next
			next++
		}
	}
	return runes
}

// alphabet reads what byteAlphabet writes.
type alphabet map[rune]byte

func newAlphabet() alphabet {
	a := make(alphabet, 256)
	for b, r := range byteAlphabet() {
		a[r] = byte(b)
	}
	return a
}

// raw turns a vocabulary's entry into the bytes of its token. ok is false when it is not written in the alphabet.
func (a alphabet) raw(entry string) (piece string, ok bool) {
	b := make([]byte, 0, len(entry))
	for _, r := range entry {
		c, ok := a[r]
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}

// appendRune moves the first character of b to out: itself, or U+FFFD for the longest start of b that could begin a
// character but is none (Unicode's "maximal subpart"), or for one byte when there is no such start.
func appendRune(out, b []byte) (grown, rest []byte) {
	if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
		return append(out, b[:n]...), b[n:]
	}
	n := max(1, partial(b))
	return utf8.AppendRune(out, utf8.RuneError), b[n:]
}

// partial is the length of the longest start of b that begins a character of UTF-8 but does not complete it.
func partial(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	size, lo, hi := 0, byte(0x80), byte(0xbf) // the range of the second byte: table 3-7 of the Unicode standard
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		size = 2
	case c >= 0xe0 && c <= 0xef:
		size = 3
		switch c {
		case 0xe0:
			lo = 0xa0
		case 0xed:
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		size = 4
		switch c {
		case 0xf0:
			lo = 0x90
		case 0xf4:
			hi = 0x8f
		}
	default:
		return 0
	}
	n := 1
	for n < len(b) && n < size && b[n] >= lo && b[n] <= hi {
		n++
		lo, hi = 0x80, 0xbf
	}
	if n == size {
		return 0
	}
	return n
}
