package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// strMethod is a method of strings.
type strMethod func(s *state, text string, a callArgs) Value

func (m strMethod) call(s *state, text string, a callArgs) Value {
	s.charge(1 + len(text)/8)
	return m(s, text, a)
}

func stringMethod(name string) strMethod {
	switch name {
	case "strip", "lstrip", "rstrip":
		return func(_ *state, text string, a callArgs) Value {
			return strip(text, a.arg(0, "chars", nil), name != "rstrip", name != "lstrip")
		}
	case "upper":
		return func(_ *state, text string, _ callArgs) Value { return strings.ToUpper(text) }
	case "lower":
		return func(_ *state, text string, _ callArgs) Value { return strings.ToLower(text) }
	case "title":
		return func(_ *state, text string, _ callArgs) Value { return title(text) }
	case "capitalize":
		return func(_ *state, text string, _ callArgs) Value { return capitalize(text) }
	case "startswith", "endswith":
		return func(s *state, text string, a callArgs) Value {
			has := strings.HasPrefix
			if name == "endswith" {
				has = strings.HasSuffix
			}
			if many, ok := a.arg(0, "prefix", nil).(*List); ok && many.tuple {
				for _, v := range many.Items {
					if p, ok := v.(string); ok && has(text, p) {
						return true
					}
				}
				return false
			}
			return has(text, s.strArg(a, 0, "prefix", ""))
		}
	case "removeprefix":
		return func(s *state, text string, a callArgs) Value {
			return strings.TrimPrefix(text, s.strArg(a, 0, "prefix", ""))
		}
	case "removesuffix":
		return func(s *state, text string, a callArgs) Value {
			return strings.TrimSuffix(text, s.strArg(a, 0, "suffix", ""))
		}
	case "replace":
		return func(s *state, text string, a callArgs) Value {
			out := s.replace(text, s.strArg(a, 0, "old", ""), s.strArg(a, 1, "new", ""), s.intArg(a, 2, "count", -1))
			s.charge(len(out))
			return out
		}
	case "split", "rsplit":
		return func(s *state, text string, a callArgs) Value {
			return s.split(text, a.arg(0, "sep", nil), int(s.intArg(a, 1, "maxsplit", -1)), name == "rsplit")
		}
	case "splitlines":
		return func(s *state, text string, _ callArgs) Value {
			text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
			if text == "" {
				return &List{}
			}
			return s.strings(strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
		}
	case "join":
		return func(s *state, text string, a callArgs) Value {
			return filterJoin(s, a.arg(0, "iterable", nil), callArgs{list: []Value{text}})
		}
	case "find", "rfind", "index":
		return func(s *state, text string, a callArgs) Value {
			sub := s.strArg(a, 0, "sub", "")
			i := strings.Index(text, sub)
			if name == "rfind" {
				i = strings.LastIndex(text, sub)
			}
			if i < 0 && name == "index" {
				s.fail("index: the string is not found")
			}
			if i > 0 {
				i = len([]rune(text[:i]))
			}
			return int64(i)
		}
	case "count":
		return func(s *state, text string, a callArgs) Value {
			return int64(strings.Count(text, s.strArg(a, 0, "sub", "")))
		}
	case "format":
		return func(s *state, text string, a callArgs) Value { return s.braces(text, a) }
	case "isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower":
		return func(_ *state, text string, _ callArgs) Value { return allOf(name, text) }
	}
	return nil
}

func allOf(name, text string) bool {
	if name == "isupper" || name == "islower" {
		up, low := strings.ToUpper(text), strings.ToLower(text)
		return up != low && (name == "isupper" && text == up || name == "islower" && text == low)
	}
	for _, r := range text {
		ok := false
		switch name {
		case "isdigit":
			ok = unicode.IsDigit(r)
		case "isalpha":
			ok = unicode.IsLetter(r)
		case "isalnum":
			ok = unicode.IsLetter(r) || unicode.IsNumber(r)
		case "isspace":
			ok = unicode.IsSpace(r)
		}
		if !ok {
			return false
		}
	}
	return text != ""
}

// strip removes white space, or the characters of chars, from the ends.
func strip(text string, chars Value, left, right bool) string {
	cut := pythonSpace
	if set, ok := chars.(string); ok {
		cut = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		text = strings.TrimLeftFunc(text, cut)
	}
	if right {
		text = strings.TrimRightFunc(text, cut)
	}
	return text
}

// pythonSpace is str.isspace: Unicode's white space and four separators of ASCII.
func pythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func title(text string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		was := inWord
		inWord = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, text)
}

func capitalize(text string) string {
	for i, r := range text {
		if i == 0 {
			return string(unicode.ToTitle(r)) + strings.ToLower(text[len(string(r)):])
		}
	}
	return text
}

