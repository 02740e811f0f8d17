package record

// integer scans a number that fits every kind of int, or null, which is 0.
func (s *scanner) integer() int {
	if s.null() {
		return 0
	}
	raw := s.number()
	const most = 9 // digits
	n, sign := 0, 1
	if len(raw) > 0 && raw[0] == '-' {
		raw, sign = raw[1:], -1
	}
	if digits(raw) != len(raw) || len(raw) > most {
		s.giveUp() // a fraction or an exponent, or large
		return 0
	}
	for _, c := range raw {
		n = 10*n + int(c-'0')
	}
	return sign * n
}

// number scans a number and returns its bytes.
func (s *scanner) number() []byte {
	s.next()
	b := s.b[s.at:]
	n := 0
	if len(b) > 0 && b[0] == '-' {
		n++
	}
	whole := digits(b[n:])
	ok := whole == 1 || (whole > 1 && b[n] != '0')
	n += whole
	if n < len(b) && b[n] == '.' {
		fraction := digits(b[n+1:])
		ok = ok && fraction > 0
		n += 1 + fraction
	}
	if n < len(b) && (b[n] == 'e' || b[n] == 'E') {
		n++
		if n < len(b) && (b[n] == '+' || b[n] == '-') {
			n++
		}
		exponent := digits(b[n:])
		ok = ok && exponent > 0
		n += exponent
	}
	if !ok {
		s.giveUp()
		return nil
	}
	s.at += n
	return b[:n]
}

// digits counts the digits that b begins with.
func digits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// boolean scans true, false, or null, which is false.
func (s *scanner) boolean() bool {
	switch s.next() {
	case 't':
		s.word("true")
		return true
	case 'f':
		s.word("false")
	default:
		s.word("null")
	}
	return false
}
