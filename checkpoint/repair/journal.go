package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// RebuildJournal replaces the damaged journal of a PRD by one that begins with the newest
// state that can be proved. The chain of checksums can't be continued, so the first line
// holds the whole state, as in a compacted journal. The damaged files are kept in a
// subdirectory of the session.
func RebuildJournal(ctx context.Context, s *checkpoint.Store, prd string, by state.Actor) (*JournalRebuild, error) {
	if err := s.Reader().CheckID(prd); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("rebuild the journal of %s: %w", prd, err)
	}
	there, err := store.Exists(s.Layout().FS, s.Layout().PRDDir(prd))
	if err == nil && !there {
		err = checkpoint.ErrNoSession
	}
	if err != nil {
		return nil, fmt.Errorf("rebuild the journal of %s: %w", prd, err)
	}
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return nil, err
	}
	r, err := rebuildJournal(s, u, prd, by)
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	x, err := u.Open(by)
	if err != nil {
		return r, errors.Join(err, u.Close())
	}
	return r, x.Close()
}

// rebuildJournal does the rebuild up to the moment at which the new journal is in place.
// If it is interrupted it can be repeated: until then it changes nothing that its
// decisions depend on. It removes the note of a pending import last. If the note stays,
// finishing the import finds that its commit is gone.
func rebuildJournal(s *checkpoint.Store, u *checkpoint.Unopened, prd string, by state.Actor) (*JournalRebuild, error) {
	r, err := PlanJournalRebuild(s, prd)
	if err != nil {
		return nil, err
	}
	line, err := r.firstLine()
	if err != nil {
		return nil, err
	}
	if err := s.Layout().MakeSessionDirs(prd, s.Policy().Enabled); err != nil {
		return nil, err
	}
	if err := u.SetNote(by); err != nil {
		return nil, err
	}
	if err := keepJournal(s, prd, r); err != nil {
		return nil, err
	}
	if err := putLine(s, prd, line); err != nil {
		return nil, err
	}
	return r, s.Layout().WritePending(s.Layout().PRDDir(prd), nil)
}

// putLine replaces the journal by one of a single line.
func putLine(s *checkpoint.Store, prd string, line []byte) error {
	return store.OpenLog(s.FS(), s.Layout().JournalPath(prd)).Replace(func(yield func(store.Record, error) bool) {
		yield(store.Record{Data: line}, nil)
	})
}

// firstLine returns the first line of the new journal.
func (r *JournalRebuild) firstLine() ([]byte, error) {
	c := state.Commit{Seq: r.Seq, Time: r.state.UpdatedAt, State: r.state, Prev: r.prev}
	line, err := journal.NewEncoder().Line(&c)
	if err != nil {
		return nil, err
	}
	return line, journal.CheckSize(&c, line)
}

