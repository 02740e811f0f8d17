// Package jinja renders chat templates: the part of the Jinja language that they use, byte for byte as the Hugging
// Face libraries render it (block trimming, loop controls, the generation tag, JSON without HTML escaping).
//
// Templates come with models and are not trusted: a template reads nothing but what it is given, and steps, depth and
// sizes are limited. Inheritance, includes and imports do not exist. What the variables of a chat template mean is
// package chat's business.
package jinja

import (
	"fmt"
	"strings"
	"time"
)

// Limits bounds what one rendering may use. Zero values mean the defaults.
type Limits struct {
	Steps  int // evaluated nodes and copied bytes together; default 20 million
	Output int // bytes of text; default 16 MiB
}

const (
	defaultSteps  = 20_000_000
	defaultOutput = 16 << 20
	maxDepth      = 150 // of nested expressions, blocks and calls
	maxSource     = 1 << 20
	maxRange      = 100_000 // the sandbox's limit
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	body   []node
	limits Limits
	now    func() time.Time
}

// Error is a fault of a template or of rendering it.
type Error struct {
	Line   int // of the template, from 1
	Text   string
	Raised bool // the template itself refused its input by raise_exception; Text is its message
}

// Error implements error.
func (e *Error) Error() string {
	if e.Raised {
		return e.Text
	}
	return fmt.Sprintf("template line %d: %s", e.Line, e.Text)
}

// Parse reads a template. now is what strftime_now sees; nil is the clock. Errors are *Error.
func Parse(source string, limits Limits, now func() time.Time) (t *Template, err error) {
	if limits.Steps <= 0 {
		limits.Steps = defaultSteps
	}
	if limits.Output <= 0 {
		limits.Output = defaultOutput
	}
	if now == nil {
		now = time.Now
	}
	defer catch(&err)
	if len(source) > maxSource {
		fail(1, "the template has %d bytes, at most %d are allowed", len(source), maxSource)
	}
	p := &parser{tokens: lex(source)}
	body, _ := p.statements()
	return &Template{body: body, limits: limits, now: now}, nil
}

// Render fills in the template. vars maps names to values (see Value); it is not changed, but values in it may be by
// a template that appends to a list. Errors are *Error.
func (t *Template) Render(vars *Dict) (text string, err error) {
	defer catch(&err)
	s := &state{t: t, out: &strings.Builder{}, line: 1}
	root := &scope{vars: map[string]any{}, parent: &scope{vars: globals()}}
	for _, e := range vars.entries {
		if name, ok := e.key.(string); ok {
			root.vars[name] = e.value
		}
	}
	s.run(t.body, root)
	return s.out.String(), nil
}

// fail ends parsing or rendering. Panics with *Error never leave the package.
func fail(line int, format string, args ...any) {
	panic(&Error{Line: line, Text: fmt.Sprintf(format, args...)})
}

func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}
