package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind byte

const (
	tokData  tokenKind = iota // text between tags
	tokPrint                  // {{
	tokPrintEnd
	tokBlock // {%
	tokBlockEnd
	tokName
	tokString // text is the value
	tokInt
	tokFloat
	tokOp
	tokEnd // of the template
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lexer cuts a template into tokens, applying trim_blocks, lstrip_blocks and the - and + of tags.
type lexer struct {
	src    string
	at     int
	line   int
	tokens []token
}

func lex(source string) []token {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(source, "\n"), line: 1}
	for l.at < len(l.src) {
		l.data()
	}
	l.emit(tokEnd, "")
	return l.tokens
}

func (l *lexer) emit(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.line})
}

// move passes over n bytes and counts their lines.
func (l *lexer) move(n int) string {
	s := l.src[l.at : l.at+n]
	l.line += strings.Count(s, "\n")
	l.at += n
	return s
}

// data reads text up to the next tag, and the tag.
func (l *lexer) data() {
	rest := l.src[l.at:]
	lineStart := l.at == 0 || l.src[l.at-1] == '\n'
	n := nextTag(rest)
	text := rest[:n]
	if n < len(rest) {
		mark := byte(0)
		if n+2 < len(rest) {
			mark = rest[n+2]
		}
		switch {
		case mark == '-':
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		case mark != '+' && rest[n+1] != '{':
			text = stripLine(text, lineStart)
		}
	}
	if text != "" {
		l.emit(tokData, text)
	}
	l.move(n)
	if l.at < len(l.src) {
		l.tag()
	}
}

func nextTag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return len(s)
}

// stripLine removes the white space between the start of a line and a tag.
func stripLine(text string, lineStart bool) string {
	nl := strings.LastIndexByte(text, '\n')
	if nl < 0 && !lineStart {
		return text
	}
	if strings.TrimSpace(text[nl+1:]) == "" {
		return text[:nl+1]
	}
	return text
}

func (l *lexer) tag() {
	open := l.src[l.at+1]
	n := 2
	if l.at+2 < len(l.src) && (l.src[l.at+2] == '-' || l.src[l.at+2] == '+') {
		n = 3
	}
	switch open {
	case '#':
		l.comment(n)
	case '%':
		if l.raw(n) {
			return
		}
		l.emit(tokBlock, "")
		l.move(n)
		l.inside("%}")
		l.emit(tokBlockEnd, "")
		l.close("%}")
	default:
		l.emit(tokPrint, "")
		l.move(n)
		l.inside("}}")
		l.emit(tokPrintEnd, "")
		l.close("}}")
	}
}

func (l *lexer) comment(n int) {
	end := strings.Index(l.src[l.at+2:], "#}")
	if end < 0 {
		fail(l.line, "a comment is not closed")
	}
	end += l.at + 2
	if end > l.at+n && (l.src[end-1] == '-' || l.src[end-1] == '+') {
		end--
	}
	l.move(end - l.at)
	l.close("#}")
}

// close passes over the end of a tag and what it trims: all white space after -, one newline after a block.
func (l *lexer) close(end string) {
	mark := l.src[l.at]
	if mark == '-' || mark == '+' {
		l.move(1)
	}
	l.move(len(end))
	rest := l.src[l.at:]
	switch {
	case mark == '-':
		l.move(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
	case mark != '+' && end != "}}" && strings.HasPrefix(rest, "\n"):
		l.move(1)
	}
}

// raw reads {% raw %}...{% endraw %} when it is what stands here.
func (l *lexer) raw(n int) bool {
	inner, trim, ok := keywordTag(l.src[l.at+n:], "raw")
	if !ok {
		return false
	}
	line := l.line
	l.move(n + inner)
	if trim {
		rest := l.src[l.at:]
		l.move(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
	}
	for i := l.at; i+1 < len(l.src); i++ {
		if l.src[i] != '{' || l.src[i+1] != '%' {
			continue
		}
		n := 2
		if i+2 < len(l.src) && (l.src[i+2] == '-' || l.src[i+2] == '+') {
			n = 3
		}
		if inner, _, ok := keywordTag(l.src[i+n:], "endraw"); ok {
			text := l.src[l.at:i]
			switch l.src[i+2] {
			case '-':
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			case '+':
			default:
				text = stripLine(text, l.src[l.at-1] == '\n')
			}
			if text != "" {
				l.emit(tokData, text)
			}
			end := i + n + inner - 2 // before %} or -%}
			if c := l.src[end-1]; c == '-' || c == '+' {
				end--
			}
			l.move(end - l.at)
			l.close("%}")
			return true
		}
	}
	fail(line, "raw is not closed")
	return false
}

// keywordTag matches the rest of a tag that holds nothing but a keyword: its length, and whether it ends in -%}.
func keywordTag(s, word string) (n int, trim, ok bool) {
	rest := strings.TrimLeftFunc(s, unicode.IsSpace)
	rest, ok = strings.CutPrefix(rest, word)
	if !ok {
		return 0, false, false
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	rest, trim = strings.CutPrefix(rest, "-")
	if !trim {
		rest = strings.TrimPrefix(rest, "+")
	}
	rest, ok = strings.CutPrefix(rest, "%}")
	return len(s) - len(rest), trim, ok
}

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
