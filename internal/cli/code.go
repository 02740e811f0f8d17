package cli

import (
	"errors"
	"strings"

	"treeline/internal/measure/record"
)

// codeError is an error with the exit code that it ends the process with.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }
func (e codeError) ExitCode() int { return e.code }

// usageError is a mistake in the command line.
func usageError(text string) error { return codeError{2, errors.New(text)} }

// invalidResult is a measurement that must not be used.
func invalidResult(warnings []record.Warning) error {
	var why []string
	for _, w := range warnings {
		if w.Invalidates() {
			why = append(why, w.Code+": "+w.Text)
		}
	}
	return codeError{4, errors.New("the result is invalid: " + strings.Join(why, "; "))}
}
