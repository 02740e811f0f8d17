package jinja

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// truth is Python's bool().
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return len(v.entries) > 0
	}
	return true
}

// equal is Python's ==.
func (s *state) equal(a, b Value) bool {
	s.enter()
	defer s.leave()
	if x, ok := toFloat(a); ok {
		y, ok := toFloat(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case *List:
		b, ok := b.(*List)
		return ok && a.tuple == b.tuple && slices.EqualFunc(a.Items, b.Items, s.equal)
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.entries) != len(b.entries) {
			return false
		}
		for _, e := range a.entries {
			if v, ok := b.get(e.key); !ok || !s.equal(e.value, v) {
				return false
			}
		}
		return true
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		return ok && a == b
	case nil:
		return b == nil
	}
	return a == b // pointers
}

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

// less orders numbers, strings and lists; other pairs have no order.
func (s *state) order(a, b Value) int {
	s.enter()
	defer s.leave()
	if x, ok := toFloat(a); ok {
		if y, ok := toFloat(b); ok {
			return cmp.Compare(x, y)
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	}
	if x, ok := a.(*List); ok {
		if y, ok := b.(*List); ok {
			for i := range min(len(x.Items), len(y.Items)) {
				if !s.equal(x.Items[i], y.Items[i]) {
					return s.order(x.Items[i], y.Items[i])
				}
			}
			return cmp.Compare(len(x.Items), len(y.Items))
		}
	}
	s.mustDefined(a)
	s.mustDefined(b)
	s.fail("%s and %s can't be ordered", typeName(a), typeName(b))
	return 0
}

// contains is Python's "in".
func (s *state) contains(item, in Value) bool {
	switch in := in.(type) {
	case string:
		x, ok := item.(string)
		if !ok {
			s.mustDefined(item)
			s.fail("'in <str>' wants a string on the left, not %s", typeName(item))
		}
		s.charge(len(in))
		return strings.Contains(in, x)
	case *Dict:
		_, ok := in.get(item)
		return ok
	case *namespace:
		_, ok := in.vars.get(item)
		return ok
	}
	for _, x := range s.items(in) {
		if s.equal(item, x) {
			return true
		}
	}
	return false
}

// items are what a loop over v yields.
func (s *state) items(v Value) []Value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *List:
		s.charge(len(v.Items))
		return v.Items
	case *Dict:
		s.charge(len(v.entries))
		keys := make([]Value, len(v.entries))
		for i, e := range v.entries {
			keys[i] = e.key
		}
		return keys
	case string:
		s.charge(4 * len(v))
		var chars []Value
		for _, r := range v {
			chars = append(chars, string(r))
		}
		return chars
	}
	s.fail("%s can't be looped over", typeName(v))
	return nil
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
		case int64:
			if op == "*" {
				return s.repeat(x, y)
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
