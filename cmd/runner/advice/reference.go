package advice

import (
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// UnknownReference adds to the error of an unknown or ambiguous reference the command that
// lists the checkpoints.
func UnknownReference(prd string, err error) error {
	if errors.Is(err, state.ErrNoCheckpoint) || IsA[*state.AmbiguousError](err) {
		return With(&UsageError{Err: err}, fmt.Sprintf("`runner checkpoint list %s` lists them", prd))
	}
	return err
}

// Archived adds to the error of an unknown checkpoint the archived session that has
// the checkpoint, if there is one. Commands go back only to checkpoints of the current
// session, but the user may still type an id that was printed while the archived session
// was current.
func Archived(cmdline CommandLine, store *checkpoint.Store, prd string, err error) error {
	var unknown *state.UnknownCheckpointError
	if !errors.As(err, &unknown) {
		return err
	}
	sessions, unread := store.Reader().Sessions(prd)
	if unread != nil {
		return err
	}
	for _, at := range slices.Backward(sessions) {
		if at.State == nil || at.Place == disk.PlaceCurrent {
			continue
		}
		if ref, missed := at.State.FindCheckpoint(unknown.Ref); missed == nil {
			return With(
				fmt.Errorf("%w in the current session: %s is of one that is archived in %s", err, ref.ID, cmdline.Display(at.Dir)),
				fmt.Sprintf("`runner checkpoint export %s --session %s -o FILE` and then `runner checkpoint import FILE --replace` make that session the current one again, and archive the one that is", prd, at.State.Session))
		}
	}
	return err
}

// HandWritten returns the error of commands that need a session, if there is only a
// document written by hand.
func HandWritten(prd string) error {
	return With(Usagef("%s has no session, only a document written by hand", prd),
		fmt.Sprintf("`runner build %s --resume` continues from it", prd))
}
