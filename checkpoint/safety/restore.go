package safety

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// RestorePlan is what a restore would change.
type RestorePlan struct {
	*Checkpoint
	Listing         *workspace.Listing   // the files of the checkpoint; nil: it has none
	Changes         []workspace.Change   // of files
	Index           []git.IndexEntry     // of git's index
	KeyEdits        []KeyEdit            // of the session's keys, sorted by name
	DatabaseChanges []DatabaseChange     // databases
	Newer           []Newer              // what the restore would lose that was made after the change that it is to undo
	Missing         []workspace.Missing  // files and databases whose bytes are lost or damaged
	Obstacles       []workspace.Obstacle // files that can't be written
	Uncopied        []string             // files and databases that would be overwritten or removed, and can't be copied before that

	// Interrupted is an earlier restore that was interrupted, and that this one completes or
	// gives up; nil: there was none.
	Interrupted *Interrupted

	elsewhere *Interrupted       // a restore that was interrupted, which this one neither completes nor gives up
	now       *workspace.Listing // the present files
	before    *workspace.Listing // the files of the other checkpoint of the interrupted restore; nil: they are not known
	emptied   []string           // directories that lose their last file
}

// KeyEdit is a key whose value a restore changes. nil: it is not set.
type KeyEdit struct {
	Name     string
	From, To *ledger.Value
}

// IsEmpty reports whether a restore would change nothing.
func (p *RestorePlan) IsEmpty() bool {
	return len(p.Changes)+len(p.Index)+len(p.KeyEdits)+len(p.DatabaseChanges) == 0
}

// Refused returns why Restore would refuse: an *UnfinishedRestoreError if the restore of
// another checkpoint was interrupted, a *workspace.MissingError, a
// *workspace.ObstructedError, or, unless it is forced, a *NewerWorkError; nil if it would
// not.
func (p *RestorePlan) Refused(force bool) error {
	switch {
	case p.elsewhere != nil:
		return &UnfinishedRestoreError{*p.elsewhere}
	case len(p.Missing) > 0:
		return &workspace.MissingError{Missing: p.Missing}
	case len(p.Obstacles) > 0:
		return &workspace.ObstructedError{Obstacles: p.Obstacles}
	case len(p.Newer) > 0 && !force:
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
			if from, to := keys[name], c.Keys.Values[name]; !sameValue(from, to) {
				p.KeyEdits = append(p.KeyEdits, KeyEdit{Name: name, From: from, To: to})
			}
		}
	}
	if err := p.planDatabases(ctx, s); err != nil {
		return nil, err
	}
	if err := s.findInterrupted(p); err != nil {
		return nil, err
	}
	if err := s.findNewer(ctx, w, p); err != nil {
		return nil, err
	}
	return p, s.findUncopied(ctx, w, p)
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
	p.now, p.emptied = now, workspace.Emptied(now, l)
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
	return p, p.planIndex(ctx, view)
}

// planIndex plans the restore of git's index.
func (p *RestorePlan) planIndex(ctx context.Context, view *workspace.Workspace) error {
	g := p.Files.Git
	if g == nil {
		return nil
	}
	lost, err := lostIndex(ctx, view.Repository(), g)
	if err != nil || len(lost) > 0 {
		p.Missing = append(p.Missing, lost...)
		return err
	}
	p.Index, err = indexChanges(ctx, view.Repository(), g, p.Listing.Patterns)
	return err
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
		Detail: state.Text(fmt.Sprintf("changed while it was copied: %s", joinSome(paths))),
	}
}

// restoreCheck returns the check of a dry run.
func (p *RestorePlan) restoreCheck() Check {
	c := Check{Name: RestoreCheck, Share: 1, Detail: "a dry run of the restore found nothing missing or in the way"}
	if err := p.Refused(true); err != nil {
		c.Share, c.Detail = 0, "a restore would be refused: "+state.Text(err.Error())
	}
	return c
}

// RestoreOptions say how a checkpoint is restored.
type RestoreOptions struct {
	Force bool // overwrite newer work
	By    state.Actor
	Undo  string // the checkpoint from before the restore, "" if there is none
	// Journaled says that the journal of a session records the restore, from when it is due,
	// so that the record of the checkpoint need not. The caller may then hold the lock of the
	// session alone, if nothing else changes the files in scope.
	Journaled bool
	SetKeys   func(edits []KeyEdit) error // sets keys of the session, durably; required if the plan has KeyEdits
}

// Restore carries out a plan: the databases first, since they are the most likely to fail,
// then the keys, the files, and git's index. Everything
// is durable and verified when it returns. An interrupted restore is completed by another
// one, or given up by a restore of its undo; until then Interrupted tells of it. The caller
// makes sure that nothing runs in the workspace, and holds the exclusive lock of the state directory.
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
	note := p.ID
	switch half := p.Interrupted; {
	case half == nil && o.Journaled:
	case half == nil:
		if err := s.writeRestoring(p.ID, restoringNote{state.FormatVersion, done.At, done.By, done.Undo}); err != nil {
			return nil, err
		}
	default:
		if note = half.ID; note == p.ID && half.Undo != "" {
			done.Undo = half.Undo // it has the files from before the first change
		}
	}
	for _, change := range p.DatabaseChanges {
		if err := change.db.Restore(ctx, change.Savepoint); err != nil {
			return nil, err
		}
		done.Databases = append(done.Databases, change.Name)
	}
	if len(p.KeyEdits) > 0 {
		if err := o.SetKeys(p.KeyEdits); err != nil {
			return nil, err
		}
		done.Keys = len(p.KeyEdits)
	}
	if p.Listing != nil {
		view := p.Files.view(w)
		restored, err := view.Restore(ctx, p.Changes, workspace.RestoreOptions{ID: note, Earlier: p.earlier(), Emptied: p.emptied})
		if err != nil {
			return nil, err
		}
		done.Written, done.Deleted = restored.Written, restored.Deleted
		if err := s.restoreIndex(ctx, view, p); err != nil {
			return nil, err
		}
	}
	if o.Journaled && p.Interrupted == nil {
		return &done, nil
	}
	c := *p.Checkpoint
	c.Restores = append(slices.Clone(c.Restores), done)
	if err := s.write(&c); err != nil {
		return nil, err
	}
	return &done, store.RemoveDurably(s.FS, s.restoringPath(note))
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
