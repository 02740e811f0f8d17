package strictyaml

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is one fault of a file, with its place. Line and Col count from 1; 0 means the file as a whole.
type Error struct {
	File      string
	Line, Col int
	Msg       string
	Source    string // the line of the file, "" unknown
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, max(1, e.Col), e.Msg)
	if e.Source == "" {
		return s
	}
	number := strconv.Itoa(e.Line)
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^", s, number, e.Source, strings.Repeat(" ", len(number)), strings.Repeat(" ", max(1, e.Col)-1))
}

// Faults collects the errors of one file.
type Faults struct {
	file  string
	lines []string
	root  *yaml.Node
	form  any
	all   []*Error
}

// New begins with the text of a file; file names it in errors.
func New(file string, text []byte) *Faults {
	return &Faults{file: file, lines: strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
}

// Add adds a fault at a place; line 0 means the file as a whole.
func (f *Faults) Add(line, col int, format string, args ...any) {
	e := &Error{File: f.file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
	if line >= 1 && line <= len(f.lines) {
		// Tabs would shift the mark under the source line.
		e.Source = strings.ReplaceAll(f.lines[line-1], "\t", " ")
	}
	f.all = append(f.all, e)
}

// At adds a fault of the value at a path of keys and list indices; where the path ends early, the fault is that of
// the innermost value that exists.
func (f *Faults) At(path []any, format string, args ...any) {
	n := f.root
	for _, step := range path {
		next := child(n, step)
		if next == nil {
			break
		}
		n = next
	}
	if n == nil {
		f.Add(0, 0, format, args...)
		return
	}
	f.Add(n.Line, n.Column, format, args...)
}

func child(n *yaml.Node, step any) *yaml.Node {
	switch key := step.(type) {
	case string:
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	case int:
		if n != nil && n.Kind == yaml.SequenceNode && key < len(n.Content) {
			return n.Content[key]
		}
	}
	return nil
}

var (
	yamlLine     = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unmarshal    = regexp.MustCompile(`^cannot unmarshal !!\S+`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+\.(\S+)$`)
)

// yaml adds the faults that the YAML package reports, which names lines and Go types, in terms of the file.
func (f *Faults) yaml(err error) {
	messages := []string{err.Error()}
	if te, ok := err.(*yaml.TypeError); ok {
		messages = te.Errors
	}
	for _, text := range messages {
		line := 0
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = m[2]
		}
		if m := unknownField.FindStringSubmatch(text); m != nil {
			f.Add(line, f.column(line, m[1]), "unknown key %q; known here: %s", m[1], strings.Join(keysOf(reflect.TypeOf(f.form), m[2]), ", "))
			continue
		}
		text = unmarshal.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), "can't read")
		if before, goType, ok := strings.Cut(text, "into "); ok {
			text = before + "as " + kindOf(goType)
		}
		f.Add(line, f.firstColumn(line), "%s", text)
	}
}

// kindOf says in words what a Go type takes.
func kindOf(goType string) string {
	words := map[string]string{
		"[]string": "a list of strings", "map[string]string": "names with string values", "time.Duration": "a duration such as 30s or 5m",
		"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false", "string": "a string",
		"[]float64": "a list of numbers",
	}
	if w, ok := words[goType]; ok {
		return w
	}
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	return "keys with values"
}

// column finds where a key stands in its line.
func (f *Faults) column(line int, key string) int {
	if line < 1 || line > len(f.lines) {
		return 1
	}
	return max(0, strings.Index(f.lines[line-1], key)) + 1
}

func (f *Faults) firstColumn(line int) int {
	if line < 1 || line > len(f.lines) {
		return 1
	}
	return len(f.lines[line-1]) - len(strings.TrimLeft(f.lines[line-1], " \t")) + 1
}

// Err joins the faults in the order of the file; nil when there are none.
func (f *Faults) Err() error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b *Error) int { return a.Line - b.Line })
	return Errors(f.all)
}

// Errors are all faults of one file, in its order.
type Errors []*Error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "\n")
}
