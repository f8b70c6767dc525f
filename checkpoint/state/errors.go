package state

import (
	"errors"
	"fmt"
)

// ErrNoCheckpoint says that a reference names no checkpoint.
var ErrNoCheckpoint = errors.New("no such checkpoint")

// UnknownCheckpointError says that no checkpoint has an id that is, or begins with, Ref.
// It is an ErrNoCheckpoint.
type UnknownCheckpointError struct{ Ref string }

func (e *UnknownCheckpointError) Error() string { return ErrNoCheckpoint.Error() }

func (e *UnknownCheckpointError) Unwrap() error { return ErrNoCheckpoint }

// DamagedError says which file is damaged and what the user can do. Nothing was changed.
type DamagedError struct {
	Path   string
	Line   int // 0: the file as a whole
	Detail string
	Remedy string // a command, or what to do by hand
	// Lost is set if nothing is left from which a journal could be rebuilt.
	Lost bool
	// Checkpoint is the checkpoint that cannot be read because of the damage; "" if the
	// damage does not concern one checkpoint.
	Checkpoint string
}

func (e *DamagedError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at = fmt.Sprintf("%s, line %d", e.Path, e.Line)
	}
	return fmt.Sprintf("%s is damaged: %s; %s", at, e.Detail, e.Remedy)
}

// VersionError says that a newer version of Runner wrote a file. The file was not changed.
type VersionError struct {
	Path    string
	Version string // the unknown format version or event kind
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("read %s: it was written by a newer version (%s is unknown here); upgrade runner", e.Path, e.Version)
}

// AbandonRemedy says what a user can do about a damaged journal.
func AbandonRemedy(prd string) string {
	return fmt.Sprintf("nothing was changed; `runner checkpoint rebuild %[1]s --journal` begins it anew from what is proved, `runner abandon %[1]s` sets all of it aside under failed/", prd)
}

// LostRemedy says what a user can do about a session from which nothing can be rebuilt.
func LostRemedy(prd string) string {
	return fmt.Sprintf("nothing was changed; nothing is left either that it could be begun anew from: put back a copy of its directory, or `runner abandon %[1]s` sets what is left aside under failed/, and the next build begins a new session", prd)
}
