package jinja

import (
	"fmt"
	"strings"
	"time"
)

// globals are the functions that every template sees.
func globals() map[string]any {
	return map[string]any{
		"range":           &function{"range", rangeFunc},
		"namespace":       &function{"namespace", namespaceFunc},
		"dict":            &function{"dict", func(s *state, a callArgs) Value { return s.dict(a) }},
		"raise_exception": &function{"raise_exception", raise},
		"strftime_now":    &function{"strftime_now", strftimeNow},
	}
}

// arg is argument i, or the one of this name, or missing.
func (a callArgs) arg(i int, name string, missing Value) Value {
	if i >= 0 && i < len(a.list) {
		return a.list[i]
	}
	for _, e := range a.named {
		if e.name == name {
			return e.value
		}
	}
	return missing
}

func (s *state) intArg(a callArgs, i int, name string, missing int64) int64 {
	v := a.arg(i, name, missing)
	n, ok := toInt(v)
	if !ok {
		s.mustDefined(v)
		s.fail("argument %s is of type %s, want an integer", name, typeName(v))
	}
	return n
}

func (s *state) strArg(a callArgs, i int, name, missing string) string {
	v := a.arg(i, name, missing)
	text, ok := v.(string)
	if !ok {
		s.mustDefined(v)
		s.fail("argument %s is of type %s, want a string", name, typeName(v))
	}
	return text
}

func rangeFunc(s *state, a callArgs) Value {
	from, to, step := int64(0), s.intArg(a, 0, "stop", 0), int64(1)
	if len(a.list) > 1 {
		from, to, step = to, s.intArg(a, 1, "stop", 0), s.intArg(a, 2, "step", 1)
	}
	if step == 0 {
		s.fail("the step of range is zero")
	}
	l := &List{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(l.Items) == maxRange {
			s.fail("range has more than %d numbers", maxRange)
		}
		l.Items = append(l.Items, i)
	}
	s.charge(len(l.Items))
	return l
}

func (s *state) dict(a callArgs) *Dict {
	d := NewDict()
	if len(a.list) > 0 {
		from, ok := a.list[0].(*Dict)
		if !ok {
			s.fail("dict wants a dict, not %s", typeName(a.list[0]))
		}
		for _, e := range from.entries {
			d.set(e.key, e.value)
		}
	}
	for _, e := range a.named {
		d.set(e.name, e.value)
	}
	s.charge(d.Len())
	return d
}

func namespaceFunc(s *state, a callArgs) Value { return &namespace{s.dict(a)} }

func raise(s *state, a callArgs) Value {
	panic(&Error{Line: s.line, Text: str(a.arg(0, "message", "")), Raised: true})
}

func strftimeNow(s *state, a callArgs) Value {
	return strftime(s.t.now(), s.strArg(a, 0, "format", ""))
}

// strftime formats as C's does in the C locale.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		pad := "02"
		if format[i] == '-' && i+1 < len(format) {
			pad = ""
			i++
		}
		number := func(n int) { fmt.Fprintf(&b, "%"+pad+"d", n) }
		switch format[i] {
		case 'd':
			number(t.Day())
		case 'm':
			number(int(t.Month()))
		case 'y':
			number(t.Year() % 100)
		case 'H':
			number(t.Hour())
		case 'I':
			number((t.Hour()+11)%12 + 1)
		case 'M':
			number(t.Minute())
		case 'S':
			number(t.Second())
		case 'e':
			fmt.Fprintf(&b, "%2d", t.Day())
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'f':
			fmt.Fprintf(&b, "%06d", t.Nanosecond()/1000)
		case '%':
			b.WriteByte('%')
		default:
			if layout := timeLayout(format[i]); layout != "" {
				b.WriteString(t.Format(layout))
			} else {
				b.WriteString("%" + format[i:i+1])
			}
		}
	}
	return b.String()
}

// timeLayout is Go's form of a letter of strftime.
func timeLayout(c byte) string {
	switch c {
	case 'Y':
		return "2006"
	case 'B':
		return "January"
	case 'b', 'h':
		return "Jan"
	case 'A':
		return "Monday"
	case 'a':
		return "Mon"
	case 'p':
		return "PM"
	case 'F':
		return "2006-01-02"
	case 'T', 'X':
		return "15:04:05"
	case 'D', 'x':
		return "01/02/06"
	case 'R':
		return "15:04"
	case 'c':
		return "Mon Jan _2 15:04:05 2006"
	case 'Z':
		return "MST"
	case 'z':
		return "-0700"
	}
	return ""
}

// loopState is the variable loop.
type loopState struct {
	items []Value
	i     int
}

func (l *loopState) attribute(name string) Value {
	n := len(l.items)
	neighbour := func(i int) Value {
		if i < 0 || i >= n {
			return undefined{"loop." + name}
		}
		return l.items[i]
	}
	switch name {
	case "index":
		return int64(l.i + 1)
	case "index0":
		return int64(l.i)
	case "revindex":
		return int64(n - l.i)
	case "revindex0":
		return int64(n - l.i - 1)
	case "first":
		return l.i == 0
	case "last":
		return l.i == n-1
	case "length":
		return int64(n)
	case "depth":
		return int64(1)
	case "depth0":
		return int64(0)
	case "previtem":
		return neighbour(l.i - 1)
	case "nextitem":
		return neighbour(l.i + 1)
	case "cycle":
		return &function{"cycle", func(s *state, a callArgs) Value {
			if len(a.list) == 0 {
				s.fail("loop.cycle wants values")
			}
			return a.list[l.i%len(a.list)]
		}}
	}
	return undefined{"loop." + name}
}
