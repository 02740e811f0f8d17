package jinja

import (
	"strconv"
	"strings"
)

func (p *parser) unary(filters bool) expr {
	p.enter()
	defer p.leave()
	var x expr
	if t := p.peek(); p.isOp("-") || p.isOp("+") {
		p.i++
		x = &unaryExpr{pos: pos(t.line), op: t.text, x: p.unary(false)}
	} else {
		x = p.postfix(p.primary())
	}
	if filters {
		x = p.suffixes(x)
	}
	return x
}

func (p *parser) primary() expr {
	t := p.next()
	at := pos(t.line)
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return &literal{at, true}
		case "false", "False":
			return &literal{at, false}
		case "none", "None":
			return &literal{at, nil}
		}
		return &nameExpr{at, t.text}
	case tokString:
		parts := []string{t.text}
		for p.peek().kind == tokString { // neighbours are one string
			parts = append(parts, p.next().text)
		}
		return &literal{at, strings.Join(parts, "")}
	case tokInt:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			fail(t.line, "the number %s is too large", t.text)
		}
		return &literal{at, n}
	case tokFloat:
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			fail(t.line, "the number %s is too large", t.text)
		}
		return &literal{at, x}
	case tokOp:
		switch t.text {
		case "(":
			return p.parens(at)
		case "[":
			return p.list(at)
		case "{":
			return p.dict(at)
		}
	}
	fail(t.line, "want an expression, found %s", describe(t))
	return nil
}

func (p *parser) parens(at pos) expr {
	if p.acceptOp(")") {
		return &listExpr{pos: at, tuple: true}
	}
	x := p.tuple()
	p.op(")")
	return x
}

func (p *parser) list(at pos) expr {
	l := &listExpr{pos: at}
	for !p.acceptOp("]") {
		if len(l.items) > 0 {
			p.op(",")
			if p.acceptOp("]") {
				break
			}
		}
		l.items = append(l.items, p.expression())
	}
	return l
}

func (p *parser) dict(at pos) expr {
	d := &dictExpr{pos: at}
	for !p.acceptOp("}") {
		if len(d.keys) > 0 {
			p.op(",")
			if p.acceptOp("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.op(":")
		d.values = append(d.values, p.expression())
	}
	return d
}

// postfix reads attributes, indices and calls.
func (p *parser) postfix(x expr) expr {
	for {
		at := pos(p.peek().line)
		switch {
		case p.acceptOp("."):
			if t := p.peek(); t.kind == tokInt {
				p.i++
				n, err := strconv.ParseInt(t.text, 10, 64)
				if err != nil {
					fail(t.line, "the number %s is too large", t.text)
				}
				x = &indexExpr{at, x, &literal{at, n}}
				continue
			}
			x = &attrExpr{at, x, p.name()}
		case p.acceptOp("["):
			x = p.index(at, x)
		case p.isOp("("):
			x = &callExpr{at, x, p.arguments()}
		default:
			return x
		}
	}
}

func (p *parser) index(at pos, x expr) expr {
	var parts [3]expr
	n, slice := 0, false
	for !p.isOp("]") {
		if p.acceptOp(":") {
			slice = true
			if n++; n > 2 {
				p.fail("a slice has more than three parts")
			}
			continue
		}
		if parts[n] != nil {
			p.fail("want \"]\", found %s", describe(p.peek()))
		}
		if parts[n] = p.expression(); p.isOp(",") {
			p.fail("an index with several parts is not supported")
		}
	}
	p.op("]")
	if slice {
		return &sliceExpr{at, x, parts[0], parts[1], parts[2]}
	}
	if parts[0] == nil {
		fail(int(at), "an index is empty")
	}
	return &indexExpr{at, x, parts[0]}
}

// suffixes reads filters, tests, and calls of what they give.
func (p *parser) suffixes(x expr) expr {
	for {
		line := p.peek().line
		switch {
		case p.acceptOp("|"):
			x = p.filters(x, line)
		case p.acceptName("is"):
			x = p.test(x, line)
		case p.isOp("("):
			x = &callExpr{pos(line), x, p.arguments()}
		default:
			return x
		}
	}
}

// filters reads the filters after a first "|" that was passed over.
func (p *parser) filters(x expr, line int) expr {
	for {
		f := &filterExpr{pos: pos(line), x: x, name: p.name()}
		if !knownFilter(f.name) {
			fail(line, "there is no filter %q", f.name)
		}
		if p.isOp("(") {
			f.args = p.arguments()
		}
		x = f
		if !p.acceptOp("|") {
			return x
		}
	}
}

func (p *parser) test(x expr, line int) expr {
	t := &testExpr{pos: pos(line), x: x, not: p.acceptName("not"), name: p.name()}
	if !knownTest(t.name) {
		fail(line, "there is no test %q", t.name)
	}
	switch next := p.peek(); {
	case p.isOp("("):
		t.args = p.arguments()
	case next.kind == tokString, next.kind == tokInt, next.kind == tokFloat, p.isOp("["), p.isOp("{"),
		next.kind == tokName && next.text != "else" && next.text != "or" && next.text != "and" && next.text != "is" && next.text != "if" && next.text != "in" && next.text != "not":
		t.args.list = []expr{p.postfix(p.primary())}
	}
	return t
}

func (p *parser) arguments() (a args) {
	p.op("(")
	for first := true; !p.acceptOp(")"); first = false {
		if !first {
			p.op(",")
			if p.acceptOp(")") {
				break
			}
		}
		switch {
		case p.acceptOp("*"):
			a.star = p.expression()
		case p.acceptOp("**"):
			a.starStar = p.expression()
		case p.peek().kind == tokName && p.tokens[p.i+1].kind == tokOp && p.tokens[p.i+1].text == "=":
			a.names = append(a.names, p.name())
			p.op("=")
			a.named = append(a.named, p.expression())
		default:
			if len(a.named) > 0 {
				p.fail("a positional argument follows a named one")
			}
			a.list = append(a.list, p.expression())
		}
	}
	return a
}
