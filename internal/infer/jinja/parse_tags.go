package jinja

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
