package jinja

import "slices"

// method binds a method of a value; nil when there is none of this name.
func (s *state) method(v Value, name string) Value {
	switch v := v.(type) {
	case string:
		if m := stringMethod(name); m != nil {
			return &function{name, func(s *state, a callArgs) Value { return m.call(s, v, a) }}
		}
	case *Dict:
		if m := dictMethod(v, name); m != nil {
			return &function{name, m}
		}
	case *List:
		if m := listMethod(v, name); m != nil {
			return &function{name, m}
		}
	}
	return nil
}

type method func(s *state, a callArgs) Value

func dictMethod(d *Dict, name string) method {
	switch name {
	case "get":
		return func(s *state, a callArgs) Value {
			if v, ok := d.get(a.arg(0, "key", nil)); ok {
				return v
			}
			return a.arg(1, "default", nil)
		}
	case "items":
		return func(s *state, _ callArgs) Value { return s.pairs(d.entries) }
	case "keys":
		return func(s *state, _ callArgs) Value { return &List{Items: s.items(d)} }
	case "values":
		return func(s *state, _ callArgs) Value {
			s.charge(len(d.entries))
			l := &List{}
			for _, e := range d.entries {
				l.Items = append(l.Items, e.value)
			}
			return l
		}
	case "copy":
		return func(s *state, _ callArgs) Value { return s.dict(callArgs{list: []Value{d}}) }
	case "pop":
		return func(s *state, a callArgs) Value {
			key := a.arg(0, "key", nil)
			v, ok := d.get(key)
			if !ok {
				if len(a.list) < 2 {
					s.fail("pop: there is no key %s", clip(pythonRepr(key)))
				}
				return a.list[1]
			}
			s.charge(len(d.entries))
			d.remove(key)
			return v
		}
	case "setdefault":
		return func(s *state, a callArgs) Value {
			key, v := a.arg(0, "key", nil), a.arg(1, "default", nil)
			s.mustHash(key)
			if old, ok := d.get(key); ok {
				return old
			}
			d.set(key, v)
			return v
		}
	case "update":
		return func(s *state, a callArgs) Value {
			for _, e := range s.dict(a).entries {
				d.set(e.key, e.value)
			}
			return nil
		}
	}
	return nil
}

func listMethod(l *List, name string) method {
	if l.tuple && name != "index" && name != "count" {
		return nil
	}
	switch name {
	case "append":
		return func(s *state, a callArgs) Value {
			l.Items = append(l.Items, a.arg(0, "object", nil))
			return nil
		}
	case "extend":
		return func(s *state, a callArgs) Value {
			l.Items = append(l.Items, s.items(a.arg(0, "iterable", nil))...)
			return nil
		}
	case "insert":
		return func(s *state, a callArgs) Value {
			n := s.intArg(a, 0, "index", 0)
			if n < 0 {
				n += int64(len(l.Items))
			}
			s.charge(len(l.Items))
			l.Items = slices.Insert(l.Items, int(min(max(n, 0), int64(len(l.Items)))), a.arg(1, "object", nil))
			return nil
		}
	case "pop":
		return func(s *state, a callArgs) Value {
			i, ok := position(s.intArg(a, 0, "index", -1), len(l.Items))
			if !ok {
				s.fail("pop: there is no such item")
			}
			v := l.Items[i]
			s.charge(len(l.Items))
			l.Items = slices.Delete(slices.Clone(l.Items), i, i+1)
			return v
		}
	case "copy":
		return func(s *state, _ callArgs) Value { return &List{Items: slices.Clone(s.items(l))} }
	case "reverse":
		return func(s *state, _ callArgs) Value {
			l.Items = slices.Clone(s.items(l))
			slices.Reverse(l.Items)
			return nil
		}
	case "index", "count":
		return func(s *state, a callArgs) Value {
			count := int64(0)
			for i, v := range s.items(l) {
				if s.equal(v, a.arg(0, "value", nil)) {
					if name == "index" {
						return int64(i)
					}
					count++
				}
			}
			if name == "index" {
				s.fail("index: there is no such item")
			}
			return count
		}
	}
	return nil
}