func (s *state) replace(text, old, new string, count int64) string {
	n := int64(strings.Count(text, old))
	if count >= 0 {
		n = min(n, count)
	}
	if n > 0 && int64(len(new)) > int64(s.t.limits.Output)/n {
		s.fail("the result of replace is too long")
	}
	return strings.Replace(text, old, new, int(n))
}

func (s *state) strings(list []string) *List {
	s.charge(4 * len(list))
	l := &List{Items: make([]Value, len(list))}
	for i, x := range list {
		l.Items[i] = x
	}
	return l
}

// split is Python's split: at runs of white space without a separator, else at every separator.
func (s *state) split(text string, sep Value, most int, fromRight bool) Value {
	if sep == nil {
		return s.splitSpace(text, most, fromRight)
	}
	by, ok := sep.(string)
	if !ok || by == "" {
		s.fail("split wants a separator that is not empty")
	}
	if most < 0 {
		return s.strings(strings.Split(text, by))
	}
	if !fromRight {
		return s.strings(strings.SplitN(text, by, most+1))
	}
	var parts []string
	for ; most > 0; most-- {
		i := strings.LastIndex(text, by)
		if i < 0 {
			break
		}
		parts = append(parts, text[i+len(by):])
		text = text[:i]
	}
	parts = append(parts, text)
	slices.Reverse(parts)
	return s.strings(parts)
}

func (s *state) splitSpace(text string, most int, fromRight bool) Value {
	if most < 0 {
		return s.strings(strings.FieldsFunc(text, pythonSpace))
	}
	if fromRight {
		s.fail("rsplit with a limit wants a separator")
	}
	var parts []string
	for text = strings.TrimLeftFunc(text, pythonSpace); text != ""; text = strings.TrimLeftFunc(text, pythonSpace) {
		i := strings.IndexFunc(text, pythonSpace)
		if i < 0 || len(parts) == most {
			parts = append(parts, text)
			break
		}
		parts = append(parts, text[:i])
		text = text[i:]
	}
	return s.strings(parts)
}

// braces is str.format with {} , {0} and {name}; format specifications are not supported.
func (s *state) braces(text string, a callArgs) string {
	var b strings.Builder
	auto := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '{' && c != '}' {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(text) && text[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if c == '}' || end < 0 {
			s.fail("format: a brace stands alone")
		}
		field := text[i+1 : i+end]
		i += end
		at := -1
		if n, err := strconv.Atoi(field); err == nil {
			at = n
		} else if field == "" {
			at = auto
			auto++
		}
		v := a.arg(at, field, undefined{"field " + field})
		s.mustDefined(v)
		b.WriteString(s.text(v))
	}
	return b.String()
}

// format is the % operator of strings, with %s, %d, %i, %f, %x, %r and %%, widths and precisions.
func (s *state) format(text string, v Value) string {
	values := []Value{v}
	if l, ok := v.(*List); ok && l.tuple {
		values = l.Items
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		start := i
		for i++; i < len(text) && strings.IndexByte("-+ 0#.123456789", text[i]) >= 0; i++ {
		}
		if i >= len(text) || i-start > 8 {
			s.fail("a format is not complete or too long")
		}
		verb, spec := text[i], text[start:i]
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			s.fail("there are more formats than values")
		}
		b.WriteString(s.formatOne(spec, verb, values[0]))
		values = values[1:]
	}
	return b.String()
}

func (s *state) formatOne(spec string, verb byte, v Value) string {
	if n, err := strconv.Atoi(strings.TrimLeft(strings.SplitN(spec[1:], ".", 2)[0], "-+ 0#")); err == nil && n > 1000 {
		s.fail("a format is wider than 1000")
	}
	switch verb {
	case 's':
		return fmt.Sprintf(spec+"s", s.text(v))
	case 'r':
		return fmt.Sprintf(spec+"s", pythonRepr(v))
	case 'd', 'i', 'x':
		if x, ok := v.(float64); ok {
			v = int64(x)
		}
		n, ok := toInt(v)
		if !ok {
			s.fail("%%%c wants a number, not %s", verb, typeName(v))
		}
		return fmt.Sprintf(spec+map[byte]string{'d': "d", 'i': "d", 'x': "x"}[verb], n)
	case 'f', 'g', 'e':
		x, ok := toFloat(v)
		if !ok {
			s.fail("%%%c wants a number, not %s", verb, typeName(v))
		}
		return fmt.Sprintf(spec+string(verb), x)
	}
	s.fail("the format %%%c is not supported", verb)
	return ""
}

func parseInt(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimFunc(text, pythonSpace), 10, 64)
	return n, err == nil
}

func parseFloat(v Value) (float64, bool) {
	if text, ok := v.(string); ok {
		x, err := strconv.ParseFloat(strings.TrimFunc(text, pythonSpace), 64)
		return x, err == nil
	}
	return toFloat(v)
}
