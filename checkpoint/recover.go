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
	// A journal is compacted if it has more than compactAbove bytes, and is more than
	// compactRatio times as large as the line that holds its state.
	compactAbove = 8 << 20
	compactRatio = 4
)

// recovered holds what examine finds in a journal, before Lock changes anything. mend
// updates it.
type recovered struct {
	fold    *journal.Fold
	tail    journal.Tail
	unclean bool // the last owner did not release the lock properly
	rescue  string
	lines   [][]byte // of the rescue copy, which continue the journal
}

// openSession verifies the stored session before it repairs and opens it. The caller holds the
// locks.
func (s *Store) openSession(prd string, holder disk.Holder) (*Session, error) {
	r, log, err := s.prepare(prd, holder)
	if err != nil {
		return nil, err
	}
	return newSession(s, prd, holder, r, log)
}

// prepare does the part of open that ends with a journal to which a session can append.
func (s *Store) prepare(prd string, holder disk.Holder) (*recovered, store.Log, error) {
	if err := s.finish(prd); err != nil {
		return nil, nil, err
	}
	r, err := s.examine(prd)
	if err != nil {
		return nil, nil, err
	}
	if err := s.layout.MakeSessionDirs(prd, s.o.Policy.Enabled); err != nil {
		return nil, nil, err
	}
	if err := disk.WriteNote(s.fs, s.layout.LockPath(prd), &holder); err != nil {
		return nil, nil, err
	}
	if err := s.removeLeftovers(prd); err != nil {
		return nil, nil, err
	}
	log, err := s.mendJournal(prd, r)
	return r, log, err
}

// finish completes an interrupted archive, deletion or import, each of which moves whole
// directories.
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

// examine reads the journal and compares it with the files that were derived from it.
func (s *Store) examine(prd string) (*recovered, error) {
	note, err := disk.ReadNote(s.fs, s.layout.LockPath(prd))
	if err != nil {
		return nil, err
	}
	r := &recovered{fold: journal.NewOwnerFold(), unclean: note != nil}
	d, err := s.layout.ReadDocument(prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	if r.tail, err = s.replay(prd, r.fold.Apply); err != nil {
		return nil, err
	}
	claims, err := s.layout.ReadClaims(prd, s.layout.PRDDir(prd), d)
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
		more, err := s.layout.CheckpointClaims(s.layout.PRDDir(prd), ids, r.fold.State)
		if err != nil {
			return nil, err
		}
		claims = append(claims, more...)
	}
	if err := r.tail.CheckClaims(prd, s.layout.JournalPath(prd), r.fold.State, claims); err != nil {
		return nil, err
	}
	if r.fold.State != nil {
		r.rescue, r.lines, err = s.findRescue(prd, r.fold.State.Session, r.tail)
	}
	return r, err
}

// mendJournal repairs the journal so that a session can append to it. After an unclean end the
// bytes that can be read may not be durable, so mend writes the journal anew, and adds the
// lines of a rescue copy.
func (s *Store) mendJournal(prd string, r *recovered) (store.Log, error) {
	path := s.layout.JournalPath(prd)
	log := store.OpenLog(s.fs, path)
	if len(r.tail.Torn) > 0 {
		if err := s.saveTorn(prd, r.tail.Torn); err != nil {
			return nil, err
		}
	}
	if r.fold.State == nil { // an incomplete first line is no session
		if len(r.tail.Torn) == 0 {
			return log, nil
		}
		return log, s.layout.RemoveDurably(path)
	}
	// A run that has neither an end nor a note lost its lock file. Its runner may still be
	// alive for a moment, with the old journal open.
	if r.unclean || r.fold.State.RunningAt != nil || len(r.tail.Torn) > 0 || r.rescue != "" {
		if err := s.rewrite(prd, log, r); err != nil {
			return nil, err
		}
	}
	return log, s.compact(prd, log, r)
}

// rewrite replaces the journal with its valid lines and the rescued lines after them.
func (s *Store) rewrite(prd string, log store.Log, r *recovered) error {
	valid := journal.Take(log.Records(), r.tail.Lines)
	if err := log.Replace(appendLines(valid, r.lines)); err != nil {
		return err
	}
	if r.rescue == "" {
		return nil
	}
	if err := applyRescued(prd, r.rescue, &r.tail, r.lines, r.fold.Apply); err != nil {
		return err
	}
	return s.layout.RemoveDurably(r.rescue)
}

func appendLines(records iter.Seq2[store.Record, error], lines [][]byte) iter.Seq2[store.Record, error] {
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

// saveTorn saves the bytes of an interrupted write in a file, for people to read.
func (s *Store) saveTorn(prd string, torn []byte) error {
	name := "torn-" + s.Now().Format(disk.StampFormat)
	for n := 1; ; n++ {
		path := filepath.Join(s.layout.PRDDir(prd), name+".jsonl")
		if had, err := store.ReadFile(s.fs, path); errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(had, torn) {
			return store.WriteFile(s.fs, path, torn)
		}
		name = fmt.Sprintf("torn-%s-%d", s.Now().Format(disk.StampFormat), n)
	}
}

// compact replaces a journal that has grown far beyond its state with one that begins with
// that state. The old journal stays in the same directory, since checkpoints are in it.
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

// beginAnew replaces the journal with one whose only line is the state, and keeps the old
// journal in the same directory.
func (s *Store) beginAnew(prd string, log store.Log, r *recovered, c *state.Commit, line []byte) error {
	if err := s.keepSegment(prd, r.tail); err != nil {
		return err
	}
	if err := log.Replace(appendLines(noRecords, [][]byte{line})); err != nil {
		return err
	}
	r.tail = journal.Tail{First: c.Seq, Seq: c.Seq, Sum: c.Sum, Lines: 1, Size: int64(len(line))}
	return nil
}

func noRecords(func(store.Record, error) bool) {}

// segmentName returns the file name under which an old journal is kept after a compaction.
func segmentName(t journal.Tail) string { return fmt.Sprintf("journal.%d-%d.jsonl", t.First, t.Seq) }

// keepSegment gives the journal a second name, under which it stays. The second name is
// durable before the first is reused: a disk may keep the later change of names without
// the earlier one, and the journal would be lost.
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

// removeLeftovers removes files that nothing refers to: temporary files, and the reports of a killed
// runner's tasks. It also removes requests whose askers have ended.
func (s *Store) removeLeftovers(prd string) error {
	document, refs := filepath.Base(s.layout.DocumentPath(prd)), s.layout.RefsIDPath(disk.EncodeName(prd))
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
