package safety

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// RestorePlan is what a restore would change.
type RestorePlan struct {
	*Checkpoint
	Listing   *workspace.Listing   // the files of the checkpoint; nil: it has none
	Changes   []workspace.Change   // of files
	Index     []git.IndexEntry     // of git's index
	KeyEdits  []KeyEdit            // of the session's keys, sorted by name
	Newer     []Newer              // what the restore would lose that was made after the change that it is to undo
	Missing   []workspace.Missing  // files whose bytes are lost or damaged
	Obstacles []workspace.Obstacle // files that can't be written

	unfinished *restoringNote // of an interrupted restore; nil: there was none
	emptied    []string       // directories that lose their last file
}

// KeyEdit is a key whose value a restore changes. nil: it is not set.
type KeyEdit struct {
	Name     string
	From, To *ledger.Value
}

// Newer is a file that was changed after the change that the checkpoint is to undo.
type Newer struct{ Path, Why string }

// IsEmpty reports whether a restore would change nothing.
func (p *RestorePlan) IsEmpty() bool { return len(p.Changes)+len(p.Index)+len(p.KeyEdits) == 0 }

// Unfinished reports whether an earlier restore was interrupted.
func (p *RestorePlan) Unfinished() bool { return p.unfinished != nil }

// NewerWorkError says that a restore would overwrite newer work. Nothing was changed.
type NewerWorkError struct{ Newer []Newer }

func (e *NewerWorkError) Error() string {
	first := e.Newer[0]
	if len(e.Newer) == 1 {
		return fmt.Sprintf("the restore would overwrite newer work: %s %s", first.Path, first.Why)
	}
	return fmt.Sprintf("the restore would overwrite newer work in %d files: %s %s, for one", len(e.Newer), first.Path, first.Why)
}

// Refused returns why Restore would refuse: a *NewerWorkError unless it is forced, a
// *workspace.MissingError or a *workspace.ObstructedError; nil if it would not.
func (p *RestorePlan) Refused(force bool) error {
	switch {
	case len(p.Missing) > 0:
		return &workspace.MissingError{Missing: p.Missing}
	case len(p.Obstacles) > 0:
		return &workspace.ObstructedError{Obstacles: p.Obstacles}
	case len(p.Newer) > 0 && !force && !p.Unfinished():
		return &NewerWorkError{p.Newer}
	}
	return nil
}

// PlanRestore returns what a restore of a checkpoint would change. It takes no lock and
// changes nothing. keys are the present values of the checkpoint's keys, which
// RestorePlan.Keys names; a checkpoint without keys needs none.
func (s *Store) PlanRestore(ctx context.Context, w *workspace.Workspace, c *Checkpoint, keys map[string]*ledger.Value) (*RestorePlan, error) {
	p, err := s.planKnown(ctx, w, c, keys)
	if err != nil {
		return nil, fmt.Errorf("plan the restore of %s: %w", c.ID, err)
	}
	return p, nil
}

func (s *Store) planKnown(ctx context.Context, w *workspace.Workspace, c *Checkpoint, keys map[string]*ledger.Value) (*RestorePlan, error) {
	var l *workspace.Listing
	var err error
	if c.Files != nil {
		if l, err = w.Load(ctx, c.Files.Listing); err != nil {
			return nil, err
		}
	}
	p, err := s.planRestore(ctx, w, c, l)
	if err != nil {
		return nil, err
	}
	if c.Keys != nil {
		for _, name := range slices.Sorted(maps.Keys(c.Keys.Values)) {
			if from, to := keys[name], c.Keys.Values[name]; (from == nil) != (to == nil) || from != nil && from.Value != to.Value {
				p.KeyEdits = append(p.KeyEdits, KeyEdit{Name: name, From: from, To: to})
			}
		}
	}
	p.unfinished, err = s.readRestoring(c.ID)
	return p, err
}

