package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelp: every command says in one line and at length what it does and shows how it is called, by examples that its
// own flags allow; every flag says what it is.
func TestHelp(t *testing.T) {
	root, _ := newRoot(&Env{})
	for _, cmd := range root.Commands() {
		if cmd.Short == "" || len(cmd.Long) <= len(cmd.Short) || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: wants a short text without a full stop and a longer one; has %q and %d bytes", cmd.Name(), cmd.Short, len(cmd.Long))
		}
		if cmd.Example == "" {
			t.Errorf("%s: no example", cmd.Name())
		}
		for line := range strings.Lines(cmd.Example) {
			if err := exampleError(cmd.Name(), line); err != nil {
				t.Errorf("%s: example %q: %v", cmd.Name(), strings.TrimSpace(line), err)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("%s --%s: no help", cmd.Name(), f.Name)
			}
		})
	}
}

// exampleError says what the command line objects to in an example.
func exampleError(name, line string) error {
	line, _, _ = strings.Cut(line, "#")
	line, _, _ = strings.Cut(line, ">")
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "treeline" || words[1] != name {
		return fmt.Errorf("it does not call treeline %s", name)
	}
	root, _ := newRoot(&Env{})
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return errors.Join(cmd.ValidateArgs(cmd.Flags().Args()), cmd.ValidateFlagGroups())
}

// TestExampleError: the check of examples can fail.
func TestExampleError(t *testing.T) {
	for _, line := range []string{"treeline pull x", "treeline bench", "treeline bench x --no-such-flag", "treeline bench x --out a --append b"} {
		if exampleError("bench", line) == nil {
			t.Errorf("nothing objects to the example %q", line)
		}
	}
}

// TestCompletion: commands that take a model offer the names that pull knows.
func TestCompletion(t *testing.T) {
	for _, cmd := range []string{"pull", "serve"} {
		var out, talk bytes.Buffer
		env := &Env{Args: []string{"__complete", cmd, "smol"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk, Getenv: func(string) string { return "" }}
		if code := Main(env); code != ExitOK || !strings.Contains(out.String(), "smollm2-135m-instruct\n") {
			t.Errorf("complete %s: exit code %d, %q; want the known model's name", cmd, code, out.String())
		}
	}
}
