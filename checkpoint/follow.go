package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// followInterval is how often a follower checks for new commits.
const followInterval = 25 * time.Millisecond

// Follow yields the commits of a PRD's journal from the sequence number from: first the
// existing ones, then each new one as it becomes durable. It takes no lock. It ends when
// ctx does, or when it has yielded all commits and the PRD has no owner. If a new
// session replaces the current one, Follow continues with the first commit of the new
// session. A compacted journal begins with a commit that holds a state.
//
// Follow reads commits from the file. Between a write and its sync it can therefore
// yield a commit that a power cut would still undo.
func (s *Store) Follow(ctx context.Context, prd string, from uint64) iter.Seq2[state.Commit, error] {
	return func(yield func(state.Commit, error) bool) {
		f := &follower{store: s, prd: prd, from: from, tail: journal.Tail{Sum: journal.Genesis}}
		err := f.run(ctx, func(c state.Commit) bool { return yield(c, nil) })
		if closed := f.close(); err == nil {
			err = closed
		}
		if err != nil {
			yield(state.Commit{}, err)
		}
	}
}

type follower struct {
	store   *Store
	prd     string
	from    uint64
	session string // ID of the session that is followed
	file    store.File
	lines   *store.Lines
	tail    journal.Tail
	stopped bool // yield returned false
}

func (f *follower) run(ctx context.Context, yield func(state.Commit) bool) error {
	if err := f.store.reader.CheckID(f.prd); err != nil {
		return err
	}
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		// Owner is called before reading, so that all that an owner wrote before it
		// released the lock is read.
		owner, err := f.store.Owner(f.prd)
		if err != nil {
			return err
		}
		more, err := f.readCommits(yield)
		if err != nil || f.stopped {
			return err
		}
		if more {
			continue
		}
		if owner == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// readCommits yields all commits that the file holds now. It reports whether the file was
// replaced meanwhile, in which case the new file may hold more commits.
func (f *follower) readCommits(yield func(state.Commit) bool) (bool, error) {
	if f.file == nil {
		if err := f.open(); err != nil || f.file == nil {
			return false, err
		}
	}
	if err := f.drain(yield); err != nil || f.stopped {
		return false, err
	}
	replaced, err := f.replaced()
	if err != nil || !replaced {
		return false, err
	}
	// Lines that were appended to the old file before its replacement are read first.
	if err := f.drain(yield); err != nil || f.stopped {
		return false, err
	}
	return true, f.close()
}

func (f *follower) open() error {
	file, err := store.OpenRegular(f.store.fs, f.store.layout.JournalPath(f.prd))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.file, f.lines, f.tail = file, store.NewLines(file), journal.Tail{Sum: journal.Genesis}
	return nil
}

func (f *follower) drain(yield func(state.Commit) bool) error {
	for {
		r, err := f.lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", f.prd, err)
		}
		c, err := f.tail.Next(r)
		if errors.Is(err, journal.ErrIncomplete) {
			if r.Torn && len(r.Data) <= store.MaxRecord {
				return nil // the rest is still being written
			}
			return journal.DamagedLine(f.prd, f.store.layout.JournalPath(f.prd), r.Line, err.Error())
		}
		if err != nil {
			return journal.Explain(f.prd, f.store.layout.JournalPath(f.prd), r.Line, err)
		}
		f.tail.Accept(c, len(r.Data))
		f.enterSession(c)
		if c.Seq < f.from {
			continue
		}
		f.from = c.Seq + 1
		if !yield(c) {
			f.stopped = true
			return nil
		}
	}
}

// enterSession notes the session of a journal's first line. If that is another session than
// before, all its commits are new, and enterSession resets f.from.
func (f *follower) enterSession(c state.Commit) {
	if f.tail.Lines > 1 {
		return
	}
	session := ""
	if c.State != nil {
		session = c.State.Session
	} else if len(c.Events) > 0 {
		if e, ok := c.Events[0].(state.SessionStarted); ok {
			session = e.Session
		}
	}
	if f.session != "" && f.session != session {
		f.from = 0
	}
	f.session = session
}

func (f *follower) replaced() (bool, error) {
	now, err := f.store.fs.Lstat(f.store.layout.JournalPath(f.prd))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // one session is archived, the next not begun
	}
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", f.prd, err)
	}
	had, err := f.file.Stat()
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", f.prd, err)
	}
	return !store.Same(had, now), nil
}

func (f *follower) close() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("follow %s: %w", f.prd, err)
	}
	return nil
}
