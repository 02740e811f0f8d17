package jinja

import (
	"math"
	"slices"
	"strings"
)

func toFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func toInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return v, true
	}
	return 0, false
}

func (s *state) arithmetic(op string, a, b Value) Value {
	s.mustDefined(a)
	s.mustDefined(b)
	switch x := a.(type) {
	case string:
		switch y := b.(type) {
		case string:
			if op == "+" {
				s.charge(len(x) + len(y))
				return x + y
			}
		case int64, bool:
			if n, ok := toInt(y); ok && op == "*" {
				return s.repeat(x, n)
			}
		}
		if op == "%" {
			return s.format(x, b)
		}
	case *List:
		if y, ok := b.(*List); ok && op == "+" && x.tuple == y.tuple {
			s.charge(16 * (len(x.Items) + len(y.Items)))
			return &List{Items: slices.Concat(x.Items, y.Items), tuple: x.tuple}
		}
	}
	m, okM := toInt(a)
	n, okN := toInt(b)
	switch {
	case op == "*" && okN && !okM:
		if l, ok := a.(*List); ok {
			return s.repeatList(l, n)
		}
	case op == "*" && okM && !okN:
		switch y := b.(type) {
		case string:
			return s.repeat(y, m)
		case *List:
			return s.repeatList(y, m)
		}
	}
	if okM && okN && op != "/" {
		return s.integers(op, m, n)
	}
	x, okX := toFloat(a)
	y, okY := toFloat(b)
	if !okX || !okY {
		s.fail("%s %s %s is not possible", typeName(a), op, typeName(b))
	}
	return s.floats(op, x, y)
}

func (s *state) repeat(x string, n int64) string {
	if n <= 0 || x == "" {
		return ""
	}
	if n > int64(s.t.limits.Output/len(x)) {
		s.fail("a string repeated %d times is too long", n)
	}
	s.charge(len(x) * int(n))
	return strings.Repeat(x, int(n))
}

func (s *state) repeatList(l *List, n int64) *List {
	if n <= 0 || len(l.Items) == 0 {
		return &List{tuple: l.tuple}
	}
	if n > int64(maxRange/len(l.Items)) {
		s.fail("a list repeated %d times is too long", n)
	}
	s.charge(16 * int(n) * len(l.Items))
	return &List{Items: slices.Repeat(l.Items, int(n)), tuple: l.tuple}
}

func (s *state) integers(op string, m, n int64) Value {
	if n == 0 && (op == "//" || op == "%") {
		s.fail("division by zero")
	}
	// Products and powers beyond 53 bits are not needed; they are refused instead of being wrong.
	exact := func(x float64, n int64) Value {
		if math.Abs(x) >= 1<<62 {
			s.fail("the result of %s is too large", op)
		}
		return n
	}
	switch op {
	case "+":
		return exact(float64(m)+float64(n), m+n)
	case "-":
		return exact(float64(m)-float64(n), m-n)
	case "*":
		return exact(float64(m)*float64(n), m*n)
	case "//":
		return int64(floorDiv(m, n))
	case "%":
		return m - floorDiv(m, n)*n
	}
	if n < 0 {
		return math.Pow(float64(m), float64(n))
	}
	x := math.Pow(float64(m), float64(n))
	if math.Abs(x) >= 1<<53 {
		s.fail("the result of ** is too large")
	}
	return int64(x)
}

func floorDiv(m, n int64) int64 {
	q := m / n
	if m%n != 0 && (m < 0) != (n < 0) {
		q--
	}
	return q
}

func (s *state) floats(op string, x, y float64) Value {
	if y == 0 && (op == "/" || op == "//" || op == "%") {
		s.fail("division by zero")
	}
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	case "%":
		return x - math.Floor(x/y)*y
	}
	return math.Pow(x, y)
}
