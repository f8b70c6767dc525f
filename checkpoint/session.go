package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// errNoStart says that something was added before the session was started.
var errNoStart = errors.New("there is no session yet")

// Session is the handle of a PRD's owner. It is not safe for concurrent use:
// one goroutine owns it. A second one, of its own, does nothing but append
// lines to the journal and sync them.
//
// There are two states. The live one is ahead: it holds everything that was
// added; what is derived from it is written once all of that is durable. The
// base lags behind: it stands where checkpoint files were written last, so that
// those that were put off can still be.
type Session struct {
	store  *Store
	prd    string
	holder Holder
	locks  *locks

	writer  *writer
	encoder *journal.Encoder
	live    *journal.Fold
	acked   uint64          // Seq of the last line that is durable, 0 before Start
	sum     string          // of the last line handed to the writer
	handed  uint64          // Seq of the last line handed to the writer
	pending state.Commit    // what is added and not handed over
	size    int             // of its events
	room    int             // for the events of a commit: MaxEvents
	full    []*state.Commit // before it: what is not handed over either, and takes no more
	flight  *state.Commit   // what the writer has
	wanted  bool            // Flush was called while the writer was busy

	groups  map[retention.Group][]string // ids of the kept checkpoints where their number is limited
	needed  map[string]string            // ids that must not go at this moment, and why
	derived derived

	unclean    bool
	runs       bool            // a run began or went on in it
	late       bool            // it was told what could not be written behind what is done
	uncaptured bool            // the last capture failed
	missed     bool            // so it did, and nothing has happened to the files since
	captured   bool            // the files are as the last capture has them
	announced  string          // the id of the checkpoint that the last capture was made for, which a commit names
	orphans    []state.Process // that were ended when it was locked
	bad        *PoisonedError
	closed     bool
}

// Ack tells that a commit is durable, or why none ever will be again.
type Ack struct {
	Seq uint64
	Err error
}

func newSession(s *Store, prd string, holder Holder, r *recovered, log store.Log) (*Session, error) {
	x := &Session{store: s, prd: prd, holder: holder, encoder: journal.NewEncoder(), room: journal.MaxEvents, unclean: r.unclean}
	x.derived.reset()
	x.writer = newWriter(log)
	if r.fold.State == nil {
		return x, nil
	}
	x.begin(r.fold, r.tail.Seq, r.tail.Sum)
	if err := x.derived.recover(x); err != nil {
		return nil, errors.Join(err, x.writer.close())
	}
	return x, nil
}

// begin makes a fold the session's state, all of it durable.
func (x *Session) begin(f *journal.Fold, seq uint64, sum string) {
	x.live, x.acked, x.handed, x.sum = f, seq, seq, sum
	x.pending, x.size, x.full = state.Commit{}, 0, nil
	x.groups = map[retention.Group][]string{}
	for _, ref := range f.State.Checkpoints {
		g := groupOf(ref.Trigger, ref.Phase)
		if _, limited := x.store.o.Policy.Retention.Limit(g.Trigger); limited {
			x.groups[g] = append(x.groups[g], ref.ID)
		}
	}
}

// State returns the fold of everything added so far, durable or not, nil
// before Start where there is none. The caller must not change it.
func (x *Session) State() *state.State {
	if x.live == nil {
		return nil
	}
	return x.live.State
}

// Unclean reports whether the last owner did not let go of the lock properly.
func (x *Session) Unclean() bool { return x.unclean }

// Durable returns the sequence number up to which everything is durable.
func (x *Session) Durable() uint64 { return x.acked }

