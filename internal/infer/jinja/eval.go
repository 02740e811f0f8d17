package jinja

// callArgs are evaluated arguments.
type callArgs struct {
	list  []Value
	named []namedArg
}

type namedArg struct {
	name  string
	value Value
}

// mustDefined refuses to compute with what does not exist.
func (s *state) mustDefined(v Value) {
	if u, ok := v.(undefined); ok {
		s.fail("%s is undefined", u.what)
	}
}

func (s *state) eval(x expr, c *scope) Value {
	s.enter()
	defer s.leave()
	s.line = x.at()
	switch x := x.(type) {
	case *literal:
		return x.value
	case *nameExpr:
		if v, ok := c.lookup(x.name); ok {
			return v
		}
		return undefined{"'" + x.name + "'"}
	case *listExpr:
		l := &List{tuple: x.tuple}
		for _, item := range x.items {
			l.Items = append(l.Items, s.eval(item, c))
		}
		return l
	case *dictExpr:
		d := NewDict()
		for i, k := range x.keys {
			key := s.eval(k, c)
			s.mustHash(key)
			d.set(key, s.eval(x.values[i], c))
		}
		return d
	case *unaryExpr:
		return s.unary(x, c)
	case *binaryExpr:
		return s.binary(x, c)
	case *compareExpr:
		return s.compare(x, c)
	case *condExpr:
		if truth(s.eval(x.test, c)) {
			return s.eval(x.yes, c)
		}
		if x.no == nil {
			return undefined{"the value of an if without else"}
		}
		return s.eval(x.no, c)
	case *attrExpr:
		v := s.eval(x.x, c)
		s.line = x.at()
		return s.attribute(v, x.name)
	case *indexExpr:
		v, i := s.eval(x.x, c), s.eval(x.index, c)
		s.line = x.at()
		return s.item(v, i)
	case *sliceExpr:
		return s.slice(x, c)
	case *callExpr:
		fn := s.eval(x.fn, c)
		return s.callValue(fn, s.callArgs(x.args, c), x)
	case *filterExpr:
		return s.applyFilter(x, s.eval(x.x, c), c)
	case *testExpr:
		v, a := s.eval(x.x, c), s.callArgs(x.args, c)
		s.line = x.at()
		return s.test(x.name, v, a) != x.not
	}
	s.fail("unknown expression %T", x)
	return nil
}

func (s *state) mustHash(key Value) {
	if !hashable(key) {
		s.mustDefined(key)
		s.fail("%s can't be a key of a dict", typeName(key))
	}
}

func (s *state) unary(x *unaryExpr, c *scope) Value {
	v := s.eval(x.x, c)
	s.line = x.at()
	if x.op == "not" {
		return !truth(v)
	}
	s.mustDefined(v)
	if n, ok := toInt(v); ok {
		if x.op == "-" {
			return -n
		}
		return n
	}
	f, ok := v.(float64)
	if !ok {
		s.fail("%s has no sign", typeName(v))
	}
	if x.op == "-" {
		return -f
	}
	return f
}

func (s *state) binary(x *binaryExpr, c *scope) Value {
	l := s.eval(x.l, c)
	switch x.op {
	case "and":
		if !truth(l) {
			return l
		}
		return s.eval(x.r, c)
	case "or":
		if truth(l) {
			return l
		}
		return s.eval(x.r, c)
	}
	r := s.eval(x.r, c)
	s.line = x.at()
	if x.op == "~" {
		a, b := str(l), str(r)
		s.charge(len(a) + len(b))
		return a + b
	}
	return s.arithmetic(x.op, l, r)
}

func (s *state) compare(x *compareExpr, c *scope) Value {
	l := s.eval(x.first, c)
	for i, op := range x.ops {
		r := s.eval(x.rest[i], c)
		s.line = x.at()
		if !s.holds(op, l, r) {
			return false
		}
		l = r
	}
	return true
}

func (s *state) holds(op string, l, r Value) bool {
	switch op {
	case "==":
		return s.equal(l, r)
	case "!=":
		return !s.equal(l, r)
	case "in":
		return s.contains(l, r)
	case "not in":
		return !s.contains(l, r)
	case "<":
		return s.order(l, r) < 0
	case "<=":
		return s.order(l, r) <= 0
	case ">":
		return s.order(l, r) > 0
	}
	return s.order(l, r) >= 0
}

func (s *state) callArgs(a args, c *scope) callArgs {
	var out callArgs
	for _, x := range a.list {
		out.list = append(out.list, s.eval(x, c))
	}
	if a.star != nil {
		out.list = append(out.list, s.items(s.eval(a.star, c))...)
	}
	for i, name := range a.names {
		out.named = append(out.named, namedArg{name, s.eval(a.named[i], c)})
	}
	if a.starStar != nil {
		d, ok := s.eval(a.starStar, c).(*Dict)
		if !ok {
			s.fail("** wants a dict")
		}
		for _, e := range d.entries {
			out.named = append(out.named, namedArg{str(e.key), e.value})
		}
	}
	return out
}

func (s *state) callValue(fn Value, a callArgs, x *callExpr) Value {
	s.line = x.at()
	s.mustDefined(fn)
	f, ok := fn.(*function)
	if !ok {
		s.fail("%s can't be called", typeName(fn))
	}
	return f.call(s, a)
}

// filterChain applies the filters of a block to its text: the innermost filter has no operand of its own.
func (s *state) filterChain(x expr, text Value, c *scope) Value {
	f := x.(*filterExpr)
	if f.x != nil {
		text = s.filterChain(f.x, text, c)
	}
	return s.applyFilter(f, text, c)
}

func (s *state) applyFilter(f *filterExpr, v Value, c *scope) Value {
	a := s.callArgs(f.args, c)
	s.line = f.at()
	return s.filter(f.name, v, a)
}
