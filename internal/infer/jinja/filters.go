package jinja

import (
	"math"
	"strings"
	"unicode"
)

// filterFunc computes v|name(a...).
type filterFunc func(s *state, v Value, a callArgs) Value

func knownFilter(name string) bool { return filterOf(name) != nil }

func (s *state) filter(name string, v Value, a callArgs) Value {
	f := filterOf(name)
	if f == nil {
		s.fail("there is no filter %q", name)
	}
	s.charge(1)
	return f(s, v, a)
}

// filterOf finds a filter; a switch, so that there is no table to change at run time.
func filterOf(name string) filterFunc {
	switch name {
	case "default", "d":
		return filterDefault
	case "length", "count":
		return func(s *state, v Value, _ callArgs) Value { return int64(s.length(v)) }
	case "string", "safe":
		return func(s *state, v Value, _ callArgs) Value { return s.text(v) }
	case "trim":
		return func(s *state, v Value, a callArgs) Value {
			return strip(s.text(v), a.arg(0, "chars", nil), true, true)
		}
	case "title":
		return func(s *state, v Value, _ callArgs) Value { return titleWords(s.text(v)) }
	case "upper", "lower", "capitalize", "replace":
		return func(s *state, v Value, a callArgs) Value { return stringMethod(name).call(s, s.text(v), a) }
	case "escape", "e":
		return func(s *state, v Value, _ callArgs) Value {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;").Replace(s.text(v))
		}
	case "indent":
		return filterIndent
	case "tojson":
		return filterToJSON
	case "from_json", "fromjson":
		return func(s *state, v Value, _ callArgs) Value {
			x, err := FromJSON([]byte(s.text(v)))
			if err != nil {
				s.fail("from_json: %v", err)
			}
			return x
		}
	case "format":
		return func(s *state, v Value, a callArgs) Value {
			return s.format(s.text(v), &List{Items: a.list, tuple: true})
		}
	case "wordcount":
		return func(s *state, v Value, _ callArgs) Value { return int64(wordCount(s.text(v))) }
	case "int":
		return filterInt
	case "float":
		return func(s *state, v Value, a callArgs) Value {
			if x, ok := parseFloat(v); ok {
				return x
			}
			return a.arg(0, "default", 0.0)
		}
	case "abs":
		return func(s *state, v Value, _ callArgs) Value {
			if n, ok := toInt(v); ok {
				return max(n, -n)
			}
			x, ok := toFloat(v)
			if !ok {
				s.fail("abs wants a number, not %s", typeName(v))
			}
			return math.Abs(x)
		}
	case "round":
		return filterRound
	}
	return listFilterOf(name)
}

// text is what a string filter sees of a value.
func (s *state) text(v Value) string {
	t := str(v)
	s.charge(len(t))
	return t
}

func (s *state) length(v Value) int {
	switch v := v.(type) {
	case string:
		s.charge(len(v))
		return len([]rune(v))
	case *List:
		return len(v.Items)
	case *Dict:
		return len(v.entries)
	case undefined:
		return 0
	}
	s.fail("%s has no length", typeName(v))
	return 0
}

func filterDefault(s *state, v Value, a callArgs) Value {
	_, missing := v.(undefined)
	if missing || truth(a.arg(1, "boolean", false)) && !truth(v) {
		return a.arg(0, "default_value", "")
	}
	return v
}

func filterIndent(s *state, v Value, a callArgs) Value {
	text := s.text(v)
	width := a.arg(0, "width", int64(4))
	pad, ok := width.(string)
	if !ok {
		n, ok := toInt(width)
		if !ok || n > 1000 {
			s.fail("indent wants a width up to 1000 or a string")
		}
		pad = strings.Repeat(" ", int(max(n, 0)))
	}
	first, blank := truth(a.arg(1, "first", false)), truth(a.arg(2, "blank", false))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i == 0 && !first || i > 0 && line == "" && !blank {
			continue
		}
		s.charge(len(pad))
		lines[i] = pad + line
	}
	return strings.Join(lines, "\n")
}

func filterToJSON(s *state, v Value, a callArgs) Value {
	s.mustDefined(v)
	o := jsonOptions{item: ", ", pair: ": ", ascii: truth(a.arg(0, "ensure_ascii", false)), sort: truth(a.arg(3, "sort_keys", false))}
	switch indent := a.arg(1, "indent", nil).(type) {
	case nil:
	case string:
		o.indent, o.item = indent, ","
	default:
		n, ok := toInt(indent)
		if !ok || n > 100 {
			s.fail("tojson wants an indent up to 100 or a string")
		}
		o.indent, o.item = strings.Repeat(" ", int(max(n, 0))), ","
	}
	if sep, ok := a.arg(2, "separators", nil).(*List); ok && len(sep.Items) == 2 {
		o.item, o.pair = str(sep.Items[0]), str(sep.Items[1])
	}
	var b strings.Builder
	toJSON(&b, v, o, 0)
	s.charge(b.Len())
	return b.String()
}

func filterInt(s *state, v Value, a callArgs) Value {
	switch x := v.(type) {
	case int64:
		return x
	case string:
		if n, ok := parseInt(x); ok {
			return n
		}
	}
	if x, ok := parseFloat(v); ok && math.Abs(x) < 1<<62 {
		return int64(x)
	}
	return a.arg(0, "default", int64(0))
}

// wordCount counts runs of letters, digits and underscores.
func wordCount(text string) int {
	return len(strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }))
}

func filterRound(s *state, v Value, a callArgs) Value {
	if n, ok := toInt(v); ok && s.intArg(a, 0, "precision", 0) >= 0 && s.strArg(a, 1, "method", "common") == "common" {
		return n
	}
	x, ok := toFloat(v)
	if !ok {
		s.fail("round wants a number, not %s", typeName(v))
	}
	p := math.Pow(10, float64(s.intArg(a, 0, "precision", 0)))
	switch s.strArg(a, 1, "method", "common") {
	case "ceil":
		return math.Ceil(x*p) / p
	case "floor":
		return math.Floor(x*p) / p
	}
	return math.RoundToEven(x*p) / p
}
