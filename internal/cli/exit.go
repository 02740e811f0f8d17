package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"treeline/internal/measure/record"
	"treeline/internal/measure/workload"
)

// The exit codes. Scripts rely on them.
const (
	ExitOK          = 0   // success, or any valid verdict
	ExitRuntime     = 1   // something failed
	ExitUsage       = 2   // the command line is wrong
	ExitThreshold   = 3   // --fail-on happened
	ExitInvalid     = 4   // the measurement must not be used
	ExitInterrupted = 130 // stopped by a signal
)

// codeError is an error with the exit code that it ends the process with.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }

// ExitCode is the exit code that this error asks for.
func (e codeError) ExitCode() int { return e.code }

// usageError is a mistake in the command line.
func usageError(text string) error { return codeError{ExitUsage, errors.New(text)} }

// fileError makes a mistake of the user out of a fault with a place in a file of the user; other errors stay.
func fileError(err error) error {
	var fault *workload.SyntaxError
	if errors.As(err, &fault) {
		return usageError(err.Error())
	}
	return err
}

// invalidResult is a measurement that must not be used.
func invalidResult(warnings []record.Warning) error {
	var why []string
	for _, w := range warnings {
		if w.Invalidates() {
			why = append(why, w.Code+": "+w.Text)
		}
	}
	return codeError{ExitInvalid, errors.New("the result is invalid: " + strings.Join(why, "; "))}
}

// exitCode is the code for what a command returned under ctx.
func exitCode(ctx context.Context, err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		return ExitInterrupted
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return ExitRuntime
}

// interruptible derives a context that the first SIGINT or SIGTERM cancels. A second one ends the process at once.
func interruptible(parent context.Context, env *Env) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			fmt.Fprintln(env.Stderr, "treeline: interrupted twice: ending at once")
			env.Exit(ExitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
