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

// imports gives the names under which a file knows the packages that it imports, by import path.
func (f file) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		names[p] = path.Base(p)
		if spec.Name != nil {
			names[p] = spec.Name.Name
		}
	}
	return names
}

// halves: the measuring and the serving half meet over HTTP only, tests included. Only package cli knows both, and only
// the command knows it: any other package that imported a half could be a bridge between the two.
func halves(f file) []string {
	const a, b, both = "internal/measure", "internal/infer", "internal/cli"
	in := func(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
	dir := path.Dir(f.name)
	var bad []string
	for p := range f.imports() {
		p, ours := strings.CutPrefix(p, module)
		switch {
		case !ours:
		case in(p, a) && !in(dir, a) && !in(dir, both), in(p, b) && !in(dir, b) && !in(dir, both):
			bad = append(bad, fmt.Sprintf("%s imports %s", f.name, p))
		case in(p, both) && !in(dir, both) && dir != "cmd/treeline":
			bad = append(bad, fmt.Sprintf("%s imports %s, which only the command may", f.name, p))
		}
	}
	return bad
}

// touching lists what touches the process's environment, by package.
var touching = map[string]*regexp.Regexp{
	"os":      regexp.MustCompile(`^(Exit|Getenv|LookupEnv|Environ|ExpandEnv|Setenv|Unsetenv|Clearenv|Stdin|Stdout|Stderr|Args)$`),
	"fmt":     regexp.MustCompile(`^(Print|Printf|Println|Scan|Scanf|Scanln)$`), // standard streams
	"log":     regexp.MustCompile(`^(Fatal|Fatalf|Fatalln|Panic|Panicf|Panicln|Print|Printf|Println|Default)$`),
	"syscall": regexp.MustCompile(`^(Exit|Getenv|Environ|Setenv|Stdin|Stdout|Stderr)$`),
	"flag":    regexp.MustCompile(`^(Parse|Args|Arg|CommandLine)$`),
}

// process: only package cli and the command touch the process's environment; everything else is told. Tests may, and
// what makes test data find its place.
func process(f file) []string {
	if f.test() || strings.HasPrefix(f.name, "internal/cli/") || strings.HasPrefix(f.name, "cmd/") || strings.HasPrefix(f.name, "internal/sharedtest/") {
		return nil
	}
	var bad []string
	banned := map[string]*regexp.Regexp{} // by the name that the file uses
	for p, name := range f.imports() {
		if rule := touching[p]; rule != nil {
			banned[name] = rule
			if name == "." {
				bad = append(bad, fmt.Sprintf("%s imports %s without a name", f.name, p))
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && banned[x.Name] != nil && banned[x.Name].MatchString(sel.Sel.Name) {
			bad = append(bad, fmt.Sprintf("%s uses %s.%s, which only package cli may", f.fset.Position(n.Pos()), x.Name, sel.Sel.Name))
		}
		return true
	})
	return bad
}

// size: a file above the limit holds two things. Generated files may be longer.
func size(f file) []string {
	const limit = 500
	if n := strings.Count(string(f.src), "\n"); n > limit && !f.generated() {
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

// private: words that tell of a machine, or of where packages come from, not of the project. (Written in pieces, so
// that the rule does not find itself.)
var private = regexp.MustCompile(`(?i)(^|[^\w.])/(wo` + `rk|ro` + `ot|tm` + `p|ho` + `me|us` + `ers)/` +
	`|https?://(registry|proxy|files|index|sum|static)\.[a-z]` +
	`|py` + `pi\.|python` + `hosted\.|npm` + `js\.|proxy\.go` + `lang|crates\.i` + `o\b|rubygems\.o` + `rg|maven\.(o` + `rg|apache)`)

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
