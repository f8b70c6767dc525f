package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/state"
)

// EndOrphans ends every process of a session that is still alive on this machine although
// its runner has ended. When all have ended, it returns a description of each. logs is the
// directory of their output. If it returns an error, some processes may still be alive.
type EndOrphans func(ctx context.Context, session, logs string) ([]state.Process, error)

// endOrphans ends the processes that a killed runner left running, before the session is
// captured, rolled back or archived: such a process would go on writing to the files while
// new processes start. A clean end of the last owner does not prove a clean end of the
// last runner, since an approval may have owned the session in between.
func (s *Store) endOrphans(ctx context.Context, st *state.State, unclean bool) ([]state.Process, error) {
	if s.o.EndOrphans == nil || st == nil || !unclean && st.RunningAt == nil {
		return nil, nil
	}
	ended, err := s.o.EndOrphans(ctx, st.Session, s.layout.LogsDir(st.PRD))
	if err != nil {
		return ended, fmt.Errorf("end what a killed run of %s left running: %w", st.PRD, err)
	}
	return ended, nil
}

// Orphans returns the processes that a killed runner left running, and that Lock ended.
func (x *Session) Orphans() []state.Process { return x.orphans }
