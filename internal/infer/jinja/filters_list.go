package jinja

import (
	"cmp"
	"slices"
	"strings"
)

func listFilterOf(name string) filterFunc {
	switch name {
	case "list":
		return func(s *state, v Value, _ callArgs) Value { return &List{Items: slices.Clone(s.items(v))} }
	case "first", "last":
		return func(s *state, v Value, _ callArgs) Value {
			items := s.items(v)
			switch {
			case len(items) == 0:
				return undefined{"the " + name + " item of nothing"}
			case name == "first":
				return items[0]
			}
			return items[len(items)-1]
		}
	case "join":
		return filterJoin
	case "items":
		return func(s *state, v Value, _ callArgs) Value {
			if _, ok := v.(undefined); ok {
				return &List{}
			}
			d, ok := v.(*Dict)
			if !ok {
				s.fail("items wants a dict, not %s", typeName(v))
			}
			return s.pairs(d.entries)
		}
	case "dictsort":
		return filterDictsort
	case "reverse":
		return func(s *state, v Value, _ callArgs) Value {
			if text, ok := v.(string); ok {
				chars := []rune(text)
				slices.Reverse(chars)
				return string(chars)
			}
			items := slices.Clone(s.items(v))
			slices.Reverse(items)
			return &List{Items: items}
		}
	case "sort":
		return filterSort
	case "min", "max":
		return func(s *state, v Value, a callArgs) Value {
			items := s.items(v)
			if len(items) == 0 {
				return undefined{"the " + name + " of nothing"}
			}
			best := items[0]
			for _, x := range items[1:] {
				if c := s.order(s.key(x, a, 1), s.key(best, a, 1)); name == "min" && c < 0 || name == "max" && c > 0 {
					best = x
				}
			}
			return best
		}
	case "sum":
		return func(s *state, v Value, a callArgs) Value {
			total := a.arg(1, "start", Value(int64(0)))
			for _, x := range s.items(v) {
				if attr, ok := a.arg(0, "attribute", nil).(string); ok {
					x = s.path(x, attr)
				}
				total = s.arithmetic("+", total, x)
			}
			return total
		}
	case "unique":
		return filterUnique
	case "map":
		return filterMap
	case "select", "reject":
		return func(s *state, v Value, a callArgs) Value { return s.choose(v, a, name == "select", false) }
	case "selectattr", "rejectattr":
		return func(s *state, v Value, a callArgs) Value { return s.choose(v, a, name == "selectattr", true) }
	}
	return nil
}

func (s *state) pairs(entries []entry) *List {
	s.charge(4 * len(entries))
	l := &List{}
	for _, e := range entries {
		l.Items = append(l.Items, &List{Items: []Value{e.key, e.value}, tuple: true})
	}
	return l
}

// path follows a dotted name such as "function.name"; numbers are indices.
func (s *state) path(v Value, dotted string) Value {
	for _, name := range strings.Split(dotted, ".") {
		if n, ok := parseInt(name); ok {
			v = s.item(v, n)
		} else {
			v = s.item(v, name)
		}
	}
	return v
}

// key is what sorting compares: an attribute if one is named, without case unless asked for.
func (s *state) key(v Value, a callArgs, attribute int) Value {
	if attr, ok := a.arg(attribute, "attribute", nil).(string); ok {
		v = s.path(v, attr)
	}
	if text, ok := v.(string); ok && !truth(a.arg(-1, "case_sensitive", false)) {
		return strings.ToLower(text)
	}
	return v
}

func filterJoin(s *state, v Value, a callArgs) Value {
	sep := s.text(a.arg(0, "d", ""))
	var parts []string
	for _, x := range s.items(v) {
		if attr, ok := a.arg(1, "attribute", nil).(string); ok {
			x = s.path(x, attr)
		}
		s.charge(len(sep))
		parts = append(parts, s.text(x))
	}
	return strings.Join(parts, sep)
}

func sortedEntries(entries []entry) []entry {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b entry) int { return cmp.Compare(str(a.key), str(b.key)) })
	return sorted
}

func filterDictsort(s *state, v Value, a callArgs) Value {
	d, ok := v.(*Dict)
	if !ok {
		s.fail("dictsort wants a dict, not %s", typeName(v))
	}
	fold := func(v Value) Value {
		if text, ok := v.(string); ok && !truth(a.arg(0, "case_sensitive", false)) {
			return strings.ToLower(text)
		}
		return v
	}
	byValue := s.strArg(a, 1, "by", "key") == "value"
	sorted := slices.Clone(d.entries)
	slices.SortStableFunc(sorted, func(x, y entry) int {
		if byValue {
			return s.order(fold(x.value), fold(y.value))
		}
		return s.order(fold(x.key), fold(y.key))
	})
	if truth(a.arg(2, "reverse", false)) {
		slices.Reverse(sorted)
	}
	return s.pairs(sorted)
}

func filterSort(s *state, v Value, a callArgs) Value {
	sorted := slices.Clone(s.items(v))
	reverse := truth(a.arg(0, "reverse", false))
	if len(a.list) > 1 {
		a.named = append(a.named, namedArg{"case_sensitive", a.list[1]})
	}
	slices.SortStableFunc(sorted, func(x, y Value) int {
		c := s.order(s.key(x, a, 2), s.key(y, a, 2))
		if reverse {
			return -c
		}
		return c
	})
	return &List{Items: sorted}
}

func filterUnique(s *state, v Value, a callArgs) Value {
	l, seen := &List{}, NewDict()
	for _, x := range s.items(v) {
		k := s.key(x, a, 1)
		s.mustHash(k)
		if _, ok := seen.get(k); !ok {
			seen.set(k, nil)
			l.Items = append(l.Items, x)
		}
	}
	return l
}

// itemsOrNone takes any false value for an empty list, as map, select and reject do.
func (s *state) itemsOrNone(v Value) []Value {
	if !truth(v) {
		return nil
	}
	return s.items(v)
}

// filterMap applies a filter to every item, or takes an attribute of it.
func filterMap(s *state, v Value, a callArgs) Value {
	l := &List{}
	attr, byAttr := a.arg(-1, "attribute", nil).(string)
	if !byAttr && len(a.list) == 0 {
		s.fail("map wants a filter or an attribute")
	}
	for _, x := range s.itemsOrNone(v) {
		if byAttr {
			x = s.path(x, attr)
			if _, ok := x.(undefined); ok {
				x = a.arg(-1, "default", x)
			}
		} else {
			x = s.filter(s.strArg(a, 0, "filter", ""), x, callArgs{a.list[1:], a.named})
		}
		l.Items = append(l.Items, x)
	}
	return l
}

// choose keeps the items that pass a test, or those that fail it.
func (s *state) choose(v Value, a callArgs, want, attribute bool) Value {
	l, rest := &List{}, a.list
	var attr string
	if attribute {
		attr, rest = s.strArg(a, 0, "attribute", ""), a.list[min(1, len(a.list)):]
	}
	for _, x := range s.itemsOrNone(v) {
		subject := x
		if attribute {
			subject = s.path(x, attr)
		}
		pass := false
		if len(rest) == 0 {
			pass = truth(subject)
		} else {
			pass = s.test(str(rest[0]), subject, callArgs{list: rest[1:]})
		}
		if pass == want {
			l.Items = append(l.Items, x)
		}
	}
	return l
}
