// Package repair mends what is damaged or out of date in a store, from what is still whole.
//
// [RebuildCheckpoints] writes damaged checkpoint files and objects again.
// [PlanJournalRebuild] and [RebuildJournal] replace a damaged journal by one that begins
// with the newest state that can be proved. [PlanMigrate] and [Migrate] convert a
// session to the current format version. None of them loses a file: what they replace is
// kept in the session's directory.
//
// Package validate finds the damage. Read checkpoint.go for checkpoints; for a journal,
// read journal_plan.go, then journal.go, then rollback.go, which is about rollbacks that
// the damage interrupts.
package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// RebuiltCheckpoint is the result of rebuilding a checkpoint.
type RebuiltCheckpoint struct {
	ID      string       `json:"id"`
	Was     []state.Text `json:"was"`            // problems before the rebuild; empty if only the file was missing
	Kept    []state.Text `json:"kept,omitempty"` // new paths of its damaged files
	Written bool         `json:"written"`        // its file was written again, from the journal
	Files   []state.Text `json:"files"`          // files whose bytes are available again
	Left    []state.Text `json:"left"`           // problems after the rebuild
}

// NewRebuilt returns the result with which rebuilding a checkpoint starts. For a dry run
// it says what a rebuild would do, as far as that is known beforehand.
func NewRebuilt(c validate.CheckpointCheck) RebuiltCheckpoint {
	r := RebuiltCheckpoint{ID: c.Ref.ID, Was: state.Texts(c.Problems), Written: c.Journal, Files: []state.Text{}, Left: []state.Text{}}
	if c.Whole() && c.Ref.Damage != nil {
		r.Was = append(r.Was, "it is marked as damaged")
	}
	if c.Unkept != "" {
		r.Was = append(r.Was, state.Text(c.Unkept))
	}
	return r
}

// Whole reports whether the checkpoint has no problems after the rebuild.
func (r *RebuiltCheckpoint) Whole() bool { return len(r.Left) == 0 }

// RebuildCheckpoints repairs the checkpoints of the session that refs name, or all
// damaged ones if refs is empty. It writes checkpoint files again from the journal and
// keeps the damaged files. It restores lost bytes from workspace files that still have
// the same content, or from git. It recreates the git references that keep commits; if a
// commit is gone, it copies the bytes that git still has into objects. Afterwards it
// removes the damage mark of checkpoints that are whole, and marks the others.
func RebuildCheckpoints(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, refs []string) ([]RebuiltCheckpoint, error) {
	if x.State() == nil {
		return nil, fmt.Errorf("rebuild checkpoints of %s: %w", x.PRD(), checkpoint.ErrNoSession)
	}
	if _, err := x.Drain(ctx); err != nil {
		return nil, err
	}
	before, err := examine(ctx, x, w, refs)
	if err != nil {
		return nil, err
	}
	if err := before.Unread(); err != nil {
		return nil, fmt.Errorf("rebuild checkpoints of %s: %w", x.PRD(), err)
	}
	rebuilt := []RebuiltCheckpoint{}
	for _, c := range before.Checkpoints {
		if !c.Mendable() {
			continue
		}
		r := NewRebuilt(c)
		if err := rebuildFile(x, c, &r); err != nil {
			return rebuilt, err
		}
		if c.Objects == validate.FoundBad {
			if err := rebuildObjects(ctx, x, w, &r); err != nil {
				return rebuilt, err
			}
		}
		if c.Git != validate.FoundOK {
			if err := keepFromPruning(ctx, x, w, c.Ref.ID); err != nil {
				return rebuilt, err
			}
		}
		rebuilt = append(rebuilt, r)
	}
	if len(rebuilt) == 0 {
		return rebuilt, nil
	}
	if err := x.WriteDerived(ctx); err != nil { // writes the files that were only missing
		return rebuilt, err
	}
	return rebuilt, conclude(ctx, x, w, rebuilt)
}

// examine validates checkpoints of the session by reading every byte.
func examine(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, refs []string) (*validate.SessionCheck, error) {
	at := reader.StoredSession{PRD: x.PRD(), Place: disk.PlaceCurrent, Dir: x.Store().Layout().PRDDir(x.PRD()), State: x.State()}
	c, err := validate.CheckSession(ctx, x.Store(), w, at, refs)
	if err != nil {
		return nil, fmt.Errorf("rebuild checkpoints of %s: %w", x.PRD(), err)
	}
	return c, nil
}

// conclude validates the rebuilt checkpoints again, adds the remaining problems to
// rebuilt, and records the result in the session.
func conclude(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, rebuilt []RebuiltCheckpoint) error {
	var ids []string
	for _, r := range rebuilt {
		ids = append(ids, r.ID)
	}
	after, err := examine(ctx, x, w, ids)
	if err != nil {
		return err
	}
	for _, c := range after.Checkpoints {
		for i := range rebuilt {
			if rebuilt[i].ID == c.Ref.ID {
				rebuilt[i].Left = append(rebuilt[i].Left, state.Texts(c.Problems)...)
			}
		}
	}
	_, err = validate.Mark(ctx, x, &validate.Validation{Deep: true, Sessions: []validate.SessionCheck{*after}})
	return err
}

