package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// errNoStart says that an event was added before the session was started.
var errNoStart = errors.New("there is no session yet")

// Session is the handle of a PRD's owner: the process that holds the PRD's lock. It is
// not safe for concurrent use. Its writer goroutine only appends lines to the journal
// and syncs them.
//
// A Session has two states. The live state includes every event that was added; derived
// files are written from it once all its events are durable. The state derived.base is
// older: no commit with a postponed checkpoint file precedes it, so that the file can
// still be made from it.
type Session struct {
	store  *Store
	prd    string
	holder disk.Holder
	locks  *locks

	writer     *writer
	commits    commits
	live       *journal.Fold
	acked      uint64 // Seq of the last line that is durable, 0 before Start
	flushAgain bool   // Flush was called while the writer was busy

	groups  groups
	derived *derived

	unclean    bool
	runs       bool            // a run was started or resumed in this Session
	late       bool            // Options.Late was told that derived files could not be written
	uncaptured bool            // the last capture failed
	missed     bool            // the last capture failed, and no event since then may have changed files
	captured   bool            // the last capture succeeded, and no event since then may have changed files
	announced  string          // ID of the checkpoint of the last capture, which the message of its commit on the branch names
	workTree   *state.WorkTree // for the next checkpoint; nil: git was not asked since the last one
	orphans    []state.Process // left by a killed runner, and ended when the session was locked
	bad        *PoisonedError
	isClosed   bool
}

func newSession(s *Store, prd string, holder disk.Holder, r *recovery, log store.Log) (*Session, error) {
	x := &Session{store: s, prd: prd, holder: holder, commits: newCommits(), unclean: r.unclean}
	x.derived = newDerived(s, prd, x.checkOwnership)
	x.writer = newWriter(log)
	if r.fold.State == nil {
		return x, nil
	}
	x.beginFrom(r.fold, r.tail.Seq, r.tail.Sum)
	if err := x.derived.recover(x.live.State); err != nil {
		return nil, errors.Join(err, x.writer.close())
	}
	return x, nil
}

// beginFrom sets the session's state to a fold, all of whose commits are durable.
func (x *Session) beginFrom(f *journal.Fold, seq uint64, sum string) {
	x.live, x.acked = f, seq
	x.commits.continueFrom(seq, sum)
	x.groups = newGroups(x.store.o.Policy.Retention, f.State.Checkpoints)
}

// State returns the fold of all events added so far, durable or not. It is nil before
// Start if the PRD has no session. The caller must not change it.
func (x *Session) State() *state.State {
	if x.live == nil {
		return nil
	}
	return x.live.State
}

// Store returns the store that the session was locked in.
func (x *Session) Store() *Store { return x.store }

// PRD returns the ID of the session's PRD.
func (x *Session) PRD() string { return x.prd }

// Unclean reports whether the last owner ended without releasing the lock properly.
func (x *Session) Unclean() bool { return x.unclean }

// Spans returns which artifacts the session has recorded, and during which commits each was
// current. The session must have a state.
func (x *Session) Spans() *journal.Spans { return x.live.Spans }

// Durable returns the sequence number of the last durable commit.
func (x *Session) Durable() uint64 { return x.acked }

// Start begins a new session, and archives the previous one. The new session is durable
// when Start returns. After a crash, one of the two is the current session.
func (x *Session) Start(e state.SessionStarted) error {
	if err := x.checkOwnership(); err != nil {
		return err
	}
	if e.FormatVersion == "" {
		e.FormatVersion = state.FormatVersion
	}
	if e.PRD == "" {
		e.PRD = x.prd
	}
	if e.From != nil {
		e.From = e.From.WithoutHistory()
	}
	c := state.Commit{Seq: e.FirstSeq(), Time: x.store.Now(), Events: []state.Event{e}, Prev: journal.Genesis}
	f := journal.NewOwnerFold()
	if err := f.Apply(c); err != nil {
		return fmt.Errorf("start a session of %s: %w", x.prd, err)
	}
	line, err := x.commits.encoder.Line(&c)
	if err == nil {
		err = journal.CheckSize(&c, line)
	}
	if err != nil {
		return fmt.Errorf("start a session of %s: %w", x.prd, err)
	}
	if err := x.writeFirstLine(slices.Clone(line)); err != nil {
		return err
	}
	x.beginFrom(f, c.Seq, c.Sum)
	x.runs = true
	x.derived.reset()
	x.derived.startFrom(x.live.State)
	return nil
}