// Start begins a new session, and archives the one that was there. It is
// durable when Start returns; a crash leaves one of the two.
func (x *Session) Start(e state.SessionStarted) error {
	if err := x.owns(); err != nil {
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
	c := state.Commit{Seq: e.FirstSeq(), Time: x.store.now(), Events: []state.Event{e}, Prev: journal.Genesis}
	f := journal.NewOwnerFold()
	if err := f.Apply(c); err != nil {
		return fmt.Errorf("start a session of %s: %w", x.prd, err)
	}
	line, err := x.encoder.Line(&c)
	if err == nil {
		err = journal.CheckSize(&c, line)
	}
	if err != nil {
		return fmt.Errorf("start a session of %s: %w", x.prd, err)
	}
	if err := x.write(slices.Clone(line)); err != nil {
		return err
	}
	x.begin(f, c.Seq, c.Sum)
	x.runs = true
	x.derived.reset()
	x.derived.begin(x.live.State)
	return nil
}

// write makes the first line of a session the journal, and archives the session
// that was there.
func (x *Session) write(line []byte) error {
	if x.live != nil {
		_, err := x.retire(context.Background(), line)
		return err
	}
	if err := x.keepImported(); err != nil {
		return err
	}
	if err := x.writer.log.Replace(join(noRecords, [][]byte{line})); err != nil {
		x.bad = &PoisonedError{Err: err}
		return x.bad
	}
	return nil
}

// retire archives the current session and returns where it lies. next is the first
// line of the session that follows it, nil for none.
func (x *Session) retire(ctx context.Context, next []byte) (string, error) {
	if _, err := x.Drain(ctx); err != nil {
		return "", err
	}
	if err := x.WriteDerived(ctx, true); err != nil {
		return "", err
	}
	if err := x.writer.close(); err != nil {
		x.bad = &PoisonedError{Err: err}
		return "", x.bad
	}
	if next != nil {
		if err := x.store.prepareNext(x.prd, next); err != nil {
			x.writer = newWriter(store.OpenLog(x.store.fs, x.store.layout.JournalPath(x.prd))) // for Close to close
			x.bad = &PoisonedError{Err: err}
			return "", x.bad
		}
	}
	to, err := x.store.archive(x.prd)
	if err == nil {
		err = x.store.makePRDLayout(x.prd)
	}
	x.live, x.acked = nil, 0
	x.derived.reset()
	x.writer = newWriter(store.OpenLog(x.store.fs, x.store.layout.JournalPath(x.prd)))
	return to, err
}

// keepImported keeps a copy of a document that was written by hand, before it
// is replaced by the derived one.
func (x *Session) keepImported() error {
	d, err := x.store.readDocument(x.prd)
	if err != nil || d == nil || d.Runner != nil {
		return err
	}
	data, err := store.ReadFile(x.store.fs, x.store.layout.DocumentPath(x.prd))
	if err != nil {
		return err
	}
	return store.WriteFile(x.store.fs, filepath.Join(x.store.layout.PRDDir(x.prd), "imported.json"), data)
}

// Abandon ends the session for good, archives it, and returns where it lies.
func (x *Session) Abandon(e state.SessionAbandoned) (string, error) {
	if x.live == nil {
		return "", fmt.Errorf("abandon %s: %w", x.prd, ErrNoSession)
	}
	x.Add(e)
	return x.retire(context.Background(), nil)
}

// Close makes everything durable, writes what is derived from it, and lets go
// of the lock. After a poisoned session, and one that could not write all that is
// derived, the note of its holder stays: the next owner has something to put in
// order.
func (x *Session) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	var err error
	if x.live != nil {
		if _, err = x.Drain(context.Background()); err == nil {
			err = x.WriteDerived(context.Background(), true)
		}
	}
	behind := err != nil
	if x.late {
		err = x.tellLate(err)
	}
	err = errors.Join(err, x.writer.close())
	if err == nil && !behind && x.bad == nil {
		err = writeNote(x.store.fs, x.store.layout.LockPath(x.prd), nil)
	}
	return errors.Join(err, x.locks.release())
}

// at returns when an event happens that is added now, as its place in the
// pending commit, which begins with the first one.
func (x *Session) at() (time.Time, int64) {
	now := x.store.now()
	if len(x.pending.Events) == 0 {
		x.pending = state.Commit{Seq: x.next(), Time: now}
	}
	after := max(0, now.Sub(x.pending.Time).Milliseconds())
	return x.pending.Time.Add(time.Duration(after) * time.Millisecond), after
}
