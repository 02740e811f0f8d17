package jinja

import "strings"

// testFunc computes v is name(a...).
type testFunc func(s *state, v Value, a callArgs) bool

func knownTest(name string) bool { return testOf(name) != nil }

func (s *state) test(name string, v Value, a callArgs) bool {
	t := testOf(name)
	if t == nil {
		s.fail("there is no test %q", name)
	}
	return t(s, v, a)
}

func testOf(name string) testFunc {
	switch name {
	case "defined", "undefined":
		return func(_ *state, v Value, _ callArgs) bool {
			_, missing := v.(undefined)
			return missing == (name == "undefined")
		}
	case "none":
		return func(_ *state, v Value, _ callArgs) bool { return v == nil }
	case "true", "false":
		return func(_ *state, v Value, _ callArgs) bool {
			b, ok := v.(bool)
			return ok && b == (name == "true")
		}
	case "boolean":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(bool); return ok }
	case "string":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(string); return ok }
	case "integer":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(int64); return ok }
	case "float":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(float64); return ok }
	case "number":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := toFloat(v); return ok }
	case "mapping":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(*Dict); return ok }
	case "sequence", "iterable":
		return func(_ *state, v Value, _ callArgs) bool {
			switch v.(type) {
			case string, *List, *Dict, undefined:
				return true
			}
			return false
		}
	case "callable":
		return func(_ *state, v Value, _ callArgs) bool { _, ok := v.(*function); return ok }
	case "upper", "lower":
		return func(s *state, v Value, _ callArgs) bool {
			text := s.text(v)
			if name == "upper" {
				return text == strings.ToUpper(text) && text != strings.ToLower(text)
			}
			return text == strings.ToLower(text) && text != strings.ToUpper(text)
		}
	case "odd", "even", "divisibleby":
		return func(s *state, v Value, a callArgs) bool {
			by, rest := int64(2), int64(0)
			if name == "divisibleby" {
				by = s.intArg(a, 0, "num", 0)
			}
			if name == "odd" {
				rest = 1
			}
			n, ok := toInt(v)
			if !ok {
				s.fail("%s wants an integer, not %s", name, typeName(v))
			}
			return s.integers("%", n, by) == rest
		}
	case "sameas":
		return func(s *state, v Value, a callArgs) bool {
			other := a.arg(0, "other", nil)
			return typeName(v) == typeName(other) && s.equal(v, other)
		}
	case "in":
		return func(s *state, v Value, a callArgs) bool { return s.contains(v, a.arg(0, "seq", &List{})) }
	}
	return comparison(name)
}

// comparison is the test form of an operator.
func comparison(name string) testFunc {
	op := ""
	switch name {
	case "eq", "equalto":
		op = "=="
	case "ne":
		op = "!="
	case "lt", "lessthan":
		op = "<"
	case "le":
		op = "<="
	case "gt", "greaterthan":
		op = ">"
	case "ge":
		op = ">="
	default:
		return nil
	}
	return func(s *state, v Value, a callArgs) bool { return s.holds(op, v, a.arg(0, "other", nil)) }
}
