package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

const (
	// compactAbove is the size of a journal from which it may be compacted,
	// and compactRatio how many times its state's size it must have.
	compactAbove = 8 << 20
	compactRatio = 4
)

// recovered is what a journal is found to be, before anything is changed.
type recovered struct {
	fold    *journal.Fold
	tail    journal.Tail
	unclean bool // the last owner did not let go of the lock
	rescue  string
	lines   [][]byte // of the rescue copy
}

// open verifies what is there, and only then puts it in order. The caller
// holds the locks.
func (s *Store) open(prd string, holder Holder) (*Session, error) {
	r, log, err := s.prepare(prd, holder)
	if err != nil {
		return nil, err
	}
	return newSession(s, prd, holder, r, log)
}

// prepare is open up to the journal that a session appends to.
func (s *Store) prepare(prd string, holder Holder) (*recovered, store.Log, error) {
	if err := s.finish(prd); err != nil {
		return nil, nil, err
	}
	r, err := s.examine(prd)
	if err != nil {
		return nil, nil, err
	}
	if err := s.makePRDLayout(prd); err != nil {
		return nil, nil, err
	}
	if err := writeNote(s.fs, s.layout.LockPath(prd), &holder); err != nil {
		return nil, nil, err
	}
	if err := s.clean(prd); err != nil {
		return nil, nil, err
	}
	log, err := s.mend(prd, r)
	return r, log, err
}

// finish completes what moves whole directories, and was cut short.
func (s *Store) finish(prd string) error {
	if err := s.finishArchive(prd); err != nil {
		return err
	}
	if err := s.finishDelete(prd); err != nil {
		return err
	}
	_, err := s.finishImport(prd)
	return err
}

// examine reads the journal and compares it with what was derived from it.
func (s *Store) examine(prd string) (*recovered, error) {
	note, err := readNote(s.fs, s.layout.LockPath(prd))
	if err != nil {
		return nil, err
	}
	r := &recovered{fold: journal.NewOwnerFold(), unclean: note != nil}
	d, err := s.readDocument(prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	if r.tail, err = s.replay(prd, r.fold.Apply); err != nil {
		return nil, err
	}
	claims, err := s.claims(prd, s.layout.PRDDir(prd), d)
	if err != nil {
		return nil, err
	}
	if err := s.layout.RefuseNewer(prd); err != nil {
		return nil, err
	}
	if r.fold.State == nil && len(r.tail.Torn) == 0 {
		if damaged != nil {
			return nil, damaged
		}
		return r, s.journalMissing(prd, d, claims)
	}
	if r.unclean || len(r.tail.Torn) > 0 {
		ids, err := s.layout.CheckpointsIn(s.layout.PRDDir(prd)).IDs()
		if err != nil {
			return nil, fmt.Errorf("look for checkpoints: %w", err)
		}
		more, err := s.checkpointClaims(s.layout.PRDDir(prd), ids, r.fold.State)
		if err != nil {
			return nil, err
		}
		claims = append(claims, more...)
	}
	if err := verifyClaims(&r.tail, prd, s.layout.JournalPath(prd), r.fold.State, claims); err != nil {
		return nil, err
	}
	if r.fold.State != nil {
		r.rescue, r.lines, err = s.findRescue(prd, r.fold.State.Session, r.tail)
	}
	return r, err
}

// mend brings the journal to where a session can append to it. After an
// unclean end what can be read may not be what is on disk, so that it is
// written anew, with what a rescue copy adds.
func (s *Store) mend(prd string, r *recovered) (store.Log, error) {
	path := s.layout.JournalPath(prd)
	log := store.OpenLog(s.fs, path)
	if len(r.tail.Torn) > 0 {
		if err := s.saveTorn(prd, r.tail.Torn); err != nil {
			return nil, err
		}
	}
	if r.fold.State == nil { // a first line that was cut short is no session
		if len(r.tail.Torn) == 0 {
			return log, nil
		}
		return log, s.removeDurably(path)
	}
	// A run without an end and without a note had its lock file taken away. Its
	// runner may be alive for a moment yet, with the old file open.
	if r.unclean || r.fold.State.RunningAt != nil || len(r.tail.Torn) > 0 || r.rescue != "" {
		if err := s.rewrite(prd, log, r); err != nil {
			return nil, err
		}
	}
	return log, s.compact(prd, log, r)
}

// rewrite puts the valid lines into a new journal, and the rescued ones behind.
func (s *Store) rewrite(prd string, log store.Log, r *recovered) error {
	valid := journal.Take(log.Records(), r.tail.Lines)
	if err := log.Replace(join(valid, r.lines)); err != nil {
		return err
	}
	if r.rescue == "" {
		return nil
	}
	if err := adopt(prd, r.rescue, &r.tail, r.lines, r.fold.Apply); err != nil {
		return err
	}
	return s.removeDurably(r.rescue)
}

func join(records iter.Seq2[store.Record, error], lines [][]byte) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range records {
			if !yield(r, err) {
				return
			}
		}
		for _, line := range lines {
			if !yield(store.Record{Data: line}, nil) {
				return
			}
		}
	}
}

