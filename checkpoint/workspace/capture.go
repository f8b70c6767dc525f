package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// Capture is a recorded listing, as the journal holds it.
type Capture struct {
	Listing string `json:"listing"`             // the object that lists the files
	Commit  string `json:"commit,omitempty"`    // of git, where it is used
	Ref     string `json:"ref,omitempty"`       // that keeps the commit
	Branch  bool   `json:"on_branch,omitempty"` // the commit is one of the user's branch
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	LeftOut int    `json:"left_out,omitempty"` // sensitive files; the listing names them
	// Unstable is how many files were left out since they kept changing while
	// they were read; the listing names them.
	Unstable int `json:"unstable,omitempty"`
	// Special is how many paths were left out since what is there can't be taken
	// in; the listing names them.
	Special int `json:"special,omitempty"`
}

// OnBranch reports whether the commit is one of the user's branch, to which it
// can be reset, and not one that is on no branch. The captures of earlier
// versions told it by having no reference.
func (c *Capture) OnBranch() bool { return c.Commit != "" && (c.Branch || c.Ref == "") }

// CaptureOptions say what is captured, and under which name.
type CaptureOptions struct {
	Patterns []string  // globs: what is captured outside git, and in addition to what git knows; links stand for what they lead to
	Last     *Capture  // the one before; what did not change since is not written again
	Ref      string    // for git: refs/runner/…; a number is added where there is such a ref
	Message  string    // of the commit
	When     time.Time // of the commit
	// LeftOut are files that were left out since Last, too: what was refused then
	// for what it holds is left out again.
	LeftOut []string
	// Needed says which files must be captured: one of these that keeps changing
	// while it is read is ErrUnstable. nil: none must.
	Needed func(path string) bool
}

// Captured is what Capture did.
type Captured struct {
	Capture
	Changed  bool     // false: everything is as in Last, whose Capture this is
	LeftOut  []string // sensitive files
	Unstable []string // files that kept changing while they were read
	Special  []string // what can't be taken in, as in a Listing
}

// Capture records the files in scope, durable when it returns: in a git work
// tree the tracked ones and the untracked that are not ignored, and everywhere
// those that match the patterns. Sensitive files,
// and those that Refuse is about, are left out. What may not be read is left out, and named as
// Special. A file that changes while it is read
// is read again, and left out, too, if it keeps changing.
func (w *Workspace) Capture(ctx context.Context, o CaptureOptions) (Captured, error) {
	if w.o.Objects == nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", errNoObjects)
	}
	w.cache.Measure()
	// What is compared is read while git lists the files.
	load := beside(func() (*Listing, error) { return w.loadLast(ctx, o.Last) })
	s, err := w.surveyBehindLinks(ctx, &o)
	// A listing that can't be read any more is as good as none.
	last, _ := load()
	if err != nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", err)
	}
	s.needed = o.Needed
	c := &capture{w: w, o: o, survey: s, before: last}
	captured, err := c.run(ctx)
	if err != nil {
		return Captured{}, fmt.Errorf("capture the workspace: %w", err)
	}
	captured.LeftOut, captured.Unstable, captured.Special = s.excluded, s.unstable, s.unreadable
	return captured, nil
}

// surveyBehindLinks looks at everything in scope, and extends the patterns by what
// the links that they meet stand for.
func (w *Workspace) surveyBehindLinks(ctx context.Context, o *CaptureOptions) (*survey, error) {
	still := w
	if w.memo == nil {
		still = w.Still() // for the names: they are listed once
	}
	// A link with a sensitive name stands only for itself: what it leads to may have
	// a name that tells nothing.
	m, err := still.MatchReadable(ctx, o.Patterns, w.sensitiveAt)
	if err != nil {
		return nil, err
	}
	added, err := w.recordable(m.Patterns[len(o.Patterns):])
	if err != nil {
		return nil, err
	}
	o.Patterns = slices.Concat(o.Patterns, added)
	return still.survey(ctx, o.Patterns)
}

