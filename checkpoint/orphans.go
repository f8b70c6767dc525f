package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// EndOrphans ends every process of a session that is still alive on this
// machine, though the runner that started it is gone, and returns a description
// of each once all of them are. Logs is the directory that their output went
// into. An error says that some may be left.
type EndOrphans func(ctx context.Context, session, logs string) ([]state.Process, error)

// endOrphans ends what a killed runner left running, before its session is
// captured, taken back or put away: whatever was running would go on to write
// into the files, beside what starts next. That the last owner ended well does
// not mean that the last runner did: an approval may have come between.
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

// endOrphansUnopened is endOrphans for who puts a session away without opening
// it, since it may be damaged: then as much of its journal tells whose they are
// as can be read. The caller holds the locks.
func (s *Store) endOrphansUnopened(ctx context.Context, prd string) error {
	note, err := readNote(s.fs, s.layout.LockPath(prd))
	if err != nil {
		return err
	}
	f := journal.NewFold()
	_, damage := s.replay(prd, f.Apply)
	if f.State != nil && f.State.Session == "" { // a newer version began it
		f.State = nil
	}
	_, err = s.endOrphans(ctx, f.State, note != nil || damage != nil)
	return err
}

// Orphans returns the processes that a killed runner had left running, and that
// were ended when the session was locked.
func (x *Session) Orphans() []state.Process { return x.orphans }
