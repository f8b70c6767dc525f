// Package advice tells the user what to do: which mistake the command line has, what helps
// against an error, and which command to type next.
//
// An error with a hint belongs here, and a command that several views or errors name. What
// an error means for the exit code does not: cmd/runner decides that in one switch.
// Nothing here prints to a stream, asks, takes a lock or knows a flag. Where to begin:
//
//   - With adds a hint to an error, and Usagef reports a mistake in the command line;
//   - Of returns the hint of any error, also of those of the operating system;
//   - Suggestion is a command to type next; Resume and Abandon suggest the usual ones;
//   - CommandLine writes commands and paths as the user types them for this workspace;
//   - Locked, Rollback, UnknownReference and Archived know what helps against the errors of
//     a locked session, a refused rollback and an unknown checkpoint.
package advice

import (
	"errors"
	"fmt"
)

// IsA reports whether an error of type E is in the chain.
func IsA[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

// hintError is an error with a hint: what the user can do about it.
type hintError struct {
	err  error
	hint string
}

// With adds a hint to an error: usually the command to type next.
func With(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err: err, hint: hint}
}

func (e *hintError) Error() string { return e.err.Error() }

func (e *hintError) Unwrap() error { return e.err }

// UsageError is a mistake in the command line.
type UsageError struct{ Err error }

// Usagef returns a UsageError. The format may contain %w, as in fmt.Errorf.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }
