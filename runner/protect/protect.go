// Package protect makes the safety checkpoints of protected workstreams, and rolls back
// what the workstreams changed.
//
// Begin with Keeper: Protect makes a checkpoint before an attempt, and RollBack restores it
// if the attempt or a gate fails. WorkTree finds the files that an attempt changed outside
// its scope.
//
// What is copied and how it is restored is for package checkpoint/safety to say. When a
// workstream is protected, committed or rolled back, and what is recorded of that, is
// decided in package runner; only Finish records something by itself.
package protect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/tokens"
	"prdrunner/checkpoint/workspace"
)

// DefaultExpiry is how long a checkpoint is kept that nothing deletes before: if the
// pipeline says nothing else, and of the files that a failed attempt left.
const DefaultExpiry = 24 * time.Hour

// Keeper makes and restores the safety checkpoints of protected workstreams. It is safe
// for concurrent use for workstreams whose scopes do not overlap.
type Keeper struct {
	safety *safety.Store
	files  *workspace.Workspace
	by     state.Actor
}

// New returns a Keeper for the files of a workspace.
func New(s *safety.Store, files *workspace.Workspace, by state.Actor) *Keeper {
	newTokens := tokens.New()
	return &Keeper{safety: s, files: files.WithDetector(func() workspace.Detector { return newTokens() }), by: by}
}

// Scope is what an attempt at a workstream may change.
type Scope struct {
	Workstream string
	Attempt    int
	Patterns   []string // of files
	Keys       *safety.Keys
	PRD        string        // whose pipeline has the savepoints
	Savepoints []string      // names of savepoint blocks
	Expiry     time.Duration // of the checkpoint; 0: never
}

// Made is the checkpoint that protects an attempt.
type Made struct {
	Checkpoint string // its ID
	Again      bool   // it is the one of an earlier attempt
	Files      int
	LeftOut    []string // files in scope that look sensitive, and that a rollback does not restore
}

// Protect makes the checkpoint of a scope before an attempt. If earlier names one of the
// same scope that was rolled back, and nothing has changed since, it is used again. Files
// that look sensitive are left out. It is an error if another file can't be copied, since
// it could not be rolled back.
func (k *Keeper) Protect(ctx context.Context, s Scope, earlier string) (*Made, error) {
	if made, err := k.reuse(ctx, s, earlier); made != nil || err != nil {
		return made, err
	}
	made, err := k.safety.Create(ctx, k.files, safety.CreateOptions{
		Patterns: s.Patterns, Type: safety.FileBackup, Keys: s.Keys, Databases: s.Savepoints, DatabasesOf: s.PRD, MayBeNone: true, Expiry: s.Expiry, By: k.by,
		Reason: fmt.Sprintf("before attempt %d at %s", s.Attempt, s.Workstream),
	})
	if err != nil {
		return nil, err
	}
	if absent := uncopied(made.Listing, s.Patterns); len(absent) > 0 {
		err := &UncopiedError{Paths: absent}
		return nil, errors.Join(err, k.safety.Delete(context.WithoutCancel(ctx), k.files, made.ID))
	}
	return describe(made.Checkpoint, made.Listing, false), nil
}

// uncopied returns the paths in a scope that were not copied although they don't look
// sensitive: what Runner can't read, and what is behind a link that the scope names.
func uncopied(l *workspace.Listing, patterns []string) []string {
	if l == nil {
		return nil
	}
	absent := slices.Concat(l.Unstable, l.Special)
	for _, e := range l.Entries {
		if e.Mode&^0o777 == workspace.ModeSymlink && slices.Contains(patterns, e.Path) {
			absent = append(absent, e.Path)
		}
	}
	return absent
}

// UncopiedError says that files in the scope of a workstream can't be copied.
type UncopiedError struct{ Paths []string }

func (e *UncopiedError) Error() string {
	return fmt.Sprintf(`its scope can't be protected, since Runner can't copy %s, which may not be read, kept changing, is no regular file, or is a link that the scope names itself; leave it out with "!%s"`, text.Enumerate(e.Paths), e.Paths[0])
}

func describe(c *safety.Checkpoint, l *workspace.Listing, again bool) *Made {
	made := &Made{Checkpoint: c.ID, Again: again}
	if l != nil {
		made.Files, made.LeftOut = len(l.Entries), l.LeftOut
	}
	return made
}

// reuse returns an earlier checkpoint, if there is one and nothing has changed since.
func (k *Keeper) reuse(ctx context.Context, s Scope, earlier string) (*Made, error) {
	if earlier == "" {
		return nil, nil
	}
	c, err := k.safety.Read(earlier)
	if err != nil || c.Expired(k.safety.Now()) {
		return nil, nil //nolint:nilerr // a new one is made
	}
	plan, err := k.safety.PlanRestore(ctx, k.files, c, valuesOf(s.Keys))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || !plan.IsEmpty() || !covers(plan, s): // if it is damaged, nothing depends on it any more
		return nil, nil //nolint:nilerr // a new one is made
	}
	return describe(c, plan.Listing, true), nil
}

func valuesOf(keys *safety.Keys) map[string]*ledger.Value {
	if keys == nil {
		return nil
	}
	return keys.Values
}

