package safety

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

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
	earlier := lookFor(ctx, view, last)
	defer func() { _ = earlier.looking.Wait() }()
	if err := k.capture(ctx, view, last); err != nil {
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
	return k.check(ctx, view, earlier)
}

// capture captures the files in scope. Those that are as last has them are not copied
// again.
func (k *copying) capture(ctx context.Context, view *workspace.Workspace, last *Checkpoint) error {
	c := k.made.Checkpoint
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
	k.made.Listing, err = view.Load(ctx, c.Files.Listing)
	return err
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
// files need not be copied again; nil if the last few have others.
func (s *Store) lastOfScope(w *workspace.Workspace, files *Files, patterns []string) *Checkpoint {
	const few = 8 // so that the number of checkpoints does not slow a new one down
	ids, err := s.ids()
	if err != nil {
		return nil // then everything is copied
	}
	for _, id := range slices.Backward(ids[max(0, len(ids)-few):]) { // an ID begins with its time
		c, err := s.Read(id)
		if err != nil || c.Files == nil || c.Files.InGit != files.InGit || c.Files.Sensitive != files.Sensitive {
			continue
		}
		if l, err := w.Load(context.Background(), c.Files.Listing); err == nil && slices.Equal(l.Patterns, patterns) {
			return c
		}
	}
	return nil
}

// check reads back the contents that were stored for this checkpoint, and makes sure that
// those of an earlier one are still there.
func (k *copying) check(ctx context.Context, view *workspace.Workspace, earlier *earlierContents) error {
	c, l := k.made.Checkpoint, k.made.Listing
	fresh, before, err := earlier.split(l.Entries)
	if err != nil {
		return err
	}
	lost, err := view.Contents().Lost(ctx, fresh, true)
	if err == nil && len(lost) > 0 {
		err = &workspace.MissingError{Missing: lost}
	}
	if err != nil {
		return err
	}
	absent := slices.Concat(l.LeftOut, l.Unstable, l.Special)
	c.Checks = append(c.Checks, contentsCheck(len(fresh), len(before)), completeCheck(len(l.Entries), absent))
	return nil
}

// earlierContents are the contents of an earlier checkpoint. They are looked for while the
// files are captured, since that takes as long.
type earlierContents struct {
	entries []workspace.Entry
	lost    map[string]bool // by path
	looking errgroup.Group
}

// lookFor begins to look for the contents of an earlier checkpoint, which may be nil. The
// caller must wait for it.
func lookFor(ctx context.Context, view *workspace.Workspace, c *Checkpoint) *earlierContents {
	e := &earlierContents{lost: map[string]bool{}}
	if c == nil {
		return e
	}
	e.looking.Go(func() error {
		l, err := view.Load(ctx, c.Files.Listing)
		if err != nil {
			return err
		}
		e.entries = l.Entries
		lost, err := view.Contents().Lost(ctx, l.Entries, false)
		for _, m := range lost {
			e.lost[m.Path] = true
		}
		return err
	})
	return e
}

// split splits entries in two: before are those whose content the earlier checkpoint has at
// the same path, and fresh are all others, which the caller reads back. An entry whose earlier
// content was lost is fresh, since the capture may have stored the content again.
func (e *earlierContents) split(entries []workspace.Entry) (fresh, before []workspace.Entry, err error) {
	if err := e.looking.Wait(); err != nil {
		return nil, nil, err
	}
	fresh, before = splitStored(entries, e.entries)
	if len(e.lost) > 0 {
		isLost := func(b workspace.Entry) bool { return e.lost[b.Path] }
		for _, b := range before {
			if isLost(b) {
				fresh = append(fresh, b)
			}
		}
		before = slices.DeleteFunc(before, isLost)
	}
	return fresh, before, nil
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
