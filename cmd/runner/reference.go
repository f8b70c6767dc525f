package main

import (
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// referenceHint adds to the error of a reference where to find the right one.
func referenceHint(prd string, err error) error {
	if errors.Is(err, state.ErrNoCheckpoint) || isA[*checkpoint.AmbiguousError](err) {
		return withHint(&usageError{err: err}, fmt.Sprintf("`runner checkpoint list %s` lists them", prd))
	}
	return err
}

// archivedHint adds to the error of an id that nothing of the current session
// has in which archived one it lies: commands go back only to those of the
// current one, and what was printed while that one was it may still be typed.
func archivedHint(env *environment, store *checkpoint.Store, prd string, err error) error {
	var unknown *checkpoint.UnknownCheckpointError
	if !errors.As(err, &unknown) {
		return err
	}
	sessions, unread := store.Sessions(prd)
	if unread != nil {
		return err
	}
	for _, at := range slices.Backward(sessions) {
		if at.State == nil || at.Place == checkpoint.PlaceCurrent {
			continue
		}
		if ref, missed := at.State.FindCheckpoint(unknown.Ref); missed == nil {
			return withHint(
				fmt.Errorf("%w in the current session: %s is of one that is archived in %s", err, ref.ID, env.display(at.Dir)),
				fmt.Sprintf("`runner checkpoint export %s --session %s -o FILE` and then `runner checkpoint import FILE --replace` make that session the current one again, and archive the one that is", prd, at.State.Session))
		}
	}
	return err
}
