package jinja

import (
	"slices"
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

// titleWords is the filter title: unlike the method, it starts words only after white space, dashes and brackets.
func titleWords(text string) string {
	start := true
	return strings.Map(func(r rune) rune {
		was := start
		start = unicode.IsSpace(r) || strings.ContainsRune("-({[<", r)
		if was {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
}

// title is the method: words are runs of letters.
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
