package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

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
