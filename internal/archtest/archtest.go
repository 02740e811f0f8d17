// Package archtest holds the rules of the house that a machine can check: which package may import which, who may touch
// the process, how files are kept. Its tests run them over the repository, and over bad samples to show that each can
// fail. Nothing imports it.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// file is one Go file, named by its slash-separated path in the repository.
type file struct {
	name string
	src  []byte
	ast  *ast.File
	fset *token.FileSet
}

func parse(name string, src []byte) (file, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	return file{name, src, tree, fset}, err
}

func (f file) test() bool      { return strings.HasSuffix(f.name, "_test.go") }
func (f file) generated() bool { return ast.IsGenerated(f.ast) }

const module = "treeline/"

// halves: the measuring and the serving half meet over HTTP only; what they share knows neither. Tests included.
func halves(f file) []string {
	const a, b = "internal/measure", "internal/infer"
	in := func(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
	dir := path.Dir(f.name)
	shared := in(dir, "internal/wire") || in(dir, "internal/host") || in(dir, "internal/term") || in(dir, "internal/sharedtest")
	var bad []string
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		p, ours := strings.CutPrefix(p, module)
		switch {
		case !ours:
		case in(dir, a) && in(p, b), in(dir, b) && in(p, a), shared && (in(p, a) || in(p, b)):
			bad = append(bad, fmt.Sprintf("%s imports %s", f.name, p))
		case in(p, "internal/cli") && dir != "cmd/treeline":
			bad = append(bad, fmt.Sprintf("%s imports %s, which only the command may", f.name, p))
		}
	}
	return bad
}

// process: only package cli and the command touch the process's environment; everything else is told.
func process(f file) []string {
	if f.test() || strings.HasPrefix(f.name, "internal/cli/") || strings.HasPrefix(f.name, "cmd/") || strings.HasPrefix(f.name, "internal/sharedtest/") {
		return nil
	}
	banned := map[string]bool{"Exit": true, "Getenv": true, "LookupEnv": true, "Environ": true, "Stdin": true, "Stdout": true, "Stderr": true, "Args": true}
	var bad []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && banned[sel.Sel.Name] {
			bad = append(bad, fmt.Sprintf("%s uses os.%s, which only package cli may", f.fset.Position(n.Pos()), sel.Sel.Name))
		}
		return true
	})
	return bad
}

// size: a file above the limit holds two things. Tests and generated files may be longer.
func size(f file) []string {
	const limit = 500
	if n := strings.Count(string(f.src), "\n"); n > limit && !f.test() && !f.generated() {
		return []string{fmt.Sprintf("%s has %d lines: above %d two things live in one file", f.name, n, limit)}
	}
	return nil
}

// packageComments: every package says once what it is.
func packageComments(files []file) []string {
	comments := map[string]int{}
	for _, f := range files {
		if f.test() {
			continue
		}
		dir := path.Dir(f.name)
		comments[dir] += 0
		if f.ast.Doc != nil && !f.generated() {
			comments[dir]++
		}
	}
	var bad []string
	for dir, n := range comments {
		if n != 1 {
			bad = append(bad, fmt.Sprintf("package %s has %d package comments, want 1", dir, n))
		}
	}
	return bad
}

// private: words that tell of a machine or of a package registry, not of the project. (Written in pieces, so that the
// rule does not find itself.)
var private = regexp.MustCompile(`(^|[^\w.])/(wo` + `rk|ro` + `ot)/|https?://(registry|proxy|files|index|sum|static)\.[a-z]`)

// words checks any text file.
func words(name string, src []byte) []string {
	var bad []string
	for i, line := range strings.Split(string(src), "\n") {
		if m := private.FindString(line); m != "" {
			bad = append(bad, fmt.Sprintf("%s:%d: %q does not belong in the project", name, i+1, m))
		}
	}
	return bad
}