// covers reports whether a checkpoint has exactly a scope.
func covers(p *safety.RestorePlan, s Scope) bool {
	var patterns, keys []string
	if p.Listing != nil {
		patterns = p.Listing.Patterns
	}
	if p.Keys != nil {
		keys = slices.Sorted(maps.Keys(p.Keys.Values))
	}
	return slices.Equal(patterns, s.Patterns) && slices.Equal(p.Databases.Names(), s.Savepoints) && slices.Equal(keys, slices.Sorted(maps.Keys(valuesOf(s.Keys))))
}

// RolledBack is what a rollback did.
type RolledBack struct {
	Written, Deleted int                      // files
	Savepoints       []string                 // databases
	Keys             map[string]*ledger.Value // the keys to set in the session; nil: the key is not set
	Left             string                   // the checkpoint that has what the attempt left; "": there is none
	Removed          []string                 // the files that were deleted
	Lost             []string                 // what was overwritten or deleted, and could not be copied first
}

// maxNamed bounds how many files an event names.
const maxNamed = 20

// Event returns the event that records a rollback.
func (r *RolledBack) Event(p state.Protection, reason string) state.ProtectionRolledBack {
	return state.ProtectionRolledBack{
		Workstream: p.Workstream, Attempt: p.Attempt, Checkpoint: p.Checkpoint, Reason: state.Text(reason),
		Written: r.Written, Deleted: r.Deleted, Removed: state.Texts(r.Removed[:min(len(r.Removed), maxNamed)]), Savepoints: r.Savepoints, Keys: r.Keys, Left: r.Left,
	}
}

// Warning says what a rollback could not copy first, "" if it copied everything.
func (r *RolledBack) Warning(workstream string) string {
	if len(r.Lost) == 0 {
		return ""
	}
	return fmt.Sprintf("not copied before %s was rolled back, since they look sensitive or can't be read: %s", workstream, text.Enumerate(r.Lost))
}

// RollBack restores what a workstream changed. First it copies the files and databases that
// it is about to change, so that nothing is lost. keys are the present values of the
// protected keys. RollBack can be repeated after an interruption.
func (k *Keeper) RollBack(ctx context.Context, p state.Protection, keys map[string]*ledger.Value) (*RolledBack, error) {
	c, err := k.safety.Read(p.Checkpoint)
	if err != nil {
		return nil, err
	}
	plan, err := k.safety.PlanRestore(ctx, k.files, c, keys)
	if err != nil {
		return nil, err
	}
	done := &RolledBack{Keys: map[string]*ledger.Value{}}
	if plan.IsEmpty() {
		return done, nil
	}
	if err := k.copyLeft(ctx, p, plan, done); err != nil {
		return nil, fmt.Errorf("copy what it left: %w", err)
	}
	restored, err := k.safety.Restore(ctx, k.files, plan, safety.RestoreOptions{
		Force: true, By: k.by, Undo: done.Left, Journaled: true,
		SetKeys: func(edits []safety.KeyEdit) error {
			for _, edit := range edits {
				done.Keys[edit.Name] = edit.To
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	done.Written, done.Deleted, done.Savepoints = restored.Written, restored.Deleted, restored.Databases
	return done, nil
}

// copyLeft copies the files and databases that a rollback changes. If an interrupted call
// has done so, that copy has them as the attempt left them; what was restored or changed
// since is copied, too.
func (k *Keeper) copyLeft(ctx context.Context, p state.Protection, plan *safety.RestorePlan, done *RolledBack) error {
	o := safety.CreateOptions{
		Type: safety.FileBackup, MayBeNone: true, Expiry: DefaultExpiry, By: k.by, Undoes: p.Checkpoint,
		Reason: fmt.Sprintf("what attempt %d at %s left", p.Attempt, p.Workstream),
	}
	if len(plan.Changes) > 0 {
		o.Patterns = plan.Listing.Patterns
	}
	for _, c := range plan.DatabaseChanges {
		if c.Readable() {
			o.Databases, o.DatabasesOf = append(o.Databases, c.Name), plan.Databases.PRD
		}
	}
	if len(o.Patterns)+len(o.Databases) == 0 {
		return nil
	}
	var err error
	if done.Left, err = k.copyOf(o.Undoes, o.Reason); err != nil {
		return err
	}
	left, err := k.safety.Create(ctx, k.files, o)
	if err != nil {
		return err
	}
	done.Left = cmp.Or(done.Left, left.ID)
	done.Lost = plan.Lacking(left)
	for _, change := range plan.Changes {
		if change.To == nil {
			done.Removed = append(done.Removed, change.Path)
		}
	}
	return nil
}

// copyOf returns the oldest checkpoint that was made for a reason before another one was
// restored; "" if there is none.
func (k *Keeper) copyOf(undoes, reason string) (string, error) {
	all, _, err := k.safety.List()
	for _, c := range all {
		if c.Undoes == undoes && string(c.Reason) == reason {
			return c.ID, nil
		}
	}
	return "", err
}

// Delete removes the checkpoint of a protection that is no longer needed.
func (k *Keeper) Delete(ctx context.Context, id string) error {
	return k.safety.Delete(ctx, k.files, id)
}
