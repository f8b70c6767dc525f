package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/cmd/runner/advice"
)

// TestDamageOutranksASignal gives fromSignal the errors of interrupted commands. It must
// return true only if the signal may be the reason: not for damage that the command left,
// for mistakes of the user, or for an error that has reported the signal already.
func TestDamageOutranksASignal(t *testing.T) {
	t.Parallel()
	canceled := fmt.Errorf("read a: %w", context.Canceled)
	undone := &rollback.Error{Err: canceled, Undone: true}
	left := &rollback.Error{Err: canceled, UndoFail: errors.New("input/output error")}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"given up":                       {canceled, true},
		"taken back":                     {undone, true},
		"git got the signal":             {errors.New("run git: ended by a signal"), true},
		"files of neither moment":        {left, false},
		"a journal that fails":           {errors.Join(canceled, &checkpoint.PoisonedError{Err: errors.New("input/output error")}), false},
		"a mistake in the command line":  {advice.Usagef("no such flag"), false},
		"a session that is not there":    {checkpoint.ErrNoSession, false},
		"all was done":                   {nil, false},
		"a run, which has said it":       {&endedError{signal: "SIGINT"}, false},
		"damage, and nothing was undone": {errors.Join(left, canceled), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fromSignal(tt.err); got != tt.want {
				t.Errorf("fromSignal returned %v for: %v", got, tt.err)
			}
		})
	}
}

// TestUnwound checks that the message about an interruption says what the command was
// doing, without the text of context.Canceled.
func TestUnwound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{context.Canceled, ""},
		{fmt.Errorf("read a: %w", context.Canceled), " (read a)"},
		{errors.Join(fmt.Errorf("run git: %w: git: ended by a signal", context.Canceled), errors.New("b")), " (run git: git: ended by a signal; b)"},
	} {
		if got := unwound(tt.err); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}
