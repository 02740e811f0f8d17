package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str is Python's str(): what {{ }} prints.
func str(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	return pythonRepr(v)
}

// pythonRepr is Python's repr().
func pythonRepr(v Value) string {
	var b strings.Builder
	writeRepr(&b, v, 0)
	return b.String()
}

func writeRepr(b *strings.Builder, v Value, depth int) {
	if depth > maxDepth || b.Len() > defaultOutput {
		fail(1, "a value is nested too deep or too large to be printed")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		b.WriteString(quote(v))
	case *List:
		open, end := "[", "]"
		if v.tuple {
			open, end = "(", ")"
			if len(v.Items) == 1 {
				end = ",)"
			}
		}
		b.WriteString(open)
		for i, x := range v.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, x, depth+1)
		}
		b.WriteString(end)
	case *Dict:
		b.WriteByte('{')
		for i, e := range v.entries {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, e.key, depth+1)
			b.WriteString(": ")
			writeRepr(b, e.value, depth+1)
		}
		b.WriteByte('}')
	case undefined:
		b.WriteString("Undefined")
	case *namespace:
		b.WriteString("<Namespace ")
		writeRepr(b, v.vars, depth+1)
		b.WriteByte('>')
	case *function:
		fmt.Fprintf(b, "<function %s>", v.name)
	default:
		fmt.Fprintf(b, "<%T>", v)
	}
}

// floatRepr is the shortest text that reads back as x, in Python's form.
func floatRepr(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64) // like Python: at least two digits of exponent
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote is the repr of a string: in single quotes, unless it holds some and no double ones.
func quote(s string) string {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b := []byte{q}
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ' || r == 0x7f || r > 0x7f && r <= 0xff && !unicode.IsPrint(r):
			b = fmt.Appendf(b, `\x%02x`, r)
		case !unicode.IsPrint(r) && r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		case !unicode.IsPrint(r):
			b = fmt.Appendf(b, `\U%08x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, q))
}

// typeName is Python's name of a value's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		if v.tuple {
			return "tuple"
		}
		return "list"
	case *Dict:
		return "dict"
	case undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	}
	return "function"
}