// rebuildFile replaces a checkpoint's damaged file, if the journal has the content. A file
// that is only missing is left to WriteDerived, which writes all missing files in one pass
// over the journal.
func rebuildFile(x *checkpoint.Session, c validate.CheckpointCheck, r *RebuiltCheckpoint) error {
	if !c.Journal {
		return nil
	}
	kept, err := x.RewriteCheckpoint(c.Ref.ID)
	r.Kept = state.Texts(kept)
	return err
}

// rebuildObjects restores the lost or damaged bytes of a checkpoint's files from any other
// place that has the same bytes.
func rebuildObjects(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, r *RebuiltCheckpoint) error {
	file, err := x.Store().ReadCheckpoint(x.PRD(), r.ID)
	if err != nil {
		return nil //nolint:nilerr // that it can't be read is told when it is looked at again
	}
	l, _, err := checkpoint.FilesOf(ctx, w, file.State)
	if err != nil {
		return ctx.Err() // the next validation reports the error
	}
	lost, err := w.Contents().Missing(ctx, l.Entries, true)
	if err != nil || len(lost) == 0 {
		return err
	}
	found, err := findCopies(ctx, x.State(), w, l)
	if err != nil {
		return err
	}
	entries := map[string]workspace.Entry{}
	for _, e := range l.Entries {
		entries[e.Path] = e
	}
	for _, m := range lost {
		done, err := rebuildObject(ctx, x, w, entries[m.Path], found)
		if err != nil {
			return err
		}
		if done {
			r.Files = append(r.Files, state.Text(m.Path))
		}
	}
	return nil
}

// keepFromPruning recreates the references that keep captures in git, for commits that
// still exist. If the commit of the checkpoint is gone, it copies the bytes that git still
// has into objects.
func keepFromPruning(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, id string) error {
	file, err := x.Store().ReadCheckpoint(x.PRD(), id)
	if err != nil || w == nil || w.Repository() == nil || file.State.Capture == nil || file.State.Capture.Commit == "" {
		return nil //nolint:nilerr // that it can't be read is told when it is looked at again
	}
	if err := x.MakeRefs(ctx, w.Repository()); err != nil {
		return err
	}
	there, err := w.Repository().CommitExists(ctx, file.State.Capture.Commit)
	if err != nil || there {
		return err
	}
	l, _, err := checkpoint.FilesOf(ctx, w, file.State)
	if err != nil {
		return ctx.Err()
	}
	for _, e := range l.Entries {
		if e.Blob == "" {
			continue
		}
		kept, err := w.Contents().HasObject(e.Digest)
		if err == nil && !kept {
			_, err = copyBlob(ctx, x, w, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copies says where bytes can be found, by their digest: in files of the workspace, and in
// the git blobs of other captures.
type copies struct {
	files map[string]string
	blobs map[string]workspace.Entry
}

func findCopies(ctx context.Context, st *state.State, w *workspace.Workspace, l *workspace.Listing) (copies, error) {
	c := copies{blobs: map[string]workspace.Entry{}}
	var err error
	if c.files, err = workspace.PathsByDigest(ctx, w, l); err != nil {
		return c, err
	}
	listings := map[string]bool{}
	for _, ref := range st.Checkpoints {
		if ref.Capture == nil || listings[ref.Capture.Listing] {
			continue
		}
		listings[ref.Capture.Listing] = true
		other, err := w.Load(ctx, ref.Capture.Listing)
		if err != nil {
			continue // the listing may be damaged, too
		}
		for _, e := range other.Entries {
			if e.Blob != "" {
				c.blobs[e.Digest] = e
			}
		}
	}
	return c, ctx.Err()
}

// rebuildObject stores the bytes of an entry again, from a copy. It reports whether it
// could.
func rebuildObject(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, e workspace.Entry, found copies) (bool, error) {
	path, inFiles := found.files[e.Digest]
	blob, inGit := found.blobs[e.Digest]
	if inFiles && !workspace.Sensitive(path) {
		same := e
		same.Path = path
		if err := w.Secure(ctx, []workspace.Entry{same}, true); err == nil {
			return true, nil
		}
	}
	if !inGit || blob.Blob == e.Blob {
		return false, ctx.Err()
	}
	return copyBlob(ctx, x, w, blob)
}

// copyBlob stores a git blob as an object. It reports whether git still had the bytes.
func copyBlob(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, e workspace.Entry) (done bool, err error) {
	r, err := w.Contents().Open(ctx, e)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("rebuild an object: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	batch := x.Store().Objects().Begin()
	defer func() { err = errors.Join(err, batch.Abandon()) }()
	ref, err := batch.Copy(ctx, r)
	if err != nil || ref.Digest != e.Digest {
		return false, ctx.Err()
	}
	return true, batch.Commit(ctx)
}