// planRestore plans the restore of the files in a listing.
func (s *Store) planRestore(ctx context.Context, w *workspace.Workspace, c *Checkpoint, l *workspace.Listing) (*RestorePlan, error) {
	p := &RestorePlan{Checkpoint: c, Listing: l}
	if l == nil {
		return p, nil
	}
	view := c.Files.view(w).WithMemo()
	now, err := view.Now(ctx, l.Patterns)
	if err != nil {
		return nil, err
	}
	if p.Changes, err = view.Changes(ctx, now, l); err != nil {
		return nil, err
	}
	p.Changes = view.OutsideState(p.Changes)
	p.emptied = workspace.Emptied(now, l)
	if p.Obstacles, err = view.Obstacles(ctx, p.Changes); err != nil {
		return nil, err
	}
	var wanted []workspace.Entry
	for _, change := range p.Changes {
		if change.To != nil {
			wanted = append(wanted, *change.To)
		}
	}
	if p.Missing, err = view.Contents().Lost(ctx, wanted, true); err != nil {
		return nil, err
	}
	if g := c.Files.Git; g != nil {
		if p.Index, err = indexChanges(ctx, view.Repository(), g, l.Patterns); err != nil {
			return nil, err
		}
	}
	return p, p.findNewer(ctx, view)
}

// findNewer finds newer work: files that were committed since the checkpoint was made, and
// any that differ since it was last restored.
func (p *RestorePlan) findNewer(ctx context.Context, view *workspace.Workspace) error {
	changed := map[string]bool{}
	for _, c := range p.Changes {
		changed[c.Path] = true
	}
	for _, e := range p.Index {
		changed[e.Path] = true
	}
	committed, err := p.committedSince(ctx, view)
	if err != nil {
		return err
	}
	restored := ""
	if n := len(p.Restores); n > 0 {
		restored = "was changed since the checkpoint was restored at " + p.Restores[n-1].At.UTC().Format(time.DateTime)
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		switch {
		case committed[path]:
			p.Newer = append(p.Newer, Newer{path, "was committed since"})
		case restored != "":
			p.Newer = append(p.Newer, Newer{path, restored})
		}
	}
	return nil
}

// committedSince returns the paths at which HEAD differs from the commit that it named
// when the checkpoint was made.
func (p *RestorePlan) committedSince(ctx context.Context, view *workspace.Workspace) (map[string]bool, error) {
	g := p.Files.Git
	if g == nil {
		return nil, nil
	}
	_, head, err := view.Repository().Head(ctx)
	if err != nil || head == "" || head == g.Head {
		return nil, err
	}
	paths, err := view.Repository().Changed(ctx, g.Head, head)
	committed := make(map[string]bool, len(paths))
	for _, path := range paths {
		committed[path] = true
	}
	return committed, err
}

// stableCheck returns the check that nothing has changed while it was copied, from the
// plan of a restore of the new checkpoint.
func (p *RestorePlan) stableCheck() Check {
	if p.IsEmpty() {
		return Check{Name: StableCheck, Share: 1, Detail: "what is in scope was the same afterwards"}
	}
	paths := make([]string, 0, len(p.Changes))
	for _, c := range p.Changes {
		paths = append(paths, c.Path)
	}
	return Check{
		Name: StableCheck, Share: max(0, 1-share(len(p.Changes), len(p.Listing.Entries))),
		Detail: state.Text(fmt.Sprintf("changed meanwhile: %s", joinSome(paths))),
	}
}

// restoreCheck returns the check of a dry run.
func (p *RestorePlan) restoreCheck() Check {
	c := Check{Name: RestoreCheck, Share: 1, Detail: "a dry run of the restore found nothing missing or in the way"}
	if err := p.Refused(true); err != nil {
		c.Share, c.Detail = 0, state.Text(err.Error())
	}
	return c
}

// restoringNote says that a restore has begun.
type restoringNote struct {
	FormatVersion string      `json:"format_version"`
	At            time.Time   `json:"at"`
	By            state.Actor `json:"by"`
	Undo          string      `json:"undo,omitempty"`
}

