package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"treeline/internal/sharedtest"
)

// tracked lists the files that are, or would be, committed.
func tracked(t *testing.T) []string {
	t.Helper()
	root := sharedtest.Root(t)
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	var names []string // no git here: everything that is there
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, p)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(sharedtest.Root(t), name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return src
}

// ours parses the Go files of the main module.
func ours(t *testing.T) []file {
	t.Helper()
	var files []file
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "_asm/") || strings.HasPrefix(name, "tools/") || strings.Contains(name, "testdata/") {
			continue
		}
		src := read(t, name)
		if src == nil {
			continue // deleted, not committed yet
		}
		f, err := parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) < 50 {
		t.Fatalf("found %d Go files: the rules would check nothing", len(files))
	}
	return files
}

func TestRules(t *testing.T) {
	files := ours(t)
	for _, f := range files {
		for _, rule := range []func(file) []string{halves, process, size} {
			for _, bad := range rule(f) {
				t.Error(bad)
			}
		}
	}
	for _, bad := range packageComments(files) {
		t.Error(bad)
	}
}

func TestWords(t *testing.T) {
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".sum") {
			continue
		}
		src := read(t, name)
		if bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0 {
			continue // binary
		}
		for _, bad := range words(name, src) {
			t.Error(bad)
		}
	}
}

// TestRulesCanFail: a rule that nothing can break checks nothing.
func TestRulesCanFail(t *testing.T) {
	long := strings.Repeat("// line\n", 501)
	tests := []struct {
		name, src string
		rule      func(file) []string
	}{
		{"internal/measure/x/x.go", `package x; import _ "treeline/internal/infer/engine"`, halves},
		{"internal/measure/x/x_test.go", `package x; import _ "treeline/internal/infer/server"`, halves},
		{"internal/infer/x/x_test.go", `package x; import _ "treeline/internal/measure/record"`, halves},
		{"internal/wire/x/x.go", `package x; import _ "treeline/internal/measure/record"`, halves},
		{"internal/measure/x/x.go", `package x; import _ "treeline/internal/cli"`, halves},
		{"internal/bridge/x.go", `package x; import _ "treeline/internal/measure/record"`, halves},
		{"internal/bridge/x_test.go", `package x; import _ "treeline/internal/infer/engine"`, halves},
		{"cmd/treeline/main.go", `package main; import _ "treeline/internal/infer/engine"`, halves},
		{"internal/host/x.go", `package x; import "os"; func f() { os.Exit(1) }`, process},
		{"internal/host/x.go", `package x; import sys "os"; func f() { sys.Exit(1) }`, process},
		{"internal/host/x.go", `package x; import . "os"; func f() { Exit(1) }`, process},
		{"internal/host/x.go", `package x; import "os"; var x, _ = os.LookupEnv("A")`, process},
		{"internal/host/x.go", `package x; import "os"; var x = os.Stderr`, process},
		{"internal/host/x.go", `package x; import "os"; var x = os.Stdin`, process},
		{"internal/host/x.go", `package x; import "os"; var x = os.Args`, process},
		{"internal/host/x.go", `package x; import "fmt"; func f() { fmt.Println() }`, process},
		{"internal/host/x.go", `package x; import "log"; func f() { log.Fatal() }`, process},
		{"internal/host/x.go", `package x; import "os"; var x = os.Getenv("A")`, process},
		{"internal/host/x.go", `package x; import "os"; var x = os.Stdout`, process},
		{"internal/host/x.go", "package x\n" + long, size},
		{"internal/host/x_test.go", "package x\n" + long, size},
		{"internal/x/x.go", "package x", func(f file) []string { return packageComments([]file{f}) }},
		{"internal/x/x.go", "// Package x is.\npackage x", func(f file) []string { return packageComments([]file{f, f}) }},
	}
	for _, test := range tests {
		f, err := parse(test.name, []byte(test.src))
		if err != nil {
			t.Fatal(err)
		}
		if len(test.rule(f)) == 0 {
			t.Errorf("no rule objects to %s: %.60s", test.name, test.src)
		}
	}
	for _, line := range []string{
		"see /wo" + "rk/main", "in /ro" + "ot/x", "(/tm" + "p/x)", "https://pro" + "xy.example.org/x", "from py" + "pi.org", "Proxy.go" + "lang.org",
	} {
		if len(words("x", []byte(line))) == 0 {
			t.Errorf("no rule objects to %q", line)
		}
	}
	for _, line := range []string{"a net/work/x", "the users/root.go", "file://x", "the registry of methods"} {
		if bad := words("x", []byte(line)); len(bad) != 0 {
			t.Errorf("a rule objects to %q: %v", line, bad)
		}
	}
	made, err := parse("internal/host/x.go", []byte("// Code generated by x. DO NOT EDIT.\n\npackage x\n"+long))
	if err != nil || len(size(made)) != 0 {
		t.Errorf("a generated file may be long: %v %v", size(made), err)
	}
	good, err := parse("internal/cli/x.go", []byte(`package cli; import ("os"; _ "treeline/internal/measure/record"; _ "treeline/internal/infer/engine"); var x = os.Args`))
	if err != nil || len(halves(good))+len(process(good)) != 0 {
		t.Errorf("package cli may do all that: %v %v %v", halves(good), process(good), err)
	}
}
