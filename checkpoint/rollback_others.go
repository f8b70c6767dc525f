package checkpoint

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

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// Several PRDs may use one workspace. A rollback of one takes files back whoever wrote
// them, so that another session may lose artifacts on record.

// Loss is what a session loses when another one is rolled back.
type Loss struct {
	PRD     string       `json:"prd"`
	Session string       `json:"session"`
	Status  state.Status `json:"status"`
	Files   []state.Text `json:"files"` // artifacts on record that are deleted or changed, sorted
}

// losses finds what the current sessions of other PRDs lose by changes. What can't be
// read, as after damage, is told where it is used.
func (s *Store) losses(ctx context.Context, prd string, changes []workspace.Change) ([]Loss, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	var all []Loss
	err := s.eachOther(ctx, prd, func(other *state.State) {
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

// eachOther calls do with the state of each other PRD that has one.
func (s *Store) eachOther(ctx context.Context, prd string, do func(*state.State)) error {
	prds, err := s.PRDs()
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

// eachSetAside calls do with the sessions of other PRDs that were set aside and may have been
// rolled back since a session began.
func (s *Store) eachSetAside(ctx context.Context, state *state.State, do func(StoredSession)) error {
	places, err := s.places()
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.prd == state.PRD || p.kind != PlaceHistory && p.kind != PlaceFailed || !s.rolledBackSince(p.dir, state.CreatedAt) {
			continue
		}
		if at := s.readArchived(p); at.State != nil {
			do(at)
		}
	}
	return nil
}

// rolledBackSince tells at little cost whether the journal in a directory may have a rollback
// that is on record since a moment: it was written since, and names one.
func (s *Store) rolledBackSince(dir string, t time.Time) bool {
	f, err := s.fs.OpenFile(filepath.Join(dir, disk.JournalName), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
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

// TakenBack is a rollback of another PRD that took files of a session back.
type TakenBack struct {
	PRD      string       `json:"prd"`
	Rollback string       `json:"rollback"`
	At       time.Time    `json:"timestamp"`
	Safety   string       `json:"safety_checkpoint,omitempty"` // of the other PRD: going back to it brings the files back; "" where its session was set aside since
	Files    []state.Text `json:"files"`                       // artifacts on record that are still not as they were, sorted
}

// TakenBack returns the rollbacks of other PRDs that took artifacts of a session back which
// are still not as they are on record, newest first. The record of such a rollback tells by
// its two checkpoints: the one before it has the artifact as on record, and its target has
// not. It is read where it lies, also in a session that was set aside. It takes no lock and
// changes nothing.
func (s *Store) TakenBack(ctx context.Context, w *workspace.Workspace, current *state.State) ([]TakenBack, error) {
	recorded := byPath(state.RecordedFiles(current))
	if len(recorded) == 0 {
		return nil, nil
	}
	type candidate struct {
		of     StoredSession
		record state.RollbackRecord
	}
	var candidates []candidate
	consider := func(of StoredSession) {
		for _, r := range of.State.Rollbacks {
			if r.Error == "" && r.Scope != state.RollbackState && r.At.After(current.CreatedAt) {
				candidates = append(candidates, candidate{of, r})
			}
		}
	}
	err := s.eachOther(ctx, current.PRD, func(other *state.State) {
		consider(StoredSession{PRD: other.PRD, Place: PlaceCurrent, Dir: s.layout.PRDDir(other.PRD), State: other})
	})
	if err == nil {
		err = s.eachSetAside(ctx, current, consider)
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return b.record.At.Compare(a.record.At) })
	var all []TakenBack
	for _, c := range candidates {
		if err != nil {
			break
		}
		taken := TakenBack{PRD: c.of.PRD, Rollback: c.record.ID, At: c.record.At}
		if c.of.Place == PlaceCurrent {
			taken.Safety = c.record.Safety
		}
		if taken.Files, err = s.takenBy(ctx, w, c.of, c.record, recorded); len(taken.Files) > 0 {
			all = append(all, taken)
		}
	}
	return all, err
}

// takenBy returns which of the recorded files a rollback took back. These are taken out
// of recorded: an earlier rollback did not take them.
func (s *Store) takenBy(ctx context.Context, w *workspace.Workspace, of StoredSession, r state.RollbackRecord, recorded map[string]workspace.Entry) ([]state.Text, error) {
	filesOf := func(intent state.RollbackStarted) (*workspace.Listing, error) {
		state, err := s.targetIn(of.Dir, of.State, intent)
		if err != nil {
			return nil, err
		}
		l, _, err := FilesOf(ctx, w, state)
		return l, err
	}
	before, err := filesOf(state.RollbackStarted{To: r.Safety})
	if err != nil {
		return nil, ctx.Err() // it is pruned, or damaged: nothing tells any more
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

// digestAt returns the digest of the file that a listing has at a path, "" for none.
func digestAt(l *workspace.Listing, path string) string {
	i, there := slices.BinarySearchFunc(l.Entries, path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return ""
	}
	return l.Entries[i].Digest
}
