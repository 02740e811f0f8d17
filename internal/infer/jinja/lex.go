package jinja

import (
	"strings"
	"unicode"
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