// keepJournal keeps the damaged files in a new directory, moves stray checkpoint files
// there, and writes the checkpoint files that only the damaged journal still held.
func keepJournal(s *checkpoint.Store, prd string, r *JournalRebuild) error {
	dir := s.Layout().PRDDir(prd)
	kept, err := store.FreePath(s.Layout().FS, filepath.Join(dir, "damaged-"+s.Now().Format(disk.StampFormat)))
	if err != nil {
		return err
	}
	if err := store.MkdirAll(s.FS(), kept); err != nil {
		return err
	}
	for _, path := range []string{s.Layout().JournalPath(prd), s.Layout().ManifestPath(prd), s.Layout().DocumentPath(prd), s.Layout().PendingPath(prd)} {
		err := s.FS().Link(path, filepath.Join(kept, filepath.Base(path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep %s: %w", path, err)
		}
	}
	files := s.Layout().CheckpointsIn(dir)
	for _, id := range r.stray {
		paths, err := files.Paths(id)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := s.Layout().Move(prd, path, filepath.Join(kept, filepath.Base(path))); err != nil {
				return err
			}
		}
	}
	if err := s.FS().SyncDir(kept); err != nil {
		return fmt.Errorf("keep the damaged journal: %w", err)
	}
	for id, data := range r.made {
		if err := files.Put(disk.EncodedCheckpoint{ID: id, JSON: [][]byte{data}}); err != nil {
			return err
		}
	}
	r.Kept = kept
	return nil
}

// reportLost records in r what the readable part of the journal says about lost commits.
func reportLost(r *JournalRebuild, old *journal.Salvaged) {
	r.Unreadable = old.Unreadable
	r.Untold, r.More = old.Lost(r.FromSeq)
	for _, c := range old.Since(r.FromSeq) {
		lost := LostCommit{Seq: c.Seq, Time: c.Time, Events: []string{}}
		for _, e := range c.Events {
			if _, ends := endedRollback(e); ends && c.Seq == r.ended {
				continue // the state includes the event
			}
			lost.Events = append(lost.Events, describeEvent(e))
		}
		if len(lost.Events) > 0 || len(c.Events) == 0 {
			r.Lost = append(r.Lost, lost)
		}
	}
}

// describeEvent describes an event in a few words: its kind and its subject.
func describeEvent(e state.Event) string {
	about := ""
	switch e := e.(type) {
	case state.PhaseStarted:
		about = e.Phase
	case state.PhaseCompleted:
		about = e.Phase
	case state.WorkstreamStarted:
		about = e.Workstream
	case state.WorkstreamSucceeded:
		about = e.Workstream
	case state.WorkstreamCompleted:
		about = e.Workstream
	case state.WorkstreamFailed:
		about = e.Workstream
	case state.WorkstreamUncertain:
		about = e.Workstream
	case state.WorkstreamResolved:
		about = e.Workstream
	case state.GatePassed:
		about = e.Gate
	case state.GateFailed:
		about = e.Gate
	case state.GateApproved:
		about = e.Gate
	case state.GateRejected:
		about = e.Gate
	case state.CheckpointCreated:
		about = e.ID
	case state.RollbackStarted:
		about = e.To
	}
	if about == "" {
		return string(e.Kind())
	}
	return string(e.Kind()) + " " + about
}

// makeContinuable makes it possible to continue from the state: the state takes a number
// that no commit had, and workstreams that must happen only once become uncertain if a
// lost commit may have started them.
func (r *JournalRebuild) makeContinuable(old *journal.Salvaged) {
	s := r.state
	s.Seq = r.Seq
	started := r.lostStarts(old)
	for w := range s.Records() {
		if !w.Once || w.Status == state.Completed || w.Status == state.Succeeded || w.Status == state.Skipped || w.Status == state.Uncertain || !r.More && !started[w.Name] {
			continue
		}
		if w.StartedAt == nil {
			w.StartedAt = &s.UpdatedAt
		}
		w.Status = state.Uncertain
		w.Error = &state.Failure{Workstream: w.Name, Outcome: "unknown", Message: "what followed in the journal is lost: it may have happened"}
		r.Uncertain = append(r.Uncertain, w.Name)
	}
}

// lostStarts returns the workstreams that lost commits started. It also copies their
// attempt numbers into the state, since logs are named by them.
func (r *JournalRebuild) lostStarts(old *journal.Salvaged) map[string]bool {
	started, once := map[string]bool{}, map[string]bool{}
	for _, c := range old.Since(r.FromSeq) {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.SessionResumed:
				noteOnce(e.Shape, once)
			case state.WorkstreamStarted:
				started[e.Workstream] = true
				w := r.state.Workstream(e.Workstream)
				if w == nil { // the pipeline of that state did not have the workstream
					w = r.state.Remember(&state.Workstream{Name: e.Workstream, Once: once[e.Workstream]})
				}
				w.Attempts = max(w.Attempts, e.Attempt)
			}
		}
	}
	return started
}

// noteOnce adds the workstreams of a shape that must happen only once. The shape may be
// nil.
func noteOnce(s *state.Shape, once map[string]bool) {
	if s == nil {
		return
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			once[w.Name] = once[w.Name] || w.Once
		}
	}
}
