package jinja

import (
	"cmp"
	"slices"
	"strings"
)

// truth is Python's bool().
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return len(v.entries) > 0
	}
	return true
}

// equal is Python's ==.
func (s *state) equal(a, b Value) bool {
	s.enter()
	defer s.leave()
	if x, ok := toFloat(a); ok {
		y, ok := toFloat(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case *List:
		b, ok := b.(*List)
		return ok && a.tuple == b.tuple && slices.EqualFunc(a.Items, b.Items, s.equal)
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.entries) != len(b.entries) {
			return false
		}
		for _, e := range a.entries {
			if v, ok := b.get(e.key); !ok || !s.equal(e.value, v) {
				return false
			}
		}
		return true
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		return ok && a == b
	case nil:
		return b == nil
	}
	return a == b // pointers
}

// order compares numbers, strings and lists: negative, zero or positive. Other pairs have no order.
func (s *state) order(a, b Value) int {
	s.enter()
	defer s.leave()
	if x, ok := toFloat(a); ok {
		if y, ok := toFloat(b); ok {
			return cmp.Compare(x, y)
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	}
	if x, ok := a.(*List); ok {
		if y, ok := b.(*List); ok {
			for i := range min(len(x.Items), len(y.Items)) {
				if !s.equal(x.Items[i], y.Items[i]) {
					return s.order(x.Items[i], y.Items[i])
				}
			}
			return cmp.Compare(len(x.Items), len(y.Items))
		}
	}
	s.mustDefined(a)
	s.mustDefined(b)
	s.fail("%s and %s can't be ordered", typeName(a), typeName(b))
	return 0
}

// contains is Python's "in".
func (s *state) contains(item, in Value) bool {
	switch in := in.(type) {
	case string:
		x, ok := item.(string)
		if !ok {
			s.mustDefined(item)
			s.fail("'in <str>' wants a string on the left, not %s", typeName(item))
		}
		s.charge(len(in))
		return strings.Contains(in, x)
	case *Dict:
		_, ok := in.get(item)
		return ok
	case *namespace:
		_, ok := in.vars.get(item)
		return ok
	}
	for _, x := range s.items(in) {
		if s.equal(item, x) {
			return true
		}
	}
	return false
}

// items are what a loop over v yields.
func (s *state) items(v Value) []Value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *List:
		s.charge(len(v.Items))
		return v.Items
	case *Dict:
		s.charge(len(v.entries))
		keys := make([]Value, len(v.entries))
		for i, e := range v.entries {
			keys[i] = e.key
		}
		return keys
	case string:
		s.charge(4 * len(v))
		var chars []Value
		for _, r := range v {
			chars = append(chars, string(r))
		}
		return chars
	}
	s.fail("%s can't be looped over", typeName(v))
	return nil
}
