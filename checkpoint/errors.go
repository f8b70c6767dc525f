package checkpoint

import (
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint/store"
)

// ErrNoSession says that a PRD has neither a journal nor a document.
var ErrNoSession = errors.New("no session")

// ErrLockLost says that another runner may have taken the lock of this one,
// which stopped for that reason. It comes within a *PoisonedError.
var ErrLockLost = store.ErrLockLost

// ErrJournalChanged says that somebody else moved, deleted, replaced or wrote to
// the journal of this runner, which stopped for that reason. It comes within a
// *PoisonedError.
var ErrJournalChanged = store.ErrLogChanged

// ErrNotRegular says that something else is in the place of a file of the state.
var ErrNotRegular = store.ErrNotRegular

// ErrTooLong says that a file of the state is longer than any is.
var ErrTooLong = store.ErrTooLong

// LockedError says who else works on a PRD.
type LockedError struct {
	PRD    string // "" for the lock over the whole state directory
	Holder Holder // zero when the holder's note cannot be read

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

// UntrustedError says that git tracks files of a PRD's state, so that somebody else
// may have made them. Nothing was changed.
type UntrustedError struct {
	PRD     string
	Path    string // of one of the files
	Tracked int    // how many they are
	Current bool   // there is a current session, which can be adopted
}

func (e *UntrustedError) Error() string {
	files := e.Path
	if e.Tracked > 1 {
		files = fmt.Sprintf("%s and %d more", e.Path, e.Tracked-1)
	}
	return fmt.Sprintf("the state of %s is not trusted: git tracks it (%s), so that its approvals and results may have come with the repository", e.PRD, files)
}

// PoisonedError says that something could not be made durable, so that nothing
// more is written. Rescue is where what was not saved lies, "" if even that
// could not be written.
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

// DerivedError says that a derived file could not be written. The journal is
// whole, and writing can be tried again.
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
