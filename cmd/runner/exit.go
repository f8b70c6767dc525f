package main

import (
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	saved "prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/checkpoints"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/doctor"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/logs"
	"prdrunner/cmd/runner/lsp"
	"prdrunner/cmd/runner/safety"
	"prdrunner/cmd/runner/watch"
	"prdrunner/runner"
	"prdrunner/runner/protect"
)

// The exit codes of runner.
const (
	exitComplete        = 0
	exitFailed          = runner.ExitFailed
	exitUsage           = 2
	exitPaused          = runner.ExitPaused
	exitLocked          = 4
	exitDamaged         = 5
	exitAlreadyComplete = 6
	exitInterrupted     = 130
	exitQuit            = 131
	exitTerminated      = 143
)

// exitCodeMeaning is one row of the table in `runner --help` and README.md.
type exitCodeMeaning struct {
	code    int
	meaning string
}

func exitCodeTable() []exitCodeMeaning {
	return []exitCodeMeaning{
		{exitComplete, "success: the session is complete, or the command has done what was asked"},
		{exitFailed, "a workstream or gate failed"},
		{exitUsage, "usage, configuration or pipeline is invalid, a name is not found, or you declined"},
		{exitPaused, "paused: waiting for a person"},
		{exitLocked, "locked by another runner"},
		{exitDamaged, "state is damaged or cannot be read or written, or resuming needs a decision"},
		{exitAlreadyComplete, "already complete, nothing to do (only with --resume)"},
		{exitInterrupted, "interrupted (Ctrl+C)"},
		{exitQuit, "stopped at once (Ctrl+\\)"},
		{exitTerminated, "terminated (SIGTERM, or SIGHUP when its terminal goes away)"},
	}
}

// errWouldChange reports that `runner fmt --check` found files to format. It has printed
// their names.
var errWouldChange = errors.New("files are not formatted")

// endedError reports how a run ended that did not complete. The view has already shown the
// ending, so nothing more is printed.
type endedError struct {
	status state.Status
	signal string // that interrupted the run, "" if none did
}

func (e *endedError) Error() string {
	if e.signal != "" {
		return "the run was interrupted by " + e.signal
	}
	return "the run ended " + string(e.status)
}

// exitCode returns the exit code for an error. It is the only place where an error becomes
// an exit code.
func exitCode(err error) int {
	if code, known := knownCode(err); known {
		return code
	}
	return exitDamaged // an error of the operating system; no work has failed
}

