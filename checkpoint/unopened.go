package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// Unopened holds the locks of a PRD whose session is not open. It is for operations that
// replace, remove or repair a session, which may be damaged. Open turns it into a Session;
// otherwise the caller must close it.
type Unopened struct {
	store *Store
	prd   string
	locks *locks
}

// LockUnopened takes the locks of a PRD as Lock does, and reads nothing of its session.
func (s *Store) LockUnopened(ctx context.Context, prd string) (*Unopened, error) {
	if err := s.reader.CheckID(prd); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", prd, err)
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return nil, err
	}
	return &Unopened{s, prd, l}, nil
}

// EndOrphans ends the processes that a killed runner of the session left running. It
// identifies them by the readable part of the journal, since the session may be damaged.
func (u *Unopened) EndOrphans(ctx context.Context) error {
	note, err := disk.ReadNote(u.store.fs, u.store.layout.LockPath(u.prd))
	if err != nil {
		return err
	}
	f := journal.NewFold()
	_, damage := u.store.reader.Replay(u.prd, f.Apply)
	if f.State != nil && f.State.Session == "" { // a newer version began the session
		f.State = nil
	}
	_, err = u.store.endOrphans(ctx, f.State, note != nil || damage != nil)
	return err
}

// FinishInterrupted completes an archive, a deletion or an import that was cut short.
func (u *Unopened) FinishInterrupted() error { return u.store.mover(u.prd).finish() }

// SetNote writes a note into the lock file that names the holder. While it is there, the
// next owner recovers the session as after a kill.
func (u *Unopened) SetNote(by state.Actor) error {
	holder := disk.NewHolder(by, u.store.Now())
	return disk.WriteNote(u.store.fs, u.store.layout.LockPath(u.prd), &holder)
}

// ClearNote removes the note from the lock file.
func (u *Unopened) ClearNote() error {
	return disk.WriteNote(u.store.fs, u.store.layout.LockPath(u.prd), nil)
}

// Mend repairs the end of the journal, and keeps the incomplete lines that it cuts off.
func (u *Unopened) Mend() error {
	r := &recovery{store: u.store, prd: u.prd}
	if err := r.examine(); err != nil {
		return err
	}
	log, err := r.mendJournal()
	if err != nil {
		return err
	}
	return log.Close()
}

// Replace makes the session in dir, a directory in the trash, the current session of the
// PRD. It archives the current session unless the other one continues it, and returns the
// directory of the archived session, "" if there is none. After a crash the next owner
// completes the replacement.
func (u *Unopened) Replace(dir string) (archived string, err error) {
	layout := &u.store.layout
	if err := layout.Move(u.prd, dir, layout.ImportingPath(u.prd)); err != nil {
		return "", err
	}
	archived, err = u.store.mover(u.prd).finishImport()
	if err == nil && archived != "" { // the unfinished work of its owner was archived, too
		err = u.ClearNote()
	}
	return archived, err
}

// StartOver replaces the journal by one that begins with the session's state, after
// convert has changed that. The old journal stays under another name in the session's
// directory. StartOver returns that name. It verifies that the new journal gives the same
// state.
func (u *Unopened) StartOver(by state.Actor, convert func(*state.State)) (kept string, err error) {
	r := &recovery{store: u.store, prd: u.prd}
	log, err := r.openJournal(disk.NewHolder(by, u.store.Now()))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	st := r.fold.State
	if st == nil {
		return "", ErrNoSession
	}
	kept = segmentName(r.tail)
	convert(st)
	c := &state.Commit{Seq: r.tail.Seq, Time: st.UpdatedAt, State: st, Prev: r.tail.Sum}
	line, err := journal.NewEncoder().Line(c)
	if err == nil {
		err = journal.CheckSize(c, line)
	}
	if err != nil {
		return "", err
	}
	want, err := state.EncodeJSON(st)
	if err != nil {
		return "", err
	}
	if err := r.beginAnew(log, c, slices.Clone(line)); err != nil {
		return "", err
	}
	again := journal.NewFold()
	if _, err := u.store.reader.Replay(u.prd, again.Apply); err != nil {
		return "", fmt.Errorf("verify what was written: %w", err)
	}
	got, err := state.EncodeJSON(again.State)
	if err == nil && string(got) != string(want) {
		err = errors.New("verify what was written: it folds into another state")
	}
	return kept, err
}

// Open opens the session, which keeps the locks. If it fails, the caller still has to
// close u.
func (u *Unopened) Open(by state.Actor) (*Session, error) {
	x, err := u.store.openSession(u.prd, disk.NewHolder(by, u.store.Now()))
	if err != nil {
		return nil, err
	}
	x.locks, u.locks = u.locks, nil
	return x, nil
}

// Close releases the locks, unless Open has handed them to a Session.
func (u *Unopened) Close() error {
	if u.locks == nil {
		return nil
	}
	return u.locks.release()
}
