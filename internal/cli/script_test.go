package cli

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"treeline/internal/measure/targettest"
	"treeline/internal/sharedtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"treeline": func() { os.Exit(Main(OSEnv())) }})
}

// TestScripts runs the contract of the command line, one file per command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(sharedtest.Root(t), "testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TINY", filepath.Join(sharedtest.Root(t), "internal", "infer", "model", "llama", "testdata", "tiny-llama.q8_0.gguf"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"address": address, "cut": cut, "exits": exits, "standin": standin, "waitfor": waitfor},
	})
}

// exits runs a command and wants one exit code: "exits 3 treeline compare ...".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %q is no exit code", args[0])
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("exits: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// standin starts a server that lasts as long as the script and puts its address into a variable, its
// port into VARIABLE_PORT: "standin URL plain".
func standin(ts *testscript.TestScript, neg bool, args []string) {
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html><body>Welcome</body></html>") }
	kinds := map[string]targettest.Options{
		"plain":    {Step: 5 * time.Millisecond, Tokens: 64},
		"ngram":    {Method: "NGRAM", PerStep: 3, Step: 15 * time.Millisecond, Tokens: 64},
		"slow":     {Step: 50 * time.Millisecond, Tokens: 40},
		"breaking": {Break: 3, Step: time.Millisecond},
		"failing":  {Status: http.StatusInternalServerError},
		"webpage":  {Handlers: map[string]http.HandlerFunc{"/v1/models": page}},
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: standin VARIABLE KIND")
	}
	o, ok := kinds[args[1]]
	if !ok {
		ts.Fatalf("standin: no kind %q", args[1])
	}
	s := targettest.New(o)
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
	ts.Setenv(args[0]+"_PORT", s.URL[strings.LastIndex(s.URL, ":")+1:])
}

// cut writes the first N bytes of a file to another: "cut N FROM TO".
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut N FROM TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:n], 0o644))
}

// waitfor waits until a file holds something: "waitfor FILE".
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	for range 200 {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("waitfor: nothing in %s after ten seconds", args[0])
}

// address puts the address in the first line of a file, and its port, into variables: "address URL FILE".
func address(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: address VARIABLE FILE")
	}
	waitfor(ts, false, args[1:])
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	url := line[strings.LastIndex(line, " ")+1:]
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_PORT", url[strings.LastIndex(url, ":")+1:])
}
