package jinja

import (
	"slices"
	"strings"
)

// signal is how a body ended.
type signal int

const (
	done signal = iota
	breaking
	continuing
)

// scope holds variables. Loops, macros and blocks with a body of their own have one; if has none.
type scope struct {
	vars   map[string]any
	parent *scope
}

func (c *scope) child() *scope { return &scope{vars: map[string]any{}, parent: c} }

func (c *scope) lookup(name string) (Value, bool) {
	for ; c != nil; c = c.parent {
		if v, ok := c.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// state is one rendering.
type state struct {
	t     *Template
	out   *strings.Builder
	steps int
	depth int
	line  int // of the expression under way, for errors
}

func (s *state) fail(format string, args ...any) { fail(s.line, format, args...) }

// charge counts work: one unit for each node, and for bytes that are copied.
func (s *state) charge(n int) {
	if s.steps += n; s.steps > s.t.limits.Steps || n < 0 {
		s.fail("the template does too much work (limit %d steps)", s.t.limits.Steps)
	}
}

func (s *state) enter() {
	s.charge(1)
	if s.depth++; s.depth > 8*maxDepth {
		s.fail("calls and expressions are nested more than %d deep", 8*maxDepth)
	}
}

func (s *state) leave() { s.depth-- }

func (s *state) print(text string) {
	s.charge(len(text))
	if s.out.Len()+len(text) > s.t.limits.Output {
		s.fail("the text is longer than %d bytes", s.t.limits.Output)
	}
	s.out.WriteString(text)
}

// capture is what a body prints.
func (s *state) capture(body []node, c *scope) string {
	outer := s.out
	s.out = &strings.Builder{}
	s.run(body, c)
	text := s.out.String()
	s.out = outer
	return text
}

func (s *state) run(body []node, c *scope) signal {
	s.enter()
	defer s.leave()
	for _, n := range body {
		s.charge(1)
		if sig := s.exec(n, c); sig != done {
			return sig
		}
	}
	return done
}

func (s *state) exec(n node, c *scope) signal {
	switch n := n.(type) {
	case dataNode:
		s.print(n.text)
	case printNode:
		s.print(str(s.eval(n.x, c)))
	case ifNode:
		for i, cond := range n.conds {
			if truth(s.eval(cond, c)) {
				return s.run(n.bodies[i], c)
			}
		}
		if len(n.bodies) > len(n.conds) {
			return s.run(n.bodies[len(n.conds)], c)
		}
	case forNode:
		s.loop(n, c)
	case setNode:
		s.set(n, c)
	case *macroNode:
		c.vars[n.name] = s.macro(n, c)
	case callNode:
		a := s.callArgs(n.call.args, c)
		a.named = slices.Concat(a.named, []namedArg{{"caller", s.macro(n.caller, c)}})
		s.print(str(s.callValue(s.eval(n.call.fn, c), a, n.call)))
	case filterNode:
		s.print(str(s.filterChain(n.filter, s.capture(n.body, c.child()), c)))
	case withNode:
		inner := c.child()
		for i, name := range n.names {
			inner.vars[name] = s.eval(n.values[i], c)
		}
		return s.run(n.body, inner)
	case loopControl:
		return n.signal
	}
	return done
}

func (s *state) loop(n forNode, c *scope) {
	over := s.eval(n.over, c)
	s.line = n.at()
	items := s.items(over)
	if n.cond != nil {
		var kept []Value
		for _, v := range items {
			inner := c.child()
			s.unpack(n.target, v, inner)
			if truth(s.eval(n.cond, inner)) {
				kept = append(kept, v)
			}
		}
		items = kept
	}
	if len(items) == 0 {
		s.run(n.none, c.child())
		return
	}
	for i, v := range items {
		inner := c.child()
		inner.vars["loop"] = &loopState{items: items, i: i}
		s.line = n.at()
		s.unpack(n.target, v, inner)
		if s.run(n.body, inner) == breaking {
			return
		}
	}
}

// unpack assigns a value to one name, or its items to several.
func (s *state) unpack(names []string, v Value, c *scope) {
	if len(names) == 1 {
		c.vars[names[0]] = v
		return
	}
	items := s.items(v)
	if len(items) != len(names) {
		s.fail("%d values can't be assigned to %d names", len(items), len(names))
	}
	for i, name := range names {
		c.vars[name] = items[i]
	}
}

func (s *state) set(n setNode, c *scope) {
	var v Value
	if n.value != nil {
		v = s.eval(n.value, c)
	} else {
		v = s.capture(n.body, c.child())
		if n.filter != nil {
			v = s.filterChain(n.filter, v, c)
		}
	}
	s.line = n.at()
	if n.attr == "" {
		s.unpack(n.target, v, c)
		return
	}
	target, _ := c.lookup(n.target[0])
	ns, ok := target.(*namespace)
	if !ok {
		s.fail("%s.%s can't be set: %s is no namespace", n.target[0], n.attr, n.target[0])
	}
	ns.vars.set(n.attr, v)
}

// macro makes a macro callable. It sees the variables of the place where it was defined.
func (s *state) macro(n *macroNode, c *scope) *function {
	return &function{name: n.name, call: func(s *state, a callArgs) Value {
		s.enter()
		defer s.leave()
		inner := c.child()
		varargs := &List{tuple: true}
		if len(a.list) > len(n.params) {
			varargs.Items = a.list[len(n.params):]
			a.list = a.list[:len(n.params)]
		}
		inner.vars["varargs"] = varargs
		for i, v := range a.list {
			inner.vars[n.params[i]] = v
		}
		kwargs := NewDict()
		for _, e := range a.named {
			if _, twice := inner.vars[e.name]; twice && slices.Contains(n.params, e.name) {
				s.fail("macro %s gets %s twice", n.name, e.name)
			}
			if e.name == "caller" || slices.Contains(n.params, e.name) {
				inner.vars[e.name] = e.value
			} else {
				kwargs.set(e.name, e.value)
			}
		}
		inner.vars["kwargs"] = kwargs
		for i, name := range n.params {
			if _, ok := inner.vars[name]; ok {
				continue
			}
			if d := i - (len(n.params) - len(n.defaults)); d >= 0 {
				inner.vars[name] = s.eval(n.defaults[d], inner)
			} else {
				inner.vars[name] = undefined{"parameter " + name}
			}
		}
		return s.capture(n.body, inner)
	}}
}
