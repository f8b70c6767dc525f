package checkpoint

import (
	"errors"

	"prdrunner/checkpoint/state"
)

// Protecting is a safety checkpoint that a session still needs.
type Protecting struct {
	PRD string
	state.Protection
	Due bool // the next command that changes the session rolls back to it
}

// Protecting returns the safety checkpoints that may be rolled back to, by ID: those of
// workstreams whose changes are neither committed nor kept nor rolled back. It takes no
// lock. Sessions that can't be read are passed over; their errors are joined.
func (s *Store) Protecting() (map[string]Protecting, error) {
	prds, err := s.reader.PRDs()
	if err != nil {
		return nil, err
	}
	needed := map[string]Protecting{}
	var unread error
	for _, prd := range prds {
		snap, err := s.Load(prd)
		if err != nil || snap.State == nil {
			if !errors.Is(err, ErrNoSession) {
				unread = errors.Join(unread, err)
			}
			continue
		}
		for _, p := range snap.State.Protections {
			if !p.RolledBack {
				needed[p.Checkpoint] = Protecting{PRD: prd, Protection: p}
			}
		}
		for _, p := range snap.State.RollbacksDue() {
			needed[p.Checkpoint] = Protecting{PRD: prd, Protection: p, Due: true}
		}
	}
	return needed, unread
}
