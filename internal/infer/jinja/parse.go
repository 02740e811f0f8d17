package jinja

import "slices"

// parser builds statements from tokens.
type parser struct {
	tokens []token
	i      int
	depth  int
	loops  int // for statements around here
}

func (p *parser) peek() token { return p.tokens[p.i] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

func (p *parser) fail(format string, args ...any) { fail(p.peek().line, format, args...) }

// enter counts nesting; the caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("nested more than %d deep", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) isOp(op string) bool {
	t := p.peek()
	return t.kind == tokOp && t.text == op
}

func (p *parser) isName(name string) bool {
	t := p.peek()
	return t.kind == tokName && t.text == name
}

func (p *parser) acceptOp(op string) bool {
	if p.isOp(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) acceptName(name string) bool {
	if p.isName(name) {
		p.i++
		return true
	}
	return false
}

func (p *parser) op(op string) {
	if !p.acceptOp(op) {
		p.fail("want %q, found %s", op, describe(p.peek()))
	}
}

func (p *parser) name() string {
	t := p.peek()
	if t.kind != tokName {
		p.fail("want a name, found %s", describe(t))
	}
	p.i++
	return t.text
}

func describe(t token) string {
	switch t.kind {
	case tokEnd:
		return "the end of the template"
	case tokBlockEnd:
		return `"%}"`
	case tokPrintEnd:
		return `"}}"`
	case tokData, tokPrint, tokBlock:
		return "text"
	}
	return `"` + t.text + `"`
}

func (p *parser) blockEnd() {
	if p.peek().kind != tokBlockEnd {
		p.fail("want the end of the tag, found %s", describe(p.peek()))
	}
	p.i++
}

// statements reads up to one of the tags in until (which is left open after its name), or to the end of the template
// when until is empty.
func (p *parser) statements(until ...string) (body []node, end string) {
	p.enter()
	defer p.leave()
	for {
		switch t := p.next(); t.kind {
		case tokEnd:
			if len(until) > 0 {
				fail(t.line, "the template ends, want {%% %s %%}", until[len(until)-1])
			}
			return body, ""
		case tokData:
			body = append(body, dataNode{t.text})
		case tokPrint:
			body = append(body, printNode{p.tuple()})
			if p.peek().kind != tokPrintEnd {
				p.fail("want \"}}\", found %s", describe(p.peek()))
			}
			p.i++
		case tokBlock:
			word := p.name()
			if slices.Contains(until, word) {
				return body, word
			}
			body = append(body, p.statement(word, t.line))
		default:
			fail(t.line, "unexpected %s", describe(t))
		}
	}
}

// block reads a body up to its closing tag.
func (p *parser) block(end string) []node {
	p.blockEnd()
	body, _ := p.statements(end)
	p.blockEnd()
	return body
}
