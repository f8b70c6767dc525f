package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

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

// recovery prepares the journal of a PRD for an owner who appends to it. The caller
// holds the locks. The journal is examined before anything is changed: finish, examine,
// mendJournal.
type recovery struct {
	store *Store
	prd   string

	fold    *journal.Fold
	tail    journal.Tail
	unclean bool           // the last owner did not release the lock properly
	rescue  journal.Rescue // a rescue copy that continues the journal
}

// openSession verifies the stored session before it repairs and opens it. The caller holds
// the locks.
func (s *Store) openSession(prd string, holder disk.Holder) (*Session, error) {
	r := &recovery{store: s, prd: prd}
	log, err := r.openJournal(holder)
	if err != nil {
		return nil, err
	}
	return newSession(s, prd, holder, r, log)
}

// openJournal returns the journal, to which a session can append.
func (r *recovery) openJournal(holder disk.Holder) (store.Log, error) {
	if err := r.store.mover(r.prd).finish(); err != nil {
		return nil, err
	}
	if err := r.examine(); err != nil {
		return nil, err
	}
	layout := &r.store.layout
	if err := layout.MakeSessionDirs(r.prd, r.store.o.Policy.Enabled); err != nil {
		return nil, err
	}
	if err := disk.WriteNote(layout.FS, layout.LockPath(r.prd), &holder); err != nil {
		return nil, err
	}
	if err := removeLeftovers(layout, r.prd, r.wasInterrupted()); err != nil {
		return nil, err
	}
	return r.mendJournal()
}

