package checkpoint

import (
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
)

// ErrNoSession says that a PRD has neither a journal nor a document.
var ErrNoSession = reader.ErrNoSession

// ErrLockLost says that another runner may have taken this runner's lock, so that this one
// stopped. It is wrapped in a *PoisonedError.
var ErrLockLost = store.ErrLockLost

// ErrJournalChanged says that another program moved, deleted, replaced or wrote to this
// runner's journal, so that the runner stopped. It is wrapped in a *PoisonedError.
var ErrJournalChanged = store.ErrLogChanged

// ErrNotRegular says that the path of a file of the state holds something that is not a
// regular file.
var ErrNotRegular = store.ErrNotRegular

// ErrTooLong says that a file of the state is longer than any valid one.
var ErrTooLong = store.ErrTooLong

// LockedError says that another process works on a PRD.
type LockedError struct {
	PRD    string      // "" for the lock over the whole state directory
	Holder disk.Holder // zero if the holder is not known

	// Stopped says that the holder's process is stopped, as by Ctrl+Z or SIGSTOP, and
	// does not answer requests.
	Stopped bool
}

func (e *LockedError) Error() string {
	what := e.PRD
	if what == "" {
		what = "the state directory"
	}
	if e.Holder.Host == "" {
		return what + " is locked by another runner"
	}
	said := fmt.Sprintf("%s is locked by another runner: host %s, pid %d, since %s",
		what, e.Holder.Host, e.Holder.PID, e.Holder.Since.Format(time.RFC3339))
	if e.Stopped {
		said += ", which is stopped and does not answer"
	}
	return said
}

// UntrustedError says that git tracks files of a PRD's state, so that they may have come
// with the repository. Runner has changed nothing.
type UntrustedError struct {
	PRD     string
	Path    string // one of the tracked files
	Tracked int    // the number of tracked files
	Current bool   // there is a current session, which can be adopted
}

func (e *UntrustedError) Error() string {
	files := e.Path
	if e.Tracked > 1 {
		files = fmt.Sprintf("%s and %d more", e.Path, e.Tracked-1)
	}
	return fmt.Sprintf("the state of %s is not trusted: git tracks it (%s), so that its approvals and results may have come with the repository", e.PRD, files)
}

// PoisonedError says that events could not be made durable, so that Runner writes nothing
// more. Rescue is the path of the copy with the events that were not saved, "" if there
// were none, or the copy could not be written either.
type PoisonedError struct {
	Rescue string
	Err    error
}

func (e *PoisonedError) Error() string {
	if e.Rescue == "" {
		return fmt.Sprintf("the journal can take nothing more: %v", e.Err)
	}
	return fmt.Sprintf("the journal can take nothing more: %v; what was not saved is in %s", e.Err, e.Rescue)
}

func (e *PoisonedError) Unwrap() error { return e.Err }

// DerivedError says that a derived file could not be written. The journal is complete, and
// the caller can try again to write the file.
type DerivedError struct {
	Path string
	Err  error
}

func (e *DerivedError) Error() string { return fmt.Sprintf("write %s: %v", e.Path, e.Err) }

func (e *DerivedError) Unwrap() error { return e.Err }

// RefusedError is the owner's refusal of a request.
type RefusedError struct {
	Message string
}

func (e *RefusedError) Error() string { return e.Message }

// UnfinishedRollbackError is returned when an interrupted rollback must be finished first.
type UnfinishedRollbackError struct {
	To    string // the checkpoint to go back to
	Scope state.RollbackScope
}

func (e *UnfinishedRollbackError) Error() string {
	return fmt.Sprintf("a rollback to %s is not finished", e.To)
}

// UnfinishedRollback returns the *UnfinishedRollbackError of a session whose rollback was
// interrupted.
func UnfinishedRollback(s *state.State) error {
	return &UnfinishedRollbackError{To: s.Rollback.To, Scope: s.Rollback.Scope}
}

// UnfinishedReturnError is returned when results of work trees must be put into the workspace
// first, or taken back, because a killed run may have put some of their files there.
type UnfinishedReturnError struct{ Workstreams []string }

func (e *UnfinishedReturnError) Error() string {
	return "the return of the result of " + text.Enumerate(e.Workstreams) + " into the workspace was cut short"
}

// CheckReturned returns an *UnfinishedReturnError if the return of a result may have been cut
// short. s may be nil.
func CheckReturned(s *state.State) error {
	var names []string
	for _, w := range s.Returning() {
		names = append(names, w.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return &UnfinishedReturnError{names}
}

// ErrUnfinishedImport reports that not all files of an imported session were restored.
var ErrUnfinishedImport = errors.New("an import is not finished")
