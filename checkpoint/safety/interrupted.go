package safety

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// restoringNote says that a restore has begun and not ended.
type restoringNote struct {
	FormatVersion string      `json:"format_version"`
	At            time.Time   `json:"at"`
	By            state.Actor `json:"by"`
	Undo          string      `json:"undo,omitempty"`
}

// Interrupted is a restore that was interrupted. Each file is then as one of the two
// checkpoints has it, unless it was edited since.
type Interrupted struct {
	ID   string // the checkpoint that was being restored; restoring it completes the restore
	Undo string // the checkpoint from before it; restoring it gives the restore up; "": there is none
}

func (s *Store) restoringPath(id string) string { return filepath.Join(s.dir(id), restoringName) }

func (s *Store) writeRestoring(id string, n restoringNote) error {
	data, err := state.EncodeJSON(n)
	if err != nil {
		return err
	}
	return store.WriteFile(s.FS, s.restoringPath(id), data, []byte("\n"))
}

// readRestoring reads the note of an interrupted restore; nil: there is none. A note that
// can't be read still says that there was one.
func (s *Store) readRestoring(id string) (*restoringNote, error) {
	data, err := store.ReadFile(s.FS, s.restoringPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for an interrupted restore: %w", err)
	}
	n := &restoringNote{}
	if json.Unmarshal(data, n) != nil {
		return &restoringNote{}, nil //nolint:nilerr // only what it says is lost
	}
	return n, nil
}

// Interrupted returns the restore that was interrupted; nil: there is none. While there is
// one, no other begins. It takes no lock.
func (s *Store) Interrupted() (*Interrupted, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		n, err := s.readRestoring(id)
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue
		}
		half := &Interrupted{ID: id}
		if c, err := s.Read(n.Undo); err == nil {
			half.Undo = c.ID
		}
		return half, nil
	}
	return nil, nil
}

// Involves reports whether a checkpoint is one of the two of an interrupted restore, so
// that it must stay. It may be called on nil.
func (i *Interrupted) Involves(id string) bool { return i != nil && (id == i.ID || id == i.Undo) }

// UnfinishedRestoreError says that a restore was interrupted, so that the workspace may be
// restored in part.
type UnfinishedRestoreError struct{ Interrupted }

func (e *UnfinishedRestoreError) Error() string {
	return fmt.Sprintf("a restore of the safety checkpoint %s was interrupted, so that the workspace may be restored in part", e.ID)
}

// CheckRestored returns an *UnfinishedRestoreError if a restore was interrupted. It takes
// no lock.
func (s *Store) CheckRestored() error {
	half, err := s.Interrupted()
	if err != nil || half == nil {
		return err
	}
	return &UnfinishedRestoreError{*half}
}

// GivesUp reports whether the restore gives an interrupted one up: it takes things back to
// what they were before that.
func (p *RestorePlan) GivesUp() bool { return p.Interrupted != nil && p.ID == p.Interrupted.Undo }

// findInterrupted looks for an interrupted restore.
func (s *Store) findInterrupted(p *RestorePlan) error {
	half, err := s.Interrupted()
	if err != nil {
		return err
	}
	if half.Involves(p.ID) {
		p.Interrupted = half
	} else {
		p.elsewhere = half
	}
	return nil
}

