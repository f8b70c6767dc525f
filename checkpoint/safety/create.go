package safety

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// CreateOptions say what a checkpoint copies. Patterns or Keys is required.
type CreateOptions struct {
	Scope     []string      // globs of files as they were given; nil: Patterns
	Patterns  []string      // the patterns that they stand for
	Type      Type          // of the files; "": GitStash if git tracks one of them and can do it, else FileBackup
	WithIndex bool          // choose GitStash even if git tracks no file, if git can do it
	Keys      *Keys         // nil: none
	Sensitive bool          // copy sensitive files, too
	Strict    bool          // fail with a *SensitiveError instead of leaving sensitive files out
	MayBeNone bool          // no file need match Patterns
	Expiry    time.Duration // 0: never
	By        state.Actor
	Reason    string
	Undoes    string // see Checkpoint
}

// Created is a new checkpoint.
type Created struct {
	*Checkpoint
	Listing *workspace.Listing // the files; nil: the checkpoint has none

	sameAs string // the checkpoint that has the same files, of a file_backup for which nothing had to be copied
}

// SensitiveError says that files in scope look sensitive. No checkpoint was made.
type SensitiveError struct{ Paths []string }

func (e *SensitiveError) Error() string {
	return "these files look sensitive: " + strings.Join(e.Paths, ", ")
}

// Create makes a checkpoint, and verifies it. It reads back what it stored, checks that
// nothing has changed meanwhile, and tries the restore in a dry run. The checkpoint is
// durable when Create returns. If Create fails there is no checkpoint, and Tidy removes
// leftover files. The caller holds the lock of the state directory, at least shared.
func (s *Store) Create(ctx context.Context, w *workspace.Workspace, o CreateOptions) (*Created, error) {
	made, err := s.create(ctx, w, o)
	if err != nil {
		return nil, fmt.Errorf("make a safety checkpoint: %w", err)
	}
	return made, nil
}

func (s *Store) create(ctx context.Context, w *workspace.Workspace, o CreateOptions) (*Created, error) {
	if o.Undoes == "" { // the scope of an undo is given; something may have become a link since
		if err := checkLinks(w, o.Patterns); err != nil {
			return nil, err
		}
	}
	now := s.Now().UTC()
	c := &Checkpoint{
		ID: newID(now), Type: StateSnapshot, CreatedAt: now, By: o.By, Reason: state.Text(o.Reason), Undoes: o.Undoes, Keys: o.Keys,
	}
	if o.Expiry > 0 {
		at := now.Add(o.Expiry)
		c.ExpiresAt = &at
	}
	if err := store.MkdirAll(s.FS, s.Dir, filepath.Join(s.Dir, c.ID)); err != nil {
		return nil, err
	}
	made := &Created{Checkpoint: c}
	if len(o.Patterns) > 0 {
		k := &copying{store: s, w: w, o: o, made: made}
		if err := k.copyFiles(ctx); err != nil {
			return nil, errors.Join(err, s.removeRest(context.WithoutCancel(ctx), w, c.ID))
		}
	} else {
		c.Checks = []Check{contentsCheck(len(o.Keys.Values), 0), {CompleteCheck, 1, "every key is in the record"}, {StableCheck, 1, "the keys were read at one moment"}}
	}
	c.Hash = hashOf(made.Listing, c.Keys)
	if err := s.tryRestore(ctx, w, made); err != nil {
		return nil, errors.Join(err, s.removeRest(context.WithoutCancel(ctx), w, c.ID))
	}
	if err := s.write(c); err != nil {
		return nil, err
	}
	// The record holds the values of keys, which are in no object.
	back, err := s.Read(c.ID)
	if err == nil && hashOf(made.Listing, back.Keys) != c.Hash {
		err = fmt.Errorf("read back %s: its hash differs", s.RecordPath(c.ID))
	}
	if err != nil {
		return nil, errors.Join(err, s.Delete(context.WithoutCancel(ctx), w, c.ID))
	}
	return made, nil
}

// tryRestore tries the restore of a new checkpoint in a dry run, and adds what it finds to
// the checks. If nothing had to be copied, there is nothing to try: the files have just
// been compared with those of an earlier checkpoint, whose contents are there.
func (s *Store) tryRestore(ctx context.Context, w *workspace.Workspace, made *Created) error {
	c := made.Checkpoint
	if made.sameAs != "" {
		c.Checks = append(c.Checks,
			Check{StableCheck, 1, state.Text("nothing had to be copied: every file was as " + made.sameAs + " has it")},
			Check{RestoreCheck, 1, "a restore would change nothing, and no content is missing"})
		return nil
	}
	plan, err := s.planRestore(ctx, w, c, made.Listing)
	if err != nil {
		return err
	}
	if made.Listing != nil {
		c.Checks = append(c.Checks, plan.stableCheck())
	}
	c.Checks = append(c.Checks, plan.restoreCheck())
	return nil
}

// copying copies the files of one checkpoint.
type copying struct {
	store *Store
	w     *workspace.Workspace
	o     CreateOptions
	made  *Created
}