// knownCode returns the exit code for an error, and reports whether this program knows the
// error.
func knownCode(err error) (code int, known bool) {
	var ended *endedError
	var early *runner.InterruptedError
	var watched *watch.EndedError
	var unwell *doctor.Error
	switch {
	case err == nil:
		return exitComplete, true
	case errors.As(err, &ended):
		return endedCode(ended), true
	case errors.As(err, &watched):
		return endedCode(&endedError{status: watched.Status}), true
	case errors.As(err, &early):
		return endedCode(&endedError{signal: early.Signal}), true
	case errors.Is(err, errWouldChange), errors.Is(err, logs.ErrNoMatch), errors.Is(err, lsp.ErrAway): // the protocol asks for 1 in the last case
		return exitFailed, true
	case errors.As(err, &unwell) && unwell.OnlyConfig:
		return exitUsage, true
	case unwell != nil:
		return exitDamaged, true
	case errors.Is(err, begin.ErrAlreadyComplete):
		return exitAlreadyComplete, true
	case errors.Is(err, begin.ErrUnwritten):
		return exitPaused, true
	case advice.IsA[*checkpoint.LockedError](err), errors.Is(err, checkpoint.ErrLockLost):
		return exitLocked, true
	case advice.IsA[*state.DamagedError](err), advice.IsA[*state.VersionError](err), advice.IsA[*disk.DirError](err),
		advice.IsA[*checkpoint.UntrustedError](err), advice.IsA[*checkpoint.PoisonedError](err), advice.IsA[*rollback.Error](err), advice.IsA[*workspace.MissingError](err), advice.IsA[*workspace.VersionError](err),
		advice.IsA[*transfer.LackingError](err), advice.IsA[*bundle.DamagedError](err), advice.IsA[*bundle.VersionError](err), advice.IsA[*bundle.LimitError](err),
		errors.Is(err, checkpoints.ErrDamageShown), errors.Is(err, safety.ErrNotWhole), advice.IsA[*safety.UncopiedError](err), advice.IsA[*safety.OtherSessionError](err), advice.IsA[*safety.ProtectingError](err), advice.IsA[*saved.NewerWorkError](err), advice.IsA[*saved.UnfinishedRestoreError](err), advice.IsA[*protect.UnfinishedError](err), advice.IsA[*checkpoint.UnfinishedRollbackError](err), advice.IsA[*checkpoint.UnfinishedReturnError](err), advice.IsA[*rollback.HeadMovedError](err), advice.IsA[*change.KeptEditsError](err),
		errors.Is(err, checkpoint.ErrUnfinishedImport), errors.Is(err, checkpoint.ErrNotRegular), errors.Is(err, checkpoint.ErrTooLong),
		advice.IsA[*runner.StaleError](err), advice.IsA[*runner.BranchGoneError](err), errors.Is(err, runner.ErrConflict), errors.Is(err, runner.ErrPlanOutdated):
		return exitDamaged, true
	case advice.IsA[*advice.UsageError](err), advice.IsA[*config.Error](err), advice.IsA[*config.AmbiguousError](err), advice.IsA[*load.NotFoundError](err), advice.IsA[*checkpoint.RefusedError](err), advice.IsA[*disk.IDError](err),
		advice.IsA[*git.StateError](err), advice.IsA[*workspace.ObstructedError](err),
		errors.Is(err, load.ErrDiagnosed), errors.Is(err, runner.ErrDeclined),
		errors.Is(err, checkpoint.ErrNoSession), errors.Is(err, state.ErrNoCheckpoint):
		return exitUsage, true
	}
	return 0, false
}

func endedCode(e *endedError) int {
	switch {
	case e.signal == "SIGTERM", e.signal == "SIGHUP":
		return exitTerminated
	case e.signal == "SIGQUIT":
		return exitQuit
	case e.signal != "":
		return exitInterrupted
	}
	switch e.status {
	case state.StatusComplete:
		return exitComplete
	case state.StatusPaused:
		return exitPaused
	case state.StatusFailed, state.StatusInProgress, state.StatusInitialized:
		return exitFailed
	}
	return exitFailed
}

// silent reports whether an error needs no message: it is nil, or everything about it has
// been shown.
func silent(err error) bool {
	var ended *endedError
	return err == nil || errors.As(err, &ended) || advice.IsA[*watch.EndedError](err) || advice.IsA[*doctor.Error](err) ||
		errors.Is(err, load.ErrDiagnosed) || errors.Is(err, errWouldChange) || errors.Is(err, logs.ErrNoMatch) || errors.Is(err, checkpoints.ErrDamageShown) || errors.Is(err, safety.ErrNotWhole)
}

// reportError writes an error and its hint to standard error. It adapts the commands in
// both to this workspace.
func reportError(env *cli.Environment, err error) {
	if silent(err) {
		return
	}
	fmt.Fprintln(env.Stderr, "Error:", env.Localize(err.Error()))
	if hint := advice.Of(env.CommandLine, env.Actor().User, err); hint != "" {
		fmt.Fprintln(env.Stderr, "hint:", hint)
	}
}

// asUsageError converts an error that cobra found in a command line to a usage error.
func asUsageError(err error) error {
	var usage *advice.UsageError
	if errors.As(err, &usage) {
		return err
	}
	message := err.Error()
	if group, found := strings.CutPrefix(message, "if any flags in the group ["); found {
		names, _, _ := strings.Cut(group, "]")
		flags := "--" + strings.ReplaceAll(names, " ", ", --")
		return advice.Usagef("%s cannot be combined", flags)
	}
	if group, found := strings.CutPrefix(message, "at least one of the flags in the group ["); found {
		names, _, _ := strings.Cut(group, "]")
		return advice.Usagef("one of --%s is needed", strings.ReplaceAll(names, " ", ", --"))
	}
	return &advice.UsageError{Err: err}
}
