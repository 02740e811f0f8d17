// Package cli is the command line: one file per command, each a thin layer that reads flags, calls the package that
// does the work, and prints the result. It is the only package that touches the process's environment.
package cli

import (
	"io"
	"os"

	xterm "golang.org/x/term"

	"treeline/internal/term"
)

// Env is everything a command may take from the process. No other package reads os.Args, os.Getenv, os.Stdout or
// calls os.Exit.
type Env struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer // the result
	Stderr io.Writer // talk
	Getenv func(string) string
	Exit   func(code int) // ends the process at once
	TTY    bool           // Stderr is a terminal whose cursor can be moved
	Width  func() int     // columns of that terminal; nil where nobody knows
	// Executable is this program, for commands that start it once more; "" where it is not known.
	Executable string
}

// OSEnv is the Env of this process.
func OSEnv() *Env {
	executable, _ := os.Executable() // "" when the system does not tell
	return &Env{
		Executable: executable,
		Args:       os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Exit: os.Exit,
		TTY:   xterm.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
		Width: stderrWidth,
	}
}

func stderrWidth() int {
	if width, _, err := xterm.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return term.DefaultWidth
}

// progress shows on Stderr how a command gets on. Whoever makes one closes it before something else is written there.
func (e *Env) progress() *term.Progress { return term.NewProgress(e.Stderr, e.TTY, e.Width) }
