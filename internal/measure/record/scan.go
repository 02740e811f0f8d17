package record

import (
	"bytes"
	"encoding/json"
)

// scanner walks over JSON of the usual form. At the first thing that is not, whether it is broken or only rare, it gives
// up and leaves the decision to encoding/json: it accepts less than JSON, never more. After giving up every method ends
// at once, and what they returned means nothing.
type scanner struct {
	b     []byte
	at    int
	gone  bool // given up
	depth int  // of arrays and objects that skip is in
}

// deepest is the nesting that skip follows. Servers need 5; encoding/json goes on to 10,000.
const deepest = 64

func (s *scanner) giveUp() { s.gone, s.at = true, len(s.b) }

// next skips white space and returns the byte after it, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.b) && s.b[s.at] > ' ' {
		return s.b[s.at]
	}
	return s.afterSpace()
}

func (s *scanner) afterSpace() byte {
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips c, which is not 0, if it comes next.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.giveUp()
	}
}

// word skips the rest of true, false or null.
func (s *scanner) word(w string) {
	if !bytes.HasPrefix(s.b[s.at:], []byte(w)) {
		s.giveUp()
		return
	}
	s.at += len(w)
}

// null skips a null if it comes next.
func (s *scanner) null() bool {
	if s.next() != 'n' {
		return false
	}
	s.word("null")
	return true
}

// members scans an object. value scans the value of a member and returns its number, from 1, or 0 for a member that it
// skipped. A member that comes twice is left to encoding/json, where the last one wins and objects are merged.
func (s *scanner) members(value func(key []byte) (number uint)) {
	s.want('{')
	if s.take('}') {
		return
	}
	for seen := uint(0); !s.gone; {
		key, _ := s.quoted()
		s.want(':')
		n := value(key)
		if seen&(1<<n) != 0 || (n == 0 && foldable(key)) {
			s.giveUp()
		}
		seen |= 1 << n &^ 1
		if s.take('}') {
			return
		}
		s.want(',')
	}
}

// elements scans an array.
func (s *scanner) elements(value func()) {
	s.want('[')
	if s.take(']') {
		return
	}
	for !s.gone {
		value()
		if s.take(']') {
			return
		}
		s.want(',')
	}
}

// skip scans any value.
func (s *scanner) skip() {
	switch s.next() {
	case '"':
		s.quoted()
	case '{', '[':
		s.skipNested()
	case 't', 'f', 'n':
		s.boolean()
	default:
		s.number()
	}
}

// skipNested skips an array or an object.
func (s *scanner) skipNested() {
	s.depth++
	if s.depth > deepest {
		s.giveUp()
	}
	if s.next() == '[' {
		s.elements(s.skip)
		s.depth--
		return
	}
	s.want('{')
	if !s.take('}') {
		for !s.gone {
			s.quoted()
			s.want(':')
			s.skip()
			if s.take('}') {
				break
			}
			s.want(',')
		}
	}
	s.depth--
}

// other leaves a value of a rare member to encoding/json.
func (s *scanner) other(v any) {
	s.next()
	from := s.at
	s.skip()
	if !s.gone && json.Unmarshal(s.b[from:s.at], v) != nil {
		s.giveUp()
	}
}