// examine reads the journal and compares it with the files that were derived from it.
func (r *recovery) examine() error {
	layout := &r.store.layout
	note, err := disk.ReadNote(layout.FS, layout.LockPath(r.prd))
	if err != nil {
		return err
	}
	r.fold, r.unclean = journal.NewOwnerFold(), note != nil
	d, err := layout.ReadDocument(r.prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	if r.tail, err = r.store.reader.Replay(r.prd, r.fold.Apply); err != nil {
		return err
	}
	dir := layout.PRDDir(r.prd)
	claims, err := layout.ReadClaims(r.prd, dir, d)
	if err != nil {
		return err
	}
	if err := layout.RefuseNewer(r.prd); err != nil {
		return err
	}
	if r.fold.State == nil && len(r.tail.Torn) == 0 {
		if damaged != nil {
			return damaged
		}
		return r.store.reader.JournalMissing(r.prd, d, claims)
	}
	if r.wasInterrupted() {
		ids, err := layout.CheckpointsIn(dir).IDs()
		if err != nil {
			return fmt.Errorf("look for checkpoints: %w", err)
		}
		more, err := layout.CheckpointClaims(dir, ids, r.fold.State)
		if err != nil {
			return err
		}
		claims = append(claims, more...)
	}
	if err := r.tail.CheckClaims(r.prd, layout.JournalPath(r.prd), r.fold.State, claims); err != nil {
		return err
	}
	if r.fold.State != nil {
		r.rescue, err = r.store.reader.Rescues.Find(r.prd, r.fold.State.Session, r.tail)
	}
	return err
}

// wasInterrupted reports whether the last owner may have ended in the middle of its work. A
// run that has neither an end nor a note lost its lock file.
func (r *recovery) wasInterrupted() bool {
	return r.unclean || len(r.tail.Torn) > 0 || r.fold.State != nil && r.fold.State.RunningAt != nil
}

// mendJournal repairs the journal so that a session can append to it. After an unclean
// end the bytes that can be read may not be durable, so mendJournal writes the journal
// anew, and adds the lines of a rescue copy.
func (r *recovery) mendJournal() (store.Log, error) {
	path := r.store.layout.JournalPath(r.prd)
	log := store.OpenLog(r.store.fs, path)
	if len(r.tail.Torn) > 0 {
		if err := r.saveTorn(); err != nil {
			return nil, err
		}
	}
	if r.fold.State == nil { // an incomplete first line is no session
		if len(r.tail.Torn) == 0 {
			return log, nil
		}
		return log, store.RemoveDurably(r.store.layout.FS, path)
	}
	// A runner that lost its lock file may still be alive for a moment, with the old journal
	// open.
	if r.wasInterrupted() || r.rescue.Path != "" {
		if err := r.rewrite(log); err != nil {
			return nil, err
		}
	}
	return log, r.compact(log)
}

// rewrite replaces the journal with its valid lines and the rescued lines after them.
func (r *recovery) rewrite(log store.Log) error {
	valid := journal.Take(log.Records(), r.tail.Lines)
	if err := log.Replace(appendLines(valid, r.rescue.Lines)); err != nil {
		return err
	}
	if r.rescue.Path == "" {
		return nil
	}
	if err := r.rescue.Visit(r.prd, &r.tail, r.fold.Apply); err != nil {
		return err
	}
	return store.RemoveDurably(r.store.layout.FS, r.rescue.Path)
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
func (r *recovery) saveTorn() error {
	stamp := r.store.Now().Format(disk.StampFormat)
	name := "torn-" + stamp
	for n := 1; ; n++ {
		path := filepath.Join(r.store.layout.PRDDir(r.prd), name+".jsonl")
		if had, err := store.ReadFile(r.store.fs, path); errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(had, r.tail.Torn) {
			return store.WriteFile(r.store.fs, path, r.tail.Torn)
		}
		name = fmt.Sprintf("torn-%s-%d", stamp, n)
	}
}

// compact replaces a journal that has grown far beyond its state with one that begins with
// that state. The old journal stays in the same directory, since checkpoints are in it.
func (r *recovery) compact(log store.Log) error {
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
	return r.beginAnew(log, &c, line)
}

// beginAnew replaces the journal with one whose only line is the state, and keeps the old
// journal in the same directory.
func (r *recovery) beginAnew(log store.Log, c *state.Commit, line []byte) error {
	if err := keepSegment(&r.store.layout, r.prd, r.tail); err != nil {
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
func keepSegment(l *disk.Layout, prd string, t journal.Tail) error {
	to := filepath.Join(l.PRDDir(prd), segmentName(t))
	err := l.FS.Link(l.JournalPath(prd), to)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the journal as %s: %w", to, err)
	}
	if err := l.FS.SyncDir(filepath.Dir(to)); err != nil {
		return fmt.Errorf("keep the journal as %s: %w", to, err)
	}
	return nil
}

// leftovers are the files of a directory that nothing refers to.
type leftovers struct {
	dir string
	is  func(name string) bool
}

// removeLeftovers removes files that nothing refers to: temporary files, and the outputs of
// a killed runner's tasks. It also removes requests whose askers have ended. It looks
// into the directories that all PRDs share only after an interruption, since they can be
// large.
func removeLeftovers(l *disk.Layout, prd string, interrupted bool) error {
	all := []leftovers{
		{l.PRDDir(prd), func(name string) bool { return store.IsTemp(name) || name == disk.NextName }},
		{filepath.Join(l.PRDDir(prd), disk.CheckpointsDir), store.IsTemp},
		{filepath.Join(l.PRDDir(prd), disk.RunDir), func(name string) bool { return !strings.HasSuffix(name, disk.ReportExt) }}, // the next run reads these
	}
	if interrupted {
		document, refs := filepath.Base(l.DocumentPath(prd)), l.RefsIDPath(disk.EncodeName(prd))
		all = append(all,
			leftovers{l.Path, func(name string) bool { return store.IsTempOf(name, document) }},
			leftovers{filepath.Dir(refs), func(name string) bool { return store.IsTempOf(name, filepath.Base(refs)) }})
	}
	for _, d := range all {
		entries, err := l.FS.ReadDir(d.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() || !d.is(e.Name()) {
				continue
			}
			if err := l.FS.Remove(filepath.Join(d.dir, e.Name())); err != nil {
				return fmt.Errorf("clean up: %w", err)
			}
		}
	}
	return cleanInbox(l, prd)
}
