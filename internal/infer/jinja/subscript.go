package jinja

// attribute is v.name: a method first, then a member.
func (s *state) attribute(v Value, name string) Value {
	s.mustDefined(v)
	if m := s.method(v, name); m != nil {
		return m
	}
	switch v := v.(type) {
	case *Dict:
		if x, ok := v.get(name); ok {
			return x
		}
	case *namespace:
		if x, ok := v.vars.get(name); ok {
			return x
		}
	case *loopState:
		return v.attribute(name)
	}
	return undefined{"'" + typeName(v) + " object' attribute '" + name + "'"}
}

// item is v[i]: a member first, then a method.
func (s *state) item(v, i Value) Value {
	s.mustDefined(v)
	switch v := v.(type) {
	case *Dict:
		if x, ok := v.get(i); ok {
			return x
		}
	case *List:
		if n, ok := toInt(i); ok {
			if at, ok := position(n, len(v.Items)); ok {
				return v.Items[at]
			}
		}
	case string:
		if n, ok := toInt(i); ok {
			s.charge(len(v))
			chars := []rune(v)
			if at, ok := position(n, len(chars)); ok {
				return string(chars[at])
			}
		}
	}
	if name, ok := i.(string); ok {
		return s.attribute(v, name)
	}
	return undefined{typeName(v) + " object element " + clip(pythonRepr(i))}
}

func clip(text string) string {
	if len(text) > 80 {
		return text[:80] + "..."
	}
	return text
}

func position(n int64, size int) (int, bool) {
	if n < 0 {
		n += int64(size)
	}
	return int(n), n >= 0 && n < int64(size)
}

func (s *state) slice(x *sliceExpr, c *scope) Value {
	v := s.eval(x.x, c)
	bound := func(e expr) *int64 {
		if e == nil {
			return nil
		}
		b := s.eval(e, c)
		if b == nil {
			return nil
		}
		n, ok := toInt(b)
		if !ok {
			s.fail("a slice wants integers, not %s", typeName(b))
		}
		return &n
	}
	from, to, step := bound(x.from), bound(x.to), bound(x.step)
	s.line = x.at()
	s.mustDefined(v)
	switch v := v.(type) {
	case *List:
		l := &List{tuple: v.tuple}
		for _, i := range s.indices(len(v.Items), from, to, step) {
			l.Items = append(l.Items, v.Items[i])
		}
		return l
	case string:
		s.charge(len(v))
		chars := []rune(v)
		var out []rune
		for _, i := range s.indices(len(chars), from, to, step) {
			out = append(out, chars[i])
		}
		return string(out)
	}
	return undefined{"a slice of " + typeName(v)}
}

// indices are those that Python's slice selects.
func (s *state) indices(size int, from, to, step *int64) []int {
	by := int64(1)
	if step != nil {
		by = *step
	}
	if by == 0 {
		s.fail("the step of a slice is zero")
	}
	n := int64(size)
	low, high := int64(0), n // of the bounds
	start, end := low, high
	if by < 0 {
		low, high = -1, n-1
		start, end = high, low
	}
	clamp := func(p *int64, missing int64) int64 {
		if p == nil {
			return missing
		}
		v := *p
		if v < 0 {
			v += n
		}
		return min(max(v, low), high)
	}
	start, end = clamp(from, start), clamp(to, end)
	s.charge(size)
	var out []int
	for i := start; by > 0 && i < end || by < 0 && i > end; i += by {
		out = append(out, int(i))
		if by > n || by < -n {
			break
		}
	}
	return out
}
