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

func (p *parser) statement(word string, line int) node {
	switch word {
	case "if":
		return p.ifTag()
	case "for":
		return p.forTag(line)
	case "set":
		return p.setTag(line)
	case "macro":
		return p.macroTag(line)
	case "call":
		return p.callTag(line)
	case "filter":
		f := p.filters(nil, line)
		return filterNode{pos(line), f, p.block("endfilter")}
	case "with":
		return p.withTag()
	case "generation":
		return withNode{body: p.block("endgeneration")}
	case "break", "continue":
		if p.loops == 0 {
			fail(line, "%s outside of a loop", word)
		}
		p.blockEnd()
		if word == "break" {
			return loopControl{breaking}
		}
		return loopControl{continuing}
	}
	fail(line, "the tag %q is not supported here", word)
	return nil
}

func (p *parser) ifTag() node {
	n := ifNode{conds: []expr{p.tuple()}}
	for {
		p.blockEnd()
		body, end := p.statements("elif", "else", "endif")
		n.bodies = append(n.bodies, body)
		switch end {
		case "elif":
			n.conds = append(n.conds, p.tuple())
		case "else":
			n.bodies = append(n.bodies, p.block("endif"))
			return n
		default:
			p.blockEnd()
			return n
		}
	}
}

func (p *parser) targets() []string {
	paren := p.acceptOp("(")
	names := []string{p.name()}
	for p.acceptOp(",") {
		if p.peek().kind != tokName {
			break
		}
		names = append(names, p.name())
	}
	if paren {
		p.op(")")
	}
	return names
}

func (p *parser) forTag(line int) node {
	n := forNode{pos: pos(line), target: p.targets()}
	if !p.acceptName("in") {
		p.fail("want \"in\", found %s", describe(p.peek()))
	}
	n.over = p.tupleOf(p.or)
	if p.acceptName("if") {
		n.cond = p.expression()
	}
	if p.isName("recursive") {
		p.fail("recursive loops are not supported")
	}
	p.blockEnd()
	p.loops++
	body, end := p.statements("else", "endfor")
	p.loops--
	n.body = body
	if end == "else" {
		n.none = p.block("endfor")
	} else {
		p.blockEnd()
	}
	return n
}

func (p *parser) setTag(line int) node {
	n := setNode{pos: pos(line), target: p.targets()}
	if len(n.target) == 1 && p.acceptOp(".") {
		n.attr = p.name()
	}
	if p.acceptOp("=") {
		n.value = p.tuple()
		p.blockEnd()
		return n
	}
	if p.acceptOp("|") {
		n.filter = p.filters(nil, line)
	}
	n.body = p.block("endset")
	return n
}

func (p *parser) macroTag(line int) node {
	name := p.name()
	return p.macro(line, name, "endmacro", nil)
}

func (p *parser) callTag(line int) node {
	n := callNode{pos: pos(line)}
	var head *macroNode
	if p.isOp("(") {
		head = &macroNode{}
		p.params(head)
	}
	call, ok := p.expression().(*callExpr)
	if !ok {
		fail(line, "a call tag wants a call")
	}
	n.call = call
	n.caller = p.macro(line, "caller", "endcall", head)
	return n
}

// macro reads parameters, unless head has them, and the body.
func (p *parser) macro(line int, name, end string, head *macroNode) *macroNode {
	m := &macroNode{pos: pos(line), name: name}
	if head != nil {
		m.params, m.defaults = head.params, head.defaults
	} else if end == "endmacro" {
		p.params(m)
	}
	loops := p.loops
	p.loops = 0
	m.body = p.block(end)
	p.loops = loops
	return m
}

func (p *parser) params(m *macroNode) {
	p.op("(")
	for !p.acceptOp(")") {
		if len(m.params) > 0 {
			p.op(",")
			if p.acceptOp(")") {
				return
			}
		}
		m.params = append(m.params, p.name())
		if p.acceptOp("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.fail("a parameter without a default follows one with a default")
		}
	}
}

func (p *parser) withTag() node {
	n := withNode{}
	for p.peek().kind == tokName {
		n.names = append(n.names, p.name())
		p.op("=")
		n.values = append(n.values, p.expression())
		if !p.acceptOp(",") {
			break
		}
	}
	n.body = p.block("endwith")
	return n
}
