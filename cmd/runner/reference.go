package main

import (
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
)

// referenceHint adds to the error of a reference where to find the right one.
func referenceHint(prd string, err error) error {
	if errors.Is(err, checkpoint.ErrNoCheckpoint) || isA[*checkpoint.AmbiguousError](err) {
		return withHint(&usageError{err: err}, fmt.Sprintf("`runner checkpoint list %s` lists them", prd))
	}
	return err
}

// archivedHint adds to the error of an id that nothing of the current session
// has in which archived one it lies: no command goes back to that, and what was
// printed while that session was the current one may still be typed.
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
				fmt.Sprintf("`runner checkpoint list %s --all` shows it, and `runner checkpoint validate %[1]s %s` whether it is whole", prd, ref.ID))
		}
	}
	return err
}
