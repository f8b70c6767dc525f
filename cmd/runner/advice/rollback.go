package advice

import (
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
)

// Rollback adds to the error of a refused rollback what to type next.
func Rollback(prd string, err error) error { return ForcedRollback(prd, "--force", err) }

// UnfinishedReturn adds to the error of a command what finishes the return of results into the
// workspace.
func UnfinishedReturn(prd string, err error) error {
	return With(err, fmt.Sprintf("`runner build %s --resume` finishes it and continues; `runner abandon %s` takes it back, and gives the session up", prd, prd))
}

// UntakenResult adds to the error of a command that leaves the session, and so takes results back,
// what to do about a result that it could not take back.
func UntakenResult(prd string, err error) error {
	return With(err, fmt.Sprintf("mend what it names, and repeat the command; or let `runner build %s --resume` put the result into the workspace instead, and continue", prd))
}

// ForcedRollback is Rollback with the command that rolls back despite the refusal.
func ForcedRollback(prd, force string, err error) error {
	var gone *rollback.EarlierGoneError
	var missing *workspace.MissingError
	var branch *rollback.BranchError
	var moved *rollback.HeadMovedError
	var unfinished *checkpoint.UnfinishedRollbackError
	var pushed *rollback.PushedError
	switch {
	case errors.As(err, &missing):
		return With(err, force+" leaves these out and restores the rest; `runner checkpoint validate "+prd+" --deep` looks at all checkpoints")
	case IsA[*workspace.ObstructedError](err):
		return With(err, "move away what is in the way, or unmount it, and repeat the command; "+force+" leaves these files out and restores the rest")
	case errors.As(err, &branch):
		return With(&UsageError{Err: err}, "`"+checkOut(branch.Of, branch.Commit)+"` first: only the branch that is checked out is ever reset")
	case errors.As(err, &moved):
		return With(err, movedHint(prd, moved))
	case IsA[*rollback.CommitAbsentError](err):
		return With(&UsageError{Err: err}, force+" restores the files and leaves the branch where it is, --state-only leaves both; or git fetch the commit from the repository that has it")
	case errors.As(err, &gone):
		return With(err, strings.Join(GoneRemedies(prd, gone), "; "))
	case errors.As(err, &pushed):
		return With(&UsageError{Err: err}, fmt.Sprintf("others may have them; `runner checkpoint rollback %s %s --force` discards them on this branch anyway", prd, pushed.To))
	case errors.Is(err, rollback.ErrForward):
		return With(&UsageError{Err: err}, fmt.Sprintf("undo that rollback first: `runner checkpoint list %s` shows its pre_rollback checkpoint", prd))
	case errors.As(err, &unfinished):
		return With(err, fmt.Sprintf("%s finishes it, with --dry-run it shows what happens to the files; `runner build %s --resume` finishes it and continues", rollbackHint(prd, unfinished.To, unfinished.Scope), prd))
	case IsA[*checkpoint.UnfinishedReturnError](err):
		return UnfinishedReturn(prd, err)
	case IsA[*state.DamagedError](err):
		return With(err, fmt.Sprintf("`runner checkpoint validate %s` names the valid ones", prd))
	}
	return UnknownReference(prd, Locked(prd, err))
}

// GoneRemedies returns the commands to type instead of a rollback that is refused because
// the state that belongs to the checkpoint's files is gone.
func GoneRemedies(prd string, gone *rollback.EarlierGoneError) []string {
	var remedies []string
	if gone.Nearest != "" {
		remedies = append(remedies, fmt.Sprintf("`runner checkpoint rollback %s %s` goes to the nearest earlier checkpoint whose state and files belong together", prd, gone.Nearest))
	}
	return append(remedies, fmt.Sprintf("`runner checkpoint rollback %s %s --state-only` restores only the state of the checkpoint", prd, gone.To))
}

// checkOut returns the command that checks out a branch, or the commit if branch is "".
func checkOut(branch, commit string) string {
	if branch == "" {
		return "git checkout --detach " + commit
	}
	return "git checkout " + text.ShellWord(branch)
}

// rollbackHint returns the command that begins a rollback, and that finishes it if it was
// cut short, between backquotes.
func rollbackHint(prd, to string, scope state.RollbackScope) string {
	return "`runner " + RollbackCommand(prd, to, scope) + "`"
}

// RollbackCommand returns the command that rolls a session back to a checkpoint.
func RollbackCommand(prd, to string, scope state.RollbackScope) string {
	command := "checkpoint rollback " + prd + " " + to
	switch scope {
	case state.RollbackState:
		command += " --state-only"
	case state.RollbackFiles:
		command += " --files-only"
	case state.RollbackAll:
	}
	return command
}

// movedHint returns what the user can do if git is not at the branch and commit at which a
// rollback was cut short.
func movedHint(prd string, e *rollback.HeadMovedError) string {
	finish := rollbackHint(prd, e.To, e.Scope) + " finishes it"
	if e.On != e.Branch {
		return fmt.Sprintf("`%s`; then %s", checkOut(e.Branch, e.Commit), finish)
	}
	return fmt.Sprintf("`git branch NAME` keeps the current commits under a name, `git reset --soft %s` moves the branch back and leaves the files; then %s", e.Commit, finish)
}