// writeFirstLine replaces the journal with the first line of a new session, and archives
// the previous session.
func (x *Session) writeFirstLine(line []byte) error {
	if x.live != nil {
		_, err := x.retire(context.Background(), line)
		return err
	}
	if err := keepImported(&x.store.layout, x.prd); err != nil {
		return err
	}
	if err := x.writer.log.Replace(appendLines(noRecords, [][]byte{line})); err != nil {
		x.bad = &PoisonedError{Err: err}
		return x.bad
	}
	return nil
}

// retire archives the current session and returns the directory of the archive. next is
// the first line of the session that follows; nil: none follows.
func (x *Session) retire(ctx context.Context, next []byte) (string, error) {
	if _, err := x.Drain(ctx); err != nil {
		return "", err
	}
	if next == nil { // no session takes over what this one captured
		if err := x.store.layout.AddCaptures(x.prd, x.live.State.Ledgers); err != nil {
			return "", err
		}
	}
	if err := x.WriteDerived(ctx); err != nil {
		return "", err
	}
	if err := x.writer.close(); err != nil {
		x.bad = &PoisonedError{Err: err}
		return "", x.bad
	}
	if next != nil {
		if err := x.store.mover(x.prd).prepareNext(next); err != nil {
			x.writer = newWriter(store.OpenLog(x.store.fs, x.store.layout.JournalPath(x.prd))) // so that Close has a writer to close
			x.bad = &PoisonedError{Err: err}
			return "", x.bad
		}
	}
	to, err := x.store.mover(x.prd).archive()
	if err == nil {
		err = x.store.layout.MakeSessionDirs(x.prd, x.store.o.Policy.Enabled)
	}
	x.live, x.acked = nil, 0
	x.derived.reset()
	x.writer = newWriter(store.OpenLog(x.store.fs, x.store.layout.JournalPath(x.prd)))
	return to, err
}

// keepImported copies a handwritten document to imported.json, before the derived document
// replaces it.
func keepImported(l *disk.Layout, prd string) error {
	d, err := l.ReadDocument(prd)
	if err != nil || d == nil || d.Runner != nil {
		return err
	}
	data, err := store.ReadFile(l.FS, l.DocumentPath(prd))
	if err != nil {
		return err
	}
	return store.WriteFile(l.FS, filepath.Join(l.PRDDir(prd), "imported.json"), data)
}

// Abandon gives the session up, archives it, and returns the directory of the archive.
func (x *Session) Abandon(e state.SessionAbandoned) (string, error) {
	if x.live == nil {
		return "", fmt.Errorf("abandon %s: %w", x.prd, ErrNoSession)
	}
	x.Add(e)
	return x.retire(context.Background(), nil)
}

// Close makes all events durable, writes the derived files, and releases the locks. If the
// session is poisoned, or derived files could not be written, Close leaves the holder's
// note in the lock file, which tells the next owner to recover the session.
func (x *Session) Close() error {
	if x.isClosed {
		return nil
	}
	x.isClosed = true
	var err error
	if x.live != nil {
		if _, err = x.Drain(context.Background()); err == nil {
			err = x.WriteDerived(context.Background())
		}
	}
	behind := err != nil
	if x.late {
		err = x.tellLate(err)
	}
	err = errors.Join(err, x.writer.close())
	if err == nil && !behind && x.bad == nil {
		err = disk.WriteNote(x.store.fs, x.store.layout.LockPath(x.prd), nil)
	}
	return errors.Join(err, x.locks.release())
}

// Abort closes the session as a kill would: it releases the locks, and writes nothing. The
// next owner of the lock recovers what the journal holds.
func (x *Session) Abort() error {
	x.isClosed = true
	return errors.Join(x.writer.close(), x.locks.release())
}