// findEdits finds the files, keys and databases that were changed after a restore was
// interrupted. Each of them differs from both checkpoints of that restore: the one that was
// being restored, and its undo.
func (s *Store) findEdits(ctx context.Context, w *workspace.Workspace, p *RestorePlan) error {
	other, err := s.readOther(ctx, w, p)
	if err != nil {
		return err
	}
	restaged, err := p.restaged(ctx, w, other)
	if err != nil {
		return err
	}
	add := func(what string, known bool) {
		why := "changed after a restore was interrupted"
		if !known {
			why = "perhaps changed after a restore was interrupted: no checkpoint has what was there before"
		}
		p.Newer = append(p.Newer, Newer{Path: what, Why: why})
	}
	for _, c := range p.Changes {
		if c.From == nil || c.From.Mode&workspace.ModeDir != 0 {
			continue // nothing is lost there
		}
		switch was, known := p.knownBefore(c.Path); {
		case !known:
			add(c.Path, false)
		case was == nil || was.Digest != c.From.Digest || was.Mode != c.From.Mode:
			add(c.Path, true)
		case restaged[c.Path]:
			add(c.Path, true)
		}
		delete(restaged, c.Path)
	}
	for _, e := range p.Index {
		if restaged[e.Path] {
			add(e.Path, other != nil)
		}
	}
	for _, e := range p.KeyEdits {
		if other == nil || other.Keys == nil {
			add(keyName(e.Name), false)
		} else if !sameValue(e.From, other.Keys.Values[e.Name]) {
			add(keyName(e.Name), true)
		}
	}
	for _, c := range p.DatabaseChanges {
		was := other.databaseDigest(c.Name)
		if c.Readable() && c.Now.Sum != was {
			add(databaseName(c.Name), was != "")
		}
	}
	return nil
}

// databaseDigest returns the digest of a database in a checkpoint, "" if it has none. The
// checkpoint may be nil.
func (c *Checkpoint) databaseDigest(name string) string {
	if c == nil || c.Databases == nil {
		return ""
	}
	for _, s := range c.Databases.Savepoints {
		if s.Name == name {
			return s.Digest
		}
	}
	return ""
}

// readOther reads the other checkpoint of an interrupted restore, and sets p.before to its
// files. What is lost or damaged is nil.
func (s *Store) readOther(ctx context.Context, w *workspace.Workspace, p *RestorePlan) (*Checkpoint, error) {
	id := p.Interrupted.Undo
	if p.GivesUp() {
		id = p.Interrupted.ID
	}
	if id == "" {
		return nil, nil
	}
	other, err := s.Read(id)
	var damaged *state.DamagedError
	var gone *NotFoundError
	if errors.As(err, &damaged) || errors.As(err, &gone) {
		return nil, nil
	}
	if err != nil || other.Files == nil {
		return other, err
	}
	if p.before, err = w.Load(ctx, other.Files.Listing); objects.IsLost(err) {
		p.before, err = nil, nil
	}
	return other, err
}

// knownBefore returns the entry that the other checkpoint of an interrupted restore has at
// a path, nil if it has none, and reports whether it knows.
func (p *RestorePlan) knownBefore(path string) (e *workspace.Entry, known bool) {
	l := p.before
	if l == nil || l.Lacks(path) {
		return nil, false
	}
	i, there := slices.BinarySearchFunc(l.Entries, path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return nil, true
	}
	return &l.Entries[i], true
}

// restaged returns the paths at which git's index is not as the other checkpoint of an
// interrupted restore has it. If that has no index, it returns all that the plan changes.
func (p *RestorePlan) restaged(ctx context.Context, w *workspace.Workspace, other *Checkpoint) (map[string]bool, error) {
	paths := map[string]bool{}
	if len(p.Index) == 0 {
		return paths, nil
	}
	if other == nil || other.Files == nil || other.Files.Git == nil {
		for _, e := range p.Index {
			paths[e.Path] = true
		}
		return paths, nil
	}
	differ, err := indexChanges(ctx, w.Repository(), other.Files.Git, p.Listing.Patterns)
	for _, e := range differ {
		paths[e.Path] = true
	}
	return paths, err
}

// earlier returns the paths that an interrupted restore may have changed, so that the
// temporary files that it left are removed.
func (p *RestorePlan) earlier() []string {
	if p.Interrupted == nil {
		return nil
	}
	var paths []string
	for _, l := range []*workspace.Listing{p.Listing, p.before} {
		if l != nil {
			for _, e := range l.Entries {
				paths = append(paths, e.Path)
			}
		}
	}
	return paths
}