// saveTorn keeps the bytes of a write that was cut short, for people.
func (s *Store) saveTorn(prd string, torn []byte) error {
	name := "torn-" + s.now().Format(disk.StampFormat)
	for n := 1; ; n++ {
		path := filepath.Join(s.layout.PRDDir(prd), name+".jsonl")
		if had, err := store.ReadFile(s.fs, path); errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(had, torn) {
			return store.WriteFile(s.fs, path, torn)
		}
		name = fmt.Sprintf("torn-%s-%d", s.now().Format(disk.StampFormat), n)
	}
}

func (s *Store) removeDurably(path string) error {
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := s.fs.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// compact begins a journal that has grown far beyond its state anew with that
// state. The old one stays beside it, for the checkpoints that are in it.
func (s *Store) compact(prd string, log store.Log, r *recovered) error {
	if r.tail.Size <= compactAbove || r.tail.Lines < 2 {
		return nil
	}
	c := state.Commit{Seq: r.tail.Seq, Time: r.fold.State.UpdatedAt, State: r.fold.State, Prev: r.tail.Sum}
	line, err := journal.NewEncoder().Line(&c)
	if err != nil {
		return err
	}
	if r.tail.Size <= compactRatio*int64(len(line)) || len(line) > store.MaxRecord {
		return nil
	}
	return s.beginAnew(prd, log, r, &c, line)
}

// beginAnew puts a journal that begins with the state in place of the one that
// led to it, which stays beside it.
func (s *Store) beginAnew(prd string, log store.Log, r *recovered, c *state.Commit, line []byte) error {
	if err := s.keepSegment(prd, r.tail); err != nil {
		return err
	}
	if err := log.Replace(join(noRecords, [][]byte{line})); err != nil {
		return err
	}
	r.tail = journal.Tail{First: c.Seq, Seq: c.Seq, Sum: c.Sum, Lines: 1, Size: int64(len(line))}
	return nil
}

func noRecords(func(store.Record, error) bool) {}

// segmentName names what a journal was compacted from.
func segmentName(t journal.Tail) string { return fmt.Sprintf("journal.%d-%d.jsonl", t.First, t.Seq) }

// keepSegment gives the journal a second name, under which it stays. That is
// durable before the first one is taken from it: a disk may keep the later
// change of names without the earlier one, and the journal would be gone.
func (s *Store) keepSegment(prd string, t journal.Tail) error {
	to := filepath.Join(s.layout.PRDDir(prd), segmentName(t))
	err := s.fs.Link(s.layout.JournalPath(prd), to)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the journal as %s: %w", to, err)
	}
	if err := s.fs.SyncDir(filepath.Dir(to)); err != nil {
		return fmt.Errorf("keep the journal as %s: %w", to, err)
	}
	return nil
}

// clean removes what nothing refers to: temporary files, and what the tasks of
// a killed runner reported. Requests of people who no longer wait go as well.
func (s *Store) clean(prd string) error {
	document, refs := filepath.Base(s.layout.DocumentPath(prd)), s.refsIDPath(disk.EncodeName(prd))
	dirs := []struct {
		path   string
		remove func(name string) bool
	}{
		{s.layout.Path, func(name string) bool { return store.IsTempOf(name, document) }},
		{filepath.Dir(refs), func(name string) bool { return store.IsTempOf(name, filepath.Base(refs)) }},
		{s.layout.PRDDir(prd), func(name string) bool { return store.IsTemp(name) || name == disk.NextName }},
		{filepath.Join(s.layout.PRDDir(prd), disk.CheckpointsDir), store.IsTemp},
		{filepath.Join(s.layout.PRDDir(prd), disk.RunDir), func(string) bool { return true }},
	}
	for _, d := range dirs {
		entries, err := s.fs.ReadDir(d.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() || !d.remove(e.Name()) {
				continue
			}
			if err := s.fs.Remove(filepath.Join(d.path, e.Name())); err != nil {
				return fmt.Errorf("clean up: %w", err)
			}
		}
	}
	return s.cleanInbox(prd)
}
