package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// Capture is a recorded listing, as the journal holds it.
type Capture struct {
	Listing string `json:"listing"`             // the object that lists the files
	Commit  string `json:"commit,omitempty"`    // in git, if git is used
	Ref     string `json:"ref,omitempty"`       // the reference that keeps the commit
	Branch  bool   `json:"on_branch,omitempty"` // the commit is on the user's branch
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	LeftOut int    `json:"left_out,omitempty"` // excluded files; the listing names them
	// Unstable is the number of unreadable files that kept changing while Runner read them.
	// The listing names them.
	Unstable int `json:"unstable,omitempty"`
	// Special is the number of other unreadable paths. The listing names them.
	Special int `json:"special,omitempty"`
}

// OnBranch reports whether the commit is on the user's branch, so that the branch can be
// reset to it. Captures of earlier versions have no Branch field: their commit is on the
// branch if they have no reference.
func (c *Capture) OnBranch() bool { return c.Commit != "" && (c.Branch || c.Ref == "") }

// CaptureOptions say what to capture, and under which name.
type CaptureOptions struct {
	// Patterns are the globs of files to capture in addition to the files that git knows. A
	// link that matches adds its target.
	Patterns []string
	Last     *Capture  // the previous capture; files that have not changed since are not written again
	Ref      string    // of the commit: refs/runner/…; a number is added if the ref exists
	Message  string    // of the commit
	When     time.Time // of the commit
	// LeftOut are files that were excluded after Last. Files that were excluded for their
	// content are excluded again.
	LeftOut []string
	// Needed reports whether a file must be captured. If such a file keeps changing
	// while it is read, Capture fails with ErrUnstable. nil: no file must be.
	Needed func(path string) bool
}

// Captured is the result of Capture.
type Captured struct {
	Capture
	Changed  bool     // false: nothing has changed since Last, and Capture is Last
	LeftOut  []string // excluded files
	Unstable []string // unreadable files that kept changing while they were read
	Special  []string // other unreadable paths, as in a Listing
}

// Capture records the files in scope. They are durable when it returns. In a git work
// tree these are the tracked files and the untracked ones that git does not ignore;
// everywhere they are also the files that match the patterns. Sensitive files and those
// that Refuse applies to are excluded. A file that Runner may not read is unreadable and
// is named in Special. A file that changes while it is read is read again; if it keeps
// changing, it is unreadable and is named in Unstable.
func (w *Workspace) Capture(ctx context.Context, o CaptureOptions) (Captured, error) {
	if w.o.Objects == nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", errNoObjects)
	}
	w.cache.MeasureClockLag()
	// Load the previous listing while git lists the files.
	load := runAsync(func() (*Listing, error) { return loadLast(ctx, w, o.Last) })
	s, err := surveyBehindLinks(ctx, w, &o)
	// If the previous listing can't be read, all files count as new.
	last, _ := load()
	if err != nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", err)
	}
	s.needed = o.Needed
	c := &capture{w: w, o: o, survey: s, lastListing: last}
	captured, err := c.execute(ctx)
	if err != nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", err)
	}
	captured.LeftOut, captured.Unstable, captured.Special = s.excluded, s.unstable, s.unreadable
	return captured, nil
}

// surveyBehindLinks surveys the files in scope. It adds to o.Patterns the targets of the
// links that match them.
func surveyBehindLinks(ctx context.Context, w *Workspace, o *CaptureOptions) (*survey, error) {
	view := w
	if w.memo == nil {
		view = w.WithMemo() // so that each directory is listed once
	}
	if w.narrow {
		return newSurvey(ctx, view, o.Patterns)
	}
	// A link with a sensitive name is not followed: the name of its target may not look
	// sensitive.
	m, err := view.tree.MatchReadable(ctx, o.Patterns, w.sensitivity.matchesAnyElement)
	if err != nil {
		return nil, err
	}
	added, err := w.files.refusal.recordable(m.Patterns[len(o.Patterns):])
	if err != nil {
		return nil, err
	}
	o.Patterns = slices.Concat(o.Patterns, added)
	return newSurvey(ctx, view, o.Patterns)
}

// capture is one call of Capture.
type capture struct {
	w           *Workspace
	o           CaptureOptions
	survey      *survey
	lastListing *Listing // the listing of CaptureOptions.Last; nil: there is no Last, or its listing can't be read
	batch       *objects.Batch
}

func (c *capture) execute(ctx context.Context) (captured Captured, err error) {
	unchanged, err := c.unchangedSinceLast(ctx)
	if err != nil {
		return Captured{}, err
	}
	c.batch = c.w.o.Objects.Begin()
	defer func() { err = errors.Join(err, c.batch.Abandon()) }()
	if unchanged {
		return Captured{Capture: *c.o.Last}, c.keepMissing(ctx)
	}
	captured.Changed = true
	if err := c.keepAll(ctx, &captured.Capture); err != nil {
		return Captured{}, err
	}
	if err := c.survey.dropUnreadable(); err != nil {
		return Captured{}, err
	}
	l := c.survey.listing(c.o.Patterns)
	captured.Files, captured.Bytes, captured.Capture.LeftOut = len(c.survey.files), sizeOf(l.Entries), len(l.LeftOut)
	captured.Capture.Unstable, captured.Capture.Special = len(l.Unstable), len(l.Special)
	if captured.Listing, err = putListing(ctx, c.batch, l); err != nil {
		return Captured{}, err
	}
	if err := c.batch.Commit(ctx); err != nil {
		return Captured{}, err
	}
	c.w.last.Store(&loaded{digest: captured.Listing, listing: l})
	return captured, nil
}

