package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/doctor"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitComplete},
		{errors.New("anything else"), exitDamaged},
		{&fs.PathError{Err: fs.ErrPermission}, exitDamaged},
		{&endedError{status: state.StatusFailed}, exitFailed},
		{&endedError{status: state.StatusPaused}, exitPaused},
		{&endedError{status: state.StatusPaused, signal: "SIGINT"}, exitInterrupted},
		{&endedError{status: state.StatusPaused, signal: "SIGTERM"}, exitTerminated},
		{&endedError{status: state.StatusPaused, signal: "SIGHUP"}, exitTerminated},
		{load.ErrDiagnosed, exitUsage},
		{&config.Error{}, exitUsage},
		{&config.AmbiguousError{Files: []string{"runner.json"}}, exitUsage},
		{advice.Usagef("x"), exitUsage},
		{&load.NotFoundError{}, exitUsage},
		{runner.ErrDeclined, exitUsage},
		{checkpoint.ErrNoSession, exitUsage},
		{state.ErrNoCheckpoint, exitUsage},
		{&checkpoint.RefusedError{}, exitUsage},
		{&checkpoint.LockedError{}, exitLocked},
		{&checkpoint.PoisonedError{Err: checkpoint.ErrLockLost}, exitLocked},
		{&checkpoint.PoisonedError{}, exitDamaged},
		{&state.DamagedError{}, exitDamaged},
		{&state.VersionError{}, exitDamaged},
		{&disk.DirError{}, exitDamaged},
		{&runner.StaleError{}, exitDamaged},
		{runner.ErrConflict, exitDamaged},
		{runner.ErrPlanOutdated, exitDamaged},
		{begin.ErrAlreadyComplete, exitAlreadyComplete},
		{errWouldChange, exitFailed},
		{&doctor.Error{}, exitDamaged},
		{&doctor.Error{OnlyConfig: true}, exitUsage},
	}
	for _, test := range tests {
		wrapped := test.err
		if wrapped != nil {
			wrapped = advice.With(fmt.Errorf("while testing: %w", wrapped), "a hint")
		}
		for _, err := range []error{test.err, wrapped} {
			if got := exitCode(err); got != test.want {
				t.Errorf("%T %v: exit code %d instead of %d", err, err, got, test.want)
			}
		}
	}
}

func TestReportError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{load.ErrDiagnosed, ""},
		{&endedError{status: state.StatusFailed}, ""},
		{errors.New("no such thing"), "Error: no such thing\n"},
		{fmt.Errorf("outside: %w", advice.With(errors.New("inside"), "do this")), "Error: outside: inside\nhint: do this\n"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		reportError(&cli.Environment{Stderr: show.NewScreen(&out)}, test.err)
		if out.String() != test.want {
			t.Errorf("%v: printed %q instead of %q", test.err, out.String(), test.want)
		}
	}
}