// RestoreOptions say how a checkpoint is restored.
type RestoreOptions struct {
	Force bool // overwrite newer work
	By    state.Actor
	Undo  string // the checkpoint from before the restore, "" if there is none
	// Journaled says that the journal of a session has the restore as due, so that no note
	// of it is needed. The caller may then hold the lock of the session alone, if nothing
	// else changes the files in scope.
	Journaled bool
	SetKeys   func(edits []KeyEdit) error // sets keys of the session, durably; required if the plan has KeyEdits
}

// Restore carries out a plan: the keys first, then the files, then git's index. Everything
// is durable and verified when it returns. An interrupted restore is completed by another
// one; until then Restoring tells of it. The caller makes sure that nothing runs in the
// workspace, and holds the exclusive lock of the state directory.
func (s *Store) Restore(ctx context.Context, w *workspace.Workspace, p *RestorePlan, o RestoreOptions) (*Restore, error) {
	done, err := s.restore(ctx, w, p, o)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", p.ID, err)
	}
	return done, nil
}

func (s *Store) restore(ctx context.Context, w *workspace.Workspace, p *RestorePlan, o RestoreOptions) (*Restore, error) {
	if err := p.Refused(o.Force); err != nil {
		return nil, err
	}
	done := Restore{At: s.Now().UTC(), By: o.By, Undo: o.Undo}
	if p.unfinished != nil && p.unfinished.Undo != "" {
		done.Undo = p.unfinished.Undo // it has the files from before the first change
	}
	if !o.Journaled {
		if err := s.writeRestoring(p.ID, restoringNote{state.FormatVersion, done.At, done.By, done.Undo}); err != nil {
			return nil, err
		}
	}
	if len(p.KeyEdits) > 0 {
		if err := o.SetKeys(p.KeyEdits); err != nil {
			return nil, err
		}
	}
	if p.Listing != nil {
		view := p.Files.view(w)
		restored, err := view.Restore(ctx, p.Changes, workspace.RestoreOptions{ID: p.ID, Emptied: p.emptied})
		if err != nil {
			return nil, err
		}
		done.Written, done.Deleted = restored.Written, restored.Deleted
		if err := s.restoreIndex(ctx, view, p); err != nil {
			return nil, err
		}
	}
	c := *p.Checkpoint
	c.Restores = append(slices.Clone(c.Restores), done)
	if err := s.write(&c); err != nil {
		return nil, err
	}
	if o.Journaled {
		return &done, nil
	}
	return &done, store.RemoveDurably(s.FS, s.restoringPath(p.ID))
}

// restoreIndex restores git's index, and makes sure that it is as recorded then.
func (s *Store) restoreIndex(ctx context.Context, view *workspace.Workspace, p *RestorePlan) error {
	g := p.Files.Git
	if g == nil {
		return nil
	}
	if err := view.Repository().SetIndex(ctx, p.Index); err != nil {
		return err
	}
	rest, err := indexChanges(ctx, view.Repository(), g, p.Listing.Patterns)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("git's index changed meanwhile, at %s", rest[0].Path)
	}
	return err
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

// Restoring reports whether a restore of a checkpoint was interrupted.
func (s *Store) Restoring(id string) (bool, error) {
	n, err := s.readRestoring(id)
	return n != nil, err
}

// UnfinishedRestoreError says that a restore was interrupted, so that the workspace may be
// restored in part.
type UnfinishedRestoreError struct{ ID string }

func (e *UnfinishedRestoreError) Error() string {
	return fmt.Sprintf("a restore of the safety checkpoint %s was interrupted, so that the workspace may be restored in part", e.ID)
}

// CheckRestored returns an *UnfinishedRestoreError if any restore was interrupted. It takes
// no lock.
func (s *Store) CheckRestored() error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if restoring, err := s.Restoring(id); err != nil || restoring {
			return cmp.Or(err, error(&UnfinishedRestoreError{id}))
		}
	}
	return nil
}

// joinSome names the first of some paths.
func joinSome(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return fmt.Sprintf("%q", paths)
	}
	return fmt.Sprintf("%q and %d more", paths[:most], len(paths)-most)
}