// keepAll keeps the bytes of all files, in git if the capture uses git.
func (c *capture) keepAll(ctx context.Context, captured *Capture) error {
	git := c.w.Git()
	if git == nil {
		return c.keepObjects(ctx, func(*surveyed) bool { return true })
	}
	ref, err := git.FreeRef(ctx, c.o.Ref)
	if err != nil {
		return err
	}
	if !c.w.CommitsToBranch() {
		captured.Ref = ref
		captured.Commit, err = c.commit(ctx, ref)
		return err
	}
	captured.Commit, err = c.commitAll(ctx)
	if err != nil || captured.Commit == "" {
		return err
	}
	// If the user resets the branch, only the ref keeps the commit.
	captured.Ref, captured.Branch = ref, true
	return git.CreateRef(ctx, ref, captured.Commit)
}

// unchangedSinceLast reports whether nothing has changed since the last capture. It reads
// only files that may be the same. Other files are read once, when their bytes are
// stored.
func (c *capture) unchangedSinceLast(ctx context.Context) (unchanged bool, err error) {
	excluded := c.o.LeftOut
	last := c.lastListing
	if last != nil {
		excluded = slices.Concat(excluded, last.LeftOut)
	}
	c.attachLastEntries()
	if err := c.excludeRefused(ctx, excluded); err != nil {
		return false, err
	}
	err = c.survey.readDigests(ctx, func(f *surveyed) bool {
		return f.last != nil && f.last.Size == f.entry.Size || f.index != "" || c.w.CommitsToBranch()
	})
	if err == nil && last != nil {
		err = c.findMissing(ctx)
	}
	if err != nil || last == nil || !slices.Equal(last.Patterns, c.o.Patterns) {
		return false, err
	}
	now := c.survey.listing(c.o.Patterns)
	return c.equalsLast(now) && c.commitStillValid(ctx), nil
}

// attachLastEntries sets the last field of each surveyed file to its entry in the last
// capture.
func (c *capture) attachLastEntries() {
	if c.lastListing == nil {
		return
	}
	rest := c.lastListing.Entries
	for i := range c.survey.files {
		f := &c.survey.files[i]
		for len(rest) > 0 && rest[0].Path < f.entry.Path {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].Path == f.entry.Path {
			f.last = &rest[0]
		}
	}
}

// equalsLast reports whether now is the same as the listing of the last capture.
func (c *capture) equalsLast(now *Listing) bool {
	last := c.lastListing
	return slices.EqualFunc(now.Entries, last.Entries, sameEntry) && slices.Equal(now.Sparse, last.Sparse) &&
		slices.Equal(now.Unstable, last.Unstable) && slices.Equal(now.Special, last.Special) &&
		slices.Equal(now.LeftOut, last.LeftOut)
}

// keepObjects makes objects of the files for which want returns true.
func (c *capture) keepObjects(ctx context.Context, want func(*surveyed) bool) error {
	var files []*surveyed
	for i := range c.survey.files {
		if want(&c.survey.files[i]) {
			files = append(files, &c.survey.files[i])
		}
	}
	return c.w.tree.Each(ctx, len(files), 1+min(chunkSize, len(files)/16), func(ctx context.Context, dirs *tree.Cursor, i int) error {
		f := files[i]
		return c.handleKeepError(f, retryUnstable(ctx, func() error {
			return c.keepFileObject(ctx, dirs.Place(f.entry.Path), f)
		}))
	})
}

// keepFileObject makes an object of a file. It does not sync an object of the last
// capture, which is durable already.
func (c *capture) keepFileObject(ctx context.Context, at tree.Place, f *surveyed) error {
	if c.isObject(f) && !f.missing {
		err := c.w.o.Objects.Check(objects.Ref{Digest: f.entry.Digest, Size: f.entry.Size})
		if f.missing = isMissing(err); !f.missing {
			return err
		}
	}
	if f.missing {
		f.dropDigest()
	}
	err := c.w.files.keepObject(ctx, c.batch, at, &f.found, f.wantsBlob(c.w))
	if errors.Is(err, errRefused) { // the scan allowed the content, so the file has changed since
		err = ErrUnstable
	}
	return err
}

// isObject reports whether the last capture has an unchanged file as an object.
func (c *capture) isObject(f *surveyed) bool {
	return f.last != nil && f.last.Blob == "" && f.hasDigest() && f.last.Digest == f.entry.Digest
}

// findMissing finds, among the files that had to be read and have not changed since the
// last capture, those whose objects are missing or damaged. It does not check the other
// files: the cost of a capture should depend on the changes, not on the size of the
// workspace.
func (c *capture) findMissing(ctx context.Context) error {
	var read []*surveyed
	for i := range c.survey.files {
		if f := &c.survey.files[i]; f.read && c.isObject(f) {
			read = append(read, f)
		}
	}
	err := c.w.tree.Each(ctx, len(read), 1+min(chunkSize, len(read)/16), func(ctx context.Context, _ *tree.Cursor, i int) error {
		err := c.w.o.Objects.Verify(ctx, read[i].entry.Digest)
		read[i].missing = isMissing(err)
		if read[i].missing {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for what was kept: %w", err)
	}
	return nil
}

// isMissing reports whether an error says that an object is missing or damaged.
func isMissing(err error) bool {
	var damaged *objects.DamagedError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// keepMissing stores missing objects again. They are durable when it returns. If a file
// has changed meanwhile, the next capture records the change.
func (c *capture) keepMissing(ctx context.Context) error {
	isMissingFile := func(f surveyed) bool { return f.missing }
	if !slices.ContainsFunc(c.survey.files, isMissingFile) {
		return nil
	}
	if err := c.keepObjects(ctx, func(f *surveyed) bool { return f.missing }); err != nil {
		return err
	}
	return c.batch.Commit(ctx)
}
