package jinja

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func render(source, vars string, l Limits) (string, error) {
	tpl, err := Parse(source, l, func() time.Time { return time.Date(2026, 3, 4, 15, 6, 7, 8000, time.UTC) })
	if err != nil {
		return "", err
	}
	v, err := FromJSON([]byte(vars))
	if err != nil {
		return "", err
	}
	return tpl.Render(v.(*Dict))
}

// TestRender: one feature a line, the wanted text as Python's jinja2 gives it.
func TestRender(t *testing.T) {
	tests := []struct{ source, vars, want string }{
		// Text, trimming.
		{"a\n", `{}`, "a"},
		{"a\n\n", `{}`, "a\n"},
		{"a\r\nb", `{}`, "a\nb"},
		{"  {% if true %}\n  x\n  {% endif %}\ny", `{}`, "  x\ny"},
		{"a {%- if true -%}  b  {%- endif -%} c", `{}`, "abc"},
		{"  {%+ if true %}x{% endif +%}\ny", `{}`, "  x\ny"},
		{"  {{ 1 }}\n {# no #}\nz", `{}`, "  1\nz"},
		{"{{ 'x' -}}\n y", `{}`, "xy"},
		{"{% raw %}{{ x }}{% endraw %}\n{%- raw -%} {% x {%- endraw %}", `{}`, "{{ x }}{% x"},
		{"{{ {'a': {'b': 1}}}}", `{}`, "{'a': {'b': 1}}"},
		// Values as Python prints them.
		{"{{ [1, 2.0, 'it\\'s', none, true, (1,), {}] }}", `{}`, `[1, 2.0, "it's", None, True, (1,), {}]`},
		{"{{ x }}", `{"x": [1e16, 0.1, 1e-5, 12345678901, "\n\u00e9\u0001"]}`, `[1e+16, 0.1, 1e-05, 12345678901, '\né\x01']`},
		{"{{ missing }}|{{ x.y }}|{{ none }}", `{"x": {}}`, "||None"},
		// Operators.
		{"{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 6 / 4 }}", `{}`, "6 1 -4 2 8 1.5"},
		{"{{ 'a' ~ 1 + 2 if false else 'b' ~ none ~ 1.5 }}", `{}`, "bNone1.5"},
		{"{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' in 'abc' }} {{ 4 not in [1, 2] }} {{ not 1 == 2 }}", `{}`, "True False True True True"},
		{"{{ 1 == 1.0 }} {{ [1] == [1] }} {{ {'a': 1} == {'a': 1} }} {{ 'x' * 3 }} {{ [1] + [2] }}", `{}`, "True True True xxx [1, 2]"},
		{"{{ '' or 'x' }} {{ 0 and 1 }} {{ 'yes' if [] }}", `{}`, "x 0 "},
		{"{{ 'abcde'[1:3] }} {{ 'abc'[::-1] }} {{ [1,2,3][-2:] }} {{ 'é中'[1] }} {{ [1,2][5] is defined }}", `{}`, "bc cba [2, 3] 中 False"},
		{"{{ '%s-%03d' % ('a', 7) }} {{ '%.2f' | format(1.005) }} {{ '{} {} {x}'.format(1, 2, x=3) }}", `{}`, "a-007 1.00 1 2 3"},
		{"{{ x.items }} {{ x['items'] }}", `{"x": {"items": 1}}`, "<function items> 1"},
		{"{{ 2 * 'ab' }}{{ [1] * 2 }}{{ 'a' * true }} {{ 1[:2] }}|{{ none | map('upper') | list }}", `{}`, "abab[1, 1]a |[]"},
		{"{{ \"it's a-b\" | title }} {{ \"it's a-b\".title() }}", `{}`, "It's A-B It'S A-B"},
		// Statements.
		{"{% for x in [1,2,3] if x != 2 %}{{ loop.index }}/{{ loop.length }}{{ x }}{{ ',' if not loop.last }}{% else %}none{% endfor %}", `{}`, "1/21,2/23"},
		{"{% for x in [] %}{% else %}none{% endfor %}{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", `{}`, "nonea1"},
		{"{% for x in 'abc' %}{{ loop.previtem }}{{ x }}{{ loop.nextitem }}.{% if x == 'b' %}{% break %}{% endif %}{% endfor %}", `{}`, "ab.abc."},
		{"{% for x in range(5) %}{% if x % 2 %}{% continue %}{% endif %}{{ x }}{{ loop.cycle('a', 'b') }}{% endfor %}", `{}`, "0a2a4a"},
		{"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}", `{}`, "13"},
		{"{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", `{}`, "3"},
		{"{% set x %}a{{ 1 }}{% endset %}{{ x }}{% set x | upper %}b{% endset %}{{ x }}{% set a, b = 1, 2 %}{{ a }}{{ b }}", `{}`, "a1B12"},
		{"{% macro m(a, b='d') %}{{ a }}{{ b }}{{ varargs }}{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m(1, 2, 3) }}", `{}`, "1d()12()12(3,)"},
		{"{% macro m() %}<{{ caller('x') }}>{% endmacro %}{% call(v) m() %}{{ v }}{% endcall %}", `{}`, "<x>"},
		{"{% filter upper | replace('A', 'o') %}a{{ 'b' }}{% endfilter %}{% with a = 1 %}{{ a }}{% endwith %}{{ a }}", `{}`, "oB1"},
		{"{% generation %}g{% endgeneration %}", `{}`, "g"},
		// Filters.
		{"{{ x | tojson }} {{ x | tojson(indent=2) }}", `{"x": {"a<b>&'": [1, "é\u2028"], "c": {}}}`, "{\"a<b>&'\": [1, \"é\u2028\"], \"c\": {}} {\n  \"a<b>&'\": [\n    1,\n    \"é\u2028\"\n  ],\n  \"c\": {}\n}"},
		{"{{ 'é😀' | tojson(ensure_ascii=true) }} {{ '[1, {\"a\": 2}]' | from_json }}", `{}`, `"\u00e9\ud83d\ude00" [1, {'a': 2}]`},
		{"{{ ' a ' | trim }}{{ 'xay' | trim('xy') }}{{ x | default('d') }}{{ '' | default('e', true) }}{{ [1,2] | length }}", `{}`, "aade2"},
		{"{{ [3,1,2] | sort | join(',') }} {{ ['b','A'] | sort }} {{ [1,2] | sort(reverse=true) }} {{ {'b': 1, 'a': 2} | dictsort }}", `{}`, "1,2,3 ['A', 'b'] [2, 1] [('a', 2), ('b', 1)]"},
		{"{{ x | selectattr('a', 'equalto', 1) | map(attribute='b.c') | list }} {{ x | rejectattr('a') | list | length }}", `{"x": [{"a": 1, "b": {"c": 5}}, {"a": 0}]}`, "[5] 1"},
		{"{{ [1, none, 2] | reject('none') | list }} {{ ['a'] | map('upper') | first }} {{ [1, 1, 2] | unique | list }} {{ [1,2] | sum }} {{ [2,5] | max }}", `{}`, "[1, 2] A [1, 2] 3 5"},
		{"{{ 'a\n\nb' | indent(2) }}|{{ 'a\nb' | indent(1, true) }}", `{}`, "a\n\n  b| a\n b"},
		{"{{ '3.7' | int }} {{ 'x' | int(5) }} {{ '2' | float }} {{ -3 | abs }} {{ 2.5 | round }} {{ 'a,b' | title | wordcount }} {{ 7 | round(1) }}", `{}`, "3 5 2.0 3 2.0 2 7"},
		{"{{ [1,2,3] | reverse | list }} {{ 'ab' | list }} {{ [1,2] | last }} {{ '<' | e }} {{ {'a': 1} | items | list }}", `{}`, "[3, 2, 1] ['a', 'b'] 2 &lt; [('a', 1)]"},
		// Tests.
		{"{{ x is defined }} {{ none is none }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is iterable }} {{ 1 is number }} {{ true is boolean }}", `{}`, "False True True True True True True"},
		{"{{ 1 is not string }} {{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ 1 is in [1] }} {{ 2 is eq 2 and true }} {{ 1 is true }}", `{}`, "True True True True True False"},
		// Methods.
		{"{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a.b.c'.rsplit('.', 1) }} {{ 'a\nb\n'.splitlines() }}", `{}`, "['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] ['a.b', 'c'] ['a', 'b']"},
		{"{{ 'xax'.strip('x') }} {{ ' a '.lstrip() }}{{ ' a '.rstrip() }} {{ 'ab'.startswith(('x', 'a')) }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'abc'.find('c') }}", `{}`, "a a  a True bba 2"},
		{"{{ {'a': 1}.get('b', 2) }} {{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | list }} {{ ['a', 'b'].index('b') }}", `{}`, "2 ['a'] [1] 1"},
		{"{% set l = [] %}{% set _ = l.append(1) %}{{ l }}{{ l.pop() }}{{ l }}{{ 'a'.upper() }}{{ 'hello world'.title() }}{{ 'aB'.capitalize() }}", `{}`, "[1]1[]AHello WorldAb"},
		{"{{ strftime_now('%d %b %Y %H:%M:%S %-d %A %j %p %I %y%%') }}", `{}`, "04 Mar 2026 15:06:07 4 Wednesday 063 PM 03 26%"},
	}
	for _, tt := range tests {
		got, err := render(tt.source, tt.vars, Limits{})
		if err != nil || got != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.source, got, err, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000)
	tests := []struct {
		source string
		line   int
		want   string
	}{
		{"a\n{{ x", 2, "not closed"},
		{"{% if x %}\n\n", 2, "want {% endif %}"},
		{"{# a", 1, "comment is not closed"},
		{"\n{{ 'a }}", 2, "string is not closed"},
		{"{% include 'x' %}", 1, `tag "include" is not supported`},
		{"{{ x | nope }}", 1, `no filter "nope"`},
		{"{{ x is nope }}", 1, `no test "nope"`},
		{"{{ 1 2 }}", 1, `want "}}"`},
		{"{{ ] }}", 1, "unexpected"},
		{"{{ 99999999999999999999 }}", 1, "too large"},
		{"{% break %}", 1, "outside of a loop"},
		{"{{ " + deep + " }}", 1, "nested more than"},
		{"a\n{{ x.y.z }}", 2, "is undefined"},
		{"\n\n{{ 'a' + 1 }}", 3, "str + int is not possible"},
		{"{{ x + 1 }}", 1, "'x' is undefined"},
		{"{% for x in 1 %}{% endfor %}", 1, "int can't be looped over"},
		{"{{ 1 // 0 }}", 1, "division by zero"},
		{"{{ {}.a() }}", 1, "is undefined"},
		{"{{ 'a' < 1 }}", 1, "can't be ordered"},
		{"{{ {[]: 1} }}", 1, "can't be a key"},
		{"{% set x.y = 1 %}", 1, "no namespace"},
		{"\n{{ raise_exception('because') }}", 2, "because"},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1, "nested more than"},
		{"{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}", 1, "too much work"},
		{"{% set ns = namespace(l='xxxxxxxx') %}{% for i in range(99) %}{% set ns.l = ns.l ~ ns.l %}{% endfor %}", 1, "too much work"},
		{"{{ 'x' * 999999999 }}", 1, "too long"},
		{"{{ range(999999999) }}", 1, "more than 100000"},
		{"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", 1, "too much work"},
		{"{% for i in range(9999) %}{{ 'xxxxxxxxxx' * 99 }}{% endfor %}", 1, "longer than"},
		{"{% set l = [] %}{% set _ = l.append(l) %}{{ l }}", 1, "nested too deep"},
		{"{{ ('%9999d' % 1) }}", 1, "wider than"},
	}
	for _, tt := range tests {
		text, err := render(tt.source, `{}`, Limits{Steps: 500_000, Output: 1 << 16})
		var e *Error
		if !errors.As(err, &e) || e.Line != tt.line || !strings.Contains(e.Error(), tt.want) {
			t.Errorf("%.80q: got %.60q, %v, want an error in line %d with %q", tt.source, text, err, tt.line, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	if _, err := render("{% for i in range(100) %}{% endfor %}", `{}`, Limits{Steps: 50}); err == nil {
		t.Error("steps are not limited")
	}
	if _, err := render("12345678901", `{}`, Limits{Output: 10}); err == nil {
		t.Error("output is not limited")
	}
	if _, err := render(strings.Repeat("x", maxSource+1), `{}`, Limits{}); err == nil {
		t.Error("the source is not limited")
	}
}

// FuzzRender wants an error or a text of any template, never a panic or a long wait.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{% for m in messages %}{{ m.role ~ m['content'] | trim }}{% endfor %}", "{% set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 %}{{ ns }}",
		"{%- macro m(a, b=1) -%}{{ caller() if caller }}{{ a }}{%- endmacro -%}{% call m(2) %}x{% endcall %}", "{{ messages | tojson(indent=2) }}{{ 'a'[::-1] }}",
		"{% raw %}{{{% endraw %}{# c #}{{ {'a': [1, (2,)]} | items }}", "{{ '%5.2f' % 1.5 }}{{ messages | selectattr('role', 'eq', 'user') | list }}", "{{ -7 // 2 ** 3 }}{{ 1 if x is not defined else 2 }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		_, err := render(source, `{"messages": [{"role": "user", "content": "hi"}], "x": 1.5}`, Limits{Steps: 20000, Output: 1 << 16})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %T is no *Error", source, err)
		}
	})
}