// copyFiles copies the files, and checks what was copied.
func (k *copying) copyFiles(ctx context.Context) error {
	c := k.made.Checkpoint
	var err error
	if c.Type, err = k.chooseType(ctx); err != nil {
		return err
	}
	scope := k.o.Scope
	if scope == nil {
		scope = k.o.Patterns
	}
	c.Files = &Files{Scope: state.Texts(scope), InGit: c.Type == GitStash, Sensitive: k.o.Sensitive}
	last := k.store.lastOfScope(k.w, c.Files, k.o.Patterns)
	view := c.Files.view(k.w)
	ref := refsRoot + c.ID + "/files"
	o := workspace.CaptureOptions{Patterns: k.o.Patterns, Ref: ref, Message: "safety checkpoint " + c.ID, When: c.CreatedAt}
	if last != nil {
		o.Last = &last.Files.Capture
	}
	captured, err := view.Capture(ctx, o)
	if err != nil {
		return err
	}
	c.Files.Capture = captured.Capture
	if !captured.Changed && c.Type == FileBackup {
		k.made.sameAs = last.ID
	}
	if k.o.Strict && len(captured.LeftOut) > 0 {
		return &SensitiveError{captured.LeftOut}
	}
	if captured.Commit != "" && captured.Ref != ref { // nothing changed since the last one, which has a reference of its own
		if err := view.Repository().CreateRef(ctx, ref, captured.Commit); err != nil {
			return err
		}
		c.Files.Ref = ref
	}
	if k.made.Listing, err = view.Load(ctx, c.Files.Listing); err != nil {
		return err
	}
	l := k.made.Listing
	if len(l.Entries) == 0 && !k.o.MayBeNone {
		return k.nothingMatches()
	}
	for _, e := range l.Entries {
		if e.Mode&^0o777 == workspace.ModeSymlink && slices.Contains(k.o.Patterns, e.Path) {
			k.assume(e.Path + " is a symbolic link and copied as that; what is behind it is not copied")
		}
	}
	if c.Type == GitStash {
		if err := k.stash(ctx, view); err != nil {
			return err
		}
	}
	return k.check(ctx, view, last)
}

// NothingMatchesError says that a checkpoint would be empty.
type NothingMatchesError struct {
	Scope     []string
	Sensitive []string // files in scope that look sensitive
	Unread    []string // files in scope that can't be read, and what is no file
}

func (e *NothingMatchesError) Error() string {
	text := "no file matches " + strings.Join(e.Scope, " ")
	if absent := slices.Concat(e.Sensitive, e.Unread); len(absent) > 0 {
		text += " but " + joinSome(absent) + ", which can't be copied"
	}
	return text
}

// nothingMatches says why a checkpoint would be empty.
func (k *copying) nothingMatches() error {
	l := k.made.Listing
	none := &NothingMatchesError{Sensitive: l.LeftOut, Unread: slices.Concat(l.Unstable, l.Special)}
	for _, glob := range k.made.Files.Scope {
		none.Scope = append(none.Scope, string(glob))
	}
	return none
}

// view returns the workspace as a checkpoint sees it: only the files in its scope, with
// git or without.
func (f *Files) view(w *workspace.Workspace) *workspace.Workspace {
	v := w.WithGit(f.InGit).OnlyPatterns()
	if f.Sensitive {
		v = v.WithSensitive()
	}
	return v
}

// lastOfScope returns the newest checkpoint with the same patterns, so that unchanged
// files need not be copied again; nil if there is none.
func (s *Store) lastOfScope(w *workspace.Workspace, files *Files, patterns []string) *Checkpoint {
	all, _, err := s.List()
	if err != nil {
		return nil // then everything is copied
	}
	for _, c := range slices.Backward(all) {
		f := c.Files
		if f == nil || f.InGit != files.InGit || f.Sensitive != files.Sensitive {
			continue
		}
		if l, err := w.Load(context.Background(), f.Listing); err == nil && slices.Equal(l.Patterns, patterns) {
			return c
		}
	}
	return nil
}

// check reads back the contents that were stored for this checkpoint, and makes sure that
// those of an earlier one are still there.
func (k *copying) check(ctx context.Context, view *workspace.Workspace, last *Checkpoint) error {
	c, l := k.made.Checkpoint, k.made.Listing
	fresh, before := l.Entries, []workspace.Entry(nil)
	if k.made.sameAs != "" {
		fresh, before = nil, l.Entries
	} else if last != nil {
		old, err := view.Load(ctx, last.Files.Listing)
		if err != nil {
			return err
		}
		fresh, before = splitStored(l.Entries, old.Entries)
	}
	for _, part := range []struct {
		entries []workspace.Entry
		deep    bool
	}{{fresh, true}, {before, false}} {
		lost, err := view.Contents().Lost(ctx, part.entries, part.deep)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			return &workspace.MissingError{Missing: lost}
		}
	}
	absent := slices.Concat(l.LeftOut, l.Unstable, l.Special)
	c.Checks = append(c.Checks, contentsCheck(len(fresh), len(before)), completeCheck(len(l.Entries), absent))
	return nil
}

// completeCheck returns the check of a checkpoint that copied some files, and not others.
func completeCheck(copied int, absent []string) Check {
	c := Check{Name: CompleteCheck, Share: share(copied, copied+len(absent)), Detail: "every file in scope was copied"}
	if len(absent) > 0 {
		c.Detail = state.Text("not copied: " + strings.Join(absent, ", "))
	}
	return c
}

// splitStored splits entries into those whose content is new, and those whose content old
// has in the same place.
func splitStored(entries, old []workspace.Entry) (fresh, before []workspace.Entry) {
	type content struct{ digest, blob string }
	stored := make(map[content]bool, len(old))
	for _, e := range old {
		stored[content{e.Digest, e.Blob}] = true
	}
	for _, e := range entries {
		if stored[content{e.Digest, e.Blob}] {
			before = append(before, e)
		} else {
			fresh = append(fresh, e)
		}
	}
	return fresh, before
}
