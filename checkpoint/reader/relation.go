package reader

import (
	"errors"
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// RelationTo returns how a session that is to be imported relates to the current session of
// the PRD. It also returns that session's state, or the error that makes it unreadable. A
// session of a newer version fails RelationTo, since Runner must not change it.
func (r Reader) RelationTo(prd string, comes *journal.Lineage) (journal.Relation, *state.State, error, error) {
	current, err := r.Current(prd)
	var damaged *state.DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return journal.RelationNew, nil, nil, nil
	case errors.As(err, &damaged):
		return journal.RelationDamaged, nil, damaged, nil
	case err != nil:
		return "", nil, nil, err
	case current.State == nil:
		return journal.RelationForeign, nil, nil, nil // a document written by hand
	}
	here, state, err := r.CurrentSession(prd).Lineage()
	if err == nil && here == nil {
		err = fs.ErrNotExist // the session was archived meanwhile
	}
	if err != nil {
		return "", nil, nil, fmt.Errorf("read the session of %s: %w", prd, err)
	}
	relation := journal.Relate(comes, here)
	if relation == journal.RelationForward && current.RescuePath != "" {
		relation = journal.RelationDiverged // the rescued commits belong to the session and are not in the archive
	}
	return relation, state, nil, nil
}
