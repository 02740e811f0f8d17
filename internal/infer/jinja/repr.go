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

// jsonOptions are the arguments of Python's json.dumps that templates use.
type jsonOptions struct {
	ascii      bool
	indent     string // "": one line
	item, pair string // separators
	sort       bool
}

// toJSON writes a value as Python's json.dumps does, without escaping HTML.
func toJSON(b *strings.Builder, v Value, o jsonOptions, depth int) {
	if depth > maxDepth || b.Len() > defaultOutput {
		fail(1, "a value is nested too deep or too large for JSON")
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(floatRepr(v)))
	case string:
		jsonString(b, v, o.ascii)
	case *List:
		b.WriteByte('[')
		for i, x := range v.Items {
			jsonBreak(b, o, i, depth+1)
			toJSON(b, x, o, depth+1)
		}
		jsonClose(b, o, len(v.Items), depth, ']')
	case *Dict:
		b.WriteByte('{')
		entries := v.entries
		if o.sort {
			entries = sortedEntries(entries)
		}
		for i, e := range entries {
			jsonBreak(b, o, i, depth+1)
			jsonString(b, jsonKey(e.key), o.ascii)
			b.WriteString(o.pair)
			toJSON(b, e.value, o, depth+1)
		}
		jsonClose(b, o, len(v.entries), depth, '}')
	default:
		fail(1, "%s has no JSON form", typeName(v))
	}
}

func jsonKey(key Value) string {
	switch k := key.(type) {
	case string:
		return k
	case nil, bool, int64, float64:
		var b strings.Builder
		toJSON(&b, k, jsonOptions{}, 0)
		return b.String()
	}
	fail(1, "a key of type %s has no JSON form", typeName(key))
	return ""
}

func jsonBreak(b *strings.Builder, o jsonOptions, i, depth int) {
	if i > 0 {
		b.WriteString(o.item)
	}
	if o.indent != "" {
		b.WriteByte('\n')
		b.WriteString(strings.Repeat(o.indent, depth))
	}
}

func jsonClose(b *strings.Builder, o jsonOptions, n, depth int, end byte) {
	if o.indent != "" && n > 0 {
		b.WriteByte('\n')
		b.WriteString(strings.Repeat(o.indent, depth))
	}
	b.WriteByte(end)
}

func jsonString(b *strings.Builder, s string, ascii bool) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ' || ascii && r > 0x7e && r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		case ascii && r > 0xffff:
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
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
