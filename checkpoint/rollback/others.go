package rollback

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// Several PRDs may share a workspace. A rollback of one PRD restores files regardless of
// which PRD wrote them, so that the session of another PRD may lose recorded artifacts.

// Loss lists the artifacts that a session loses when another PRD is rolled back.
type Loss struct {
	PRD     string       `json:"prd"`
	Session string       `json:"session"`
	Status  state.Status `json:"status"`
	Files   []state.Text `json:"files"` // recorded artifacts that are deleted or changed, sorted
}

// losses returns what the current sessions of other PRDs lose by changes. It skips
// sessions that can't be read; the commands that use them report the damage.
func losses(ctx context.Context, s *checkpoint.Store, prd string, changes []workspace.Change) ([]Loss, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	var all []Loss
	err := eachOther(ctx, s, prd, func(other *state.State) {
		recorded := byPath(state.RecordedFiles(other))
		loss := Loss{PRD: other.PRD, Session: other.Session, Status: other.Status}
		for _, c := range changes {
			e, ok := recorded[c.Path]
			if ok && c.From != nil && c.From.Digest == e.Digest && (c.To == nil || c.To.Digest != e.Digest) {
				loss.Files = append(loss.Files, state.Text(c.Path))
			}
		}
		if len(loss.Files) > 0 {
			all = append(all, loss)
		}
	})
	return all, err
}

// eachOther calls do with the state of each other PRD that has a session and can be read.
func eachOther(ctx context.Context, s *checkpoint.Store, prd string, do func(*state.State)) error {
	prds, err := s.Reader().PRDs()
	if err != nil {
		return fmt.Errorf("look for the sessions of other PRDs: %w", err)
	}
	for _, other := range prds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if other == prd {
			continue
		}
		if snap, err := s.Load(other); err == nil && snap.State != nil {
			do(snap.State)
		}
	}
	return nil
}

// rolledBackSince reports whether the journal in a directory may record a rollback later
// than t. The test is cheap: the journal was modified after t and names a rollback.
func rolledBackSince(s *checkpoint.Store, dir string, t time.Time) bool {
	f, err := s.FS().OpenFile(filepath.Join(dir, disk.JournalName), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil || !info.ModTime().IsZero() && info.ModTime().Before(t) {
		return false
	}
	data, err := io.ReadAll(f)
	return err == nil && bytes.Contains(data, []byte(`"rollback`))
}

func byPath(entries []workspace.Entry) map[string]workspace.Entry {
	all := make(map[string]workspace.Entry, len(entries))
	for _, e := range entries {
		all[e.Path] = e
	}
	return all
}

// TakenBack is a rollback of another PRD that changed or deleted artifacts of a session.
type TakenBack struct {
	PRD      string    `json:"prd"`
	Rollback string    `json:"rollback"`
	At       time.Time `json:"timestamp"`
	// Safety is the other PRD's checkpoint from before the rollback: going back to it
	// restores the files. It is "" if that session was archived since.
	Safety string       `json:"safety_checkpoint,omitempty"`
	Files  []state.Text `json:"files"` // recorded artifacts that still differ from the record, sorted
}

// FindTakenBack returns the rollbacks of other PRDs that changed or deleted artifacts of
// a session, newest first, with the artifacts that still differ from the record. A
// rollback did so if the checkpoint before it has the artifact as recorded and its
// target has not. Rollbacks of archived sessions count, too. FindTakenBack takes no lock
// and changes nothing.
func FindTakenBack(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, current *state.State) ([]TakenBack, error) {
	recorded := byPath(state.RecordedFiles(current))
	if len(recorded) == 0 {
		return nil, nil
	}
	type candidate struct {
		of     reader.StoredSession
		record state.RollbackRecord
	}
	var candidates []candidate
	consider := func(of reader.StoredSession) {
		for _, r := range of.State.Rollbacks {
			if r.Error == "" && r.Scope != state.RollbackState && r.At.After(current.CreatedAt) {
				candidates = append(candidates, candidate{of, r})
			}
		}
	}
	err := eachOther(ctx, s, current.PRD, func(other *state.State) {
		consider(reader.StoredSession{PRD: other.PRD, Place: disk.PlaceCurrent, Dir: s.Layout().PRDDir(other.PRD), State: other})
	})
	if err != nil {
		return nil, err
	}
	archived, err := s.Reader().Archived(ctx, func(of reader.StoredSession) bool {
		return of.PRD != current.PRD && rolledBackSince(s, of.Dir, current.CreatedAt)
	})
	if err != nil {
		return nil, err
	}
	for _, of := range archived {
		if of.State != nil {
			consider(of)
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return b.record.At.Compare(a.record.At) })
	var all []TakenBack
	for _, c := range candidates {
		taken := TakenBack{PRD: c.of.PRD, Rollback: c.record.ID, At: c.record.At}
		if c.of.Place == disk.PlaceCurrent {
			taken.Safety = c.record.Safety
		}
		taken.Files, err = filesTakenBy(ctx, s, w, c.of, c.record, recorded)
		if err != nil {
			return all, err
		}
		if len(taken.Files) > 0 {
			all = append(all, taken)
		}
	}
	return all, nil
}

// filesTakenBy returns the recorded files that a rollback changed or deleted. It removes
// them from recorded, so that no earlier rollback is blamed for them.
func filesTakenBy(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, of reader.StoredSession, r state.RollbackRecord, recorded map[string]workspace.Entry) ([]state.Text, error) {
	filesOf := func(intent state.RollbackStarted) (*workspace.Listing, error) {
		state, err := targetIn(s, of.Dir, of.State, intent)
		if err != nil {
			return nil, err
		}
		l, _, err := checkpoint.FilesOf(ctx, w, state)
		return l, err
	}
	before, err := filesOf(state.RollbackStarted{To: r.Safety})
	if err != nil {
		return nil, ctx.Err() // a checkpoint that was pruned or damaged tells nothing
	}
	target, err := filesOf(state.RollbackStarted{To: r.To, StateSeq: r.StateSeq})
	if err != nil {
		return nil, ctx.Err()
	}
	var paths []state.Text
	for path, e := range recorded {
		if digestAt(before, path) != e.Digest || digestAt(target, path) == e.Digest {
			continue
		}
		now, err := w.Describe(ctx, path)
		switch {
		case tree.IsAbsent(err), errors.Is(err, workspace.ErrNotRegular):
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", path, err)
		case now.Digest == e.Digest:
			continue
		}
		paths = append(paths, state.Text(path))
		delete(recorded, path)
	}
	slices.Sort(paths)
	return paths, nil
}

// digestAt returns the digest of a listing's file at a path, "" if there is none.
func digestAt(l *workspace.Listing, path string) string {
	i, there := slices.BinarySearchFunc(l.Entries, path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return ""
	}
	return l.Entries[i].Digest
}
