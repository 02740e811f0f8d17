package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

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