// capture is one call of Capture.
type capture struct {
	w      *Workspace
	o      CaptureOptions
	survey *survey
	before *Listing // of CaptureOptions.Last; nil: there is none, or it can't be read
	batch  *objects.Batch
}

func (c *capture) run(ctx context.Context) (captured Captured, err error) {
	unchanged, err := c.compare(ctx)
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
	if captured.Listing, err = c.w.putListing(ctx, c.batch, l); err != nil {
		return Captured{}, err
	}
	if err := c.batch.Commit(ctx); err != nil {
		return Captured{}, err
	}
	c.w.last.Store(&loaded{digest: captured.Listing, listing: l})
	return captured, nil
}

// keepAll keeps the bytes of all files, with git's help where it is used.
func (c *capture) keepAll(ctx context.Context, captured *Capture) error {
	git := c.w.Git()
	if git == nil {
		return c.keep(ctx, func(*surveyed) bool { return true })
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
	// A branch that is reset keeps its commits no longer.
	captured.Ref, captured.Branch = ref, true
	return git.CreateRef(ctx, ref, captured.Commit)
}

// compare reports whether everything is as in the last capture. It reads only
// what may be the same: the rest is read once, when it is kept.
func (c *capture) compare(ctx context.Context) (unchanged bool, err error) {
	excluded := c.o.LeftOut
	last := c.before
	if last != nil {
		excluded = slices.Concat(excluded, last.LeftOut)
	}
	c.recall()
	if err := c.refuse(ctx, excluded); err != nil {
		return false, err
	}
	err = c.survey.hash(ctx, func(f *surveyed) bool {
		return f.last != nil && f.last.Size == f.entry.Size || f.index != "" || c.w.CommitsToBranch()
	})
	if err == nil && last != nil {
		err = c.findMissing(ctx)
	}
	if err != nil || last == nil || !slices.Equal(last.Patterns, c.o.Patterns) {
		return false, err
	}
	now := c.survey.listing(c.o.Patterns)
	return c.isAsBefore(now) && c.committed(ctx), nil
}

// recall finds what the last capture has of each file.
func (c *capture) recall() {
	if c.before == nil {
		return
	}
	rest := c.before.Entries
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

// isAsBefore reports whether a listing says what that of the last capture does.
func (c *capture) isAsBefore(now *Listing) bool {
	last := c.before
	return slices.EqualFunc(now.Entries, last.Entries, same) && slices.Equal(now.Sparse, last.Sparse) &&
		slices.Equal(now.Unstable, last.Unstable) && slices.Equal(now.Special, last.Special) &&
		slices.Equal(now.LeftOut, last.LeftOut)
}

// keep makes objects of the files that want says of.
func (c *capture) keep(ctx context.Context, want func(*surveyed) bool) error {
	var files []*surveyed
	for i := range c.survey.files {
		if want(&c.survey.files[i]) {
			files = append(files, &c.survey.files[i])
		}
	}
	return c.w.Each(ctx, len(files), 1+min(chunkSize, len(files)/16), func(ctx context.Context, dirs *tree.Cursor, i int) error {
		f := files[i]
		return c.giveUp(f, patient(ctx, func() error {
			return c.keepOne(ctx, dirs.Place(f.entry.Path), f)
		}))
	})
}

// keepOne makes an object of a file. What the last capture kept is durable, so
// that nothing need be flushed for it.
func (c *capture) keepOne(ctx context.Context, at tree.Place, f *surveyed) error {
	if c.isObject(f) && !f.missing {
		err := c.w.o.Objects.Check(objects.Ref{Digest: f.entry.Digest, Size: f.entry.Size})
		if f.missing = isMissing(err); !f.missing {
			return err
		}
	}
	if f.missing {
		f.forget()
	}
	err := c.w.keepObject(ctx, c.batch, at, &f.found, f.wantsBlob(c.w))
	if errors.Is(err, errRefused) { // it was scanned, and was another then
		err = ErrUnstable
	}
	return err
}
