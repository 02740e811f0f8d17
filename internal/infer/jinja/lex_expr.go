package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inside reads the tokens of an expression or statement up to its end, which is not passed over. Within brackets an
// end counts as operators: }} may close two dictionaries.
func (l *lexer) inside(end string) {
	start, depth := l.line, 0
	for {
		rest := l.src[l.at:]
		l.move(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
		rest = l.src[l.at:]
		if rest == "" {
			fail(start, "a tag is not closed, want %q", end)
		}
		if depth == 0 {
			if strings.HasPrefix(rest, end) || (rest[0] == '-' || rest[0] == '+') && strings.HasPrefix(rest[1:], end) {
				return
			}
		}
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			l.str(c)
		case c >= '0' && c <= '9':
			l.number(rest)
		default:
			if n := nameLen(rest); n > 0 {
				l.emit(tokName, rest[:n])
				l.move(n)
				continue
			}
			n := operator(rest)
			if n == 0 {
				fail(l.line, "unexpected character %q", rest[:utf8.RuneLen(firstRune(rest))])
			}
			depth += bracket(c)
			if depth < 0 {
				fail(l.line, "unexpected %q", c)
			}
			l.emit(tokOp, rest[:n])
			l.move(n)
		}
	}
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return 'x' // one byte
	}
	return r
}

func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

func operator(s string) int {
	if len(s) >= 2 {
		switch s[:2] {
		case "==", "!=", "<=", ">=", "//", "**":
			return 2
		}
	}
	if strings.IndexByte("+-*/%~<>=()[]{},.:|;", s[0]) >= 0 {
		return 1
	}
	return 0
}

func (l *lexer) number(s string) {
	n, kind := digits(s), tokInt
	if n+1 < len(s) && s[n] == '.' && s[n+1] >= '0' && s[n+1] <= '9' {
		n += 1 + digits(s[n+1:])
		kind = tokFloat
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if d := digits(s[min(m, len(s)):]); d > 0 {
			n, kind = m+d, tokFloat
		}
	}
	l.emit(kind, strings.ReplaceAll(s[:n], "_", ""))
	l.move(n)
}

func digits(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '_') {
		n++
	}
	return n
}

// str reads a string literal with Python's escapes.
func (l *lexer) str(quote byte) {
	line := l.line
	var b strings.Builder
	i := l.at + 1
	for ; i < len(l.src) && l.src[i] != quote; i++ {
		if l.src[i] != '\\' || i+1 == len(l.src) {
			b.WriteByte(l.src[i])
			continue
		}
		i++
		i += escape(&b, l.src[i:]) - 1
	}
	if i >= len(l.src) {
		fail(line, "a string is not closed")
	}
	l.emit(tokString, b.String())
	l.move(i + 1 - l.at)
}

// escape writes what stands for s, the text after a backslash, and returns how much of s it took.
func escape(b *strings.Builder, s string) int {
	const names, values = "abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\""
	if i := strings.IndexByte(names, s[0]); i >= 0 {
		b.WriteByte(values[i])
		return 1
	}
	size := 0
	switch s[0] {
	case '\n':
		return 1
	case '0':
		b.WriteByte(0)
		return 1
	case 'x':
		size = 2
	case 'u':
		size = 4
	case 'U':
		size = 8
	}
	if size > 0 && len(s) > size {
		if n, err := strconv.ParseUint(s[1:1+size], 16, 32); err == nil {
			b.WriteRune(rune(n))
			return 1 + size
		}
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 1
}
