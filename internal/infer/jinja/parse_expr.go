package jinja

// tuple reads an expression, or several with commas between.
func (p *parser) tuple() expr { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(item func() expr) expr {
	line := p.peek().line
	x := item()
	if !p.isOp(",") {
		return x
	}
	list := &listExpr{pos: pos(line), items: []expr{x}, tuple: true}
	for p.acceptOp(",") {
		if !p.startsExpression() {
			break
		}
		list.items = append(list.items, item())
	}
	return list
}

func (p *parser) startsExpression() bool {
	switch t := p.peek(); t.kind {
	case tokName:
		return t.text != "if" && t.text != "else" && t.text != "in"
	case tokString, tokInt, tokFloat:
		return true
	case tokOp:
		return t.text == "(" || t.text == "[" || t.text == "{" || t.text == "-" || t.text == "+"
	}
	return false
}

// expression reads the loosest form: a if b else c.
func (p *parser) expression() expr {
	p.enter()
	defer p.leave()
	x := p.or()
	for p.isName("if") {
		line := p.next().line
		c := &condExpr{pos: pos(line), yes: x, test: p.or()}
		if p.acceptName("else") {
			c.no = p.expression()
		}
		x = c
	}
	return x
}

// chain reads operands of a left-associative level.
func (p *parser) chain(operand func() expr, is func() (op string, ok bool)) expr {
	x := operand()
	for {
		line := p.peek().line
		op, ok := is()
		if !ok {
			return x
		}
		x = &binaryExpr{pos: pos(line), op: op, l: x, r: operand()}
	}
}

func (p *parser) anyOp(ops ...string) func() (string, bool) {
	return func() (string, bool) {
		for _, op := range ops {
			if p.acceptOp(op) {
				return op, true
			}
		}
		return "", false
	}
}

func (p *parser) keyword(word string) func() (string, bool) {
	return func() (string, bool) { return word, p.acceptName(word) }
}

func (p *parser) or() expr { return p.chain(p.and, p.keyword("or")) }

func (p *parser) and() expr { return p.chain(p.not, p.keyword("and")) }

func (p *parser) not() expr {
	if p.isName("not") {
		p.enter()
		defer p.leave()
		line := p.next().line
		return &unaryExpr{pos: pos(line), op: "not", x: p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	c := &compareExpr{pos: pos(p.peek().line), first: p.sum()}
	for {
		op, ok := p.anyOp("==", "!=", "<=", ">=", "<", ">")()
		if !ok && p.acceptName("in") {
			op, ok = "in", true
		}
		if !ok && p.isName("not") && p.tokens[p.i+1].kind == tokName && p.tokens[p.i+1].text == "in" {
			p.i += 2
			op, ok = "not in", true
		}
		if !ok {
			break
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
	if len(c.ops) == 0 {
		return c.first
	}
	return c
}

func (p *parser) sum() expr { return p.chain(p.concat, p.anyOp("+", "-")) }

func (p *parser) concat() expr { return p.chain(p.product, p.anyOp("~")) }

func (p *parser) product() expr { return p.chain(p.power, p.anyOp("*", "/", "//", "%")) }

func (p *parser) power() expr { return p.chain(func() expr { return p.unary(true) }, p.anyOp("**")) }
