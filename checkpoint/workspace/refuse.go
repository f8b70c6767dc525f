package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// Detector searches the bytes that are written to it for sensitive values.
type Detector interface {
	io.Writer
	Found() bool // whether the bytes so far hold a sensitive value
}

// errRefused says that the content of a file may not be kept.
var errRefused = errors.New("holds what may not be kept")

// refusal holds the detectors and the contents that may not be kept.
type refusal struct {
	detector func() Detector // of values, in contents and in names; nil: none
	further  func() Detector // in contents alone; nil: none
	all      bool            // the detector knows all present sensitive values
	mu       sync.Mutex
	round    int             // how often ForgetScans was called
	found    map[string]bool // for each scanned content, by digest: whether it is refused
}

// Refuse makes Keep and Capture exclude files in which a detector finds a value. Their
// bytes are not kept, and their names are reported as excluded. Bytes that git or an
// earlier capture already has stay there. Refuse must be called before the workspace is
// used.
//
// A file that was excluded for its content stays excluded, whatever the detector finds,
// since the detector may not know all the values that were sensitive then.
func (w *Workspace) Refuse(detector func() Detector) {
	w.files.refusal = &refusal{detector: detector, found: map[string]bool{}}
}

// RefuseAll is like Refuse, for a detector that knows all present sensitive values. An
// excluded file is captured again if its content is known to have changed since and the
// detector finds nothing in it.
func (w *Workspace) RefuseAll(detector func() Detector) {
	w.Refuse(detector)
	w.files.refusal.all = true
}

// RefuseContent makes Keep and Capture exclude files in whose content a further detector
// finds something. Unlike Refuse it does not search their names. It must be called after
// Refuse, if that is called, and before the workspace is used.
func (w *Workspace) RefuseContent(detector func() Detector) {
	if w.files.refusal == nil {
		w.files.refusal = &refusal{found: map[string]bool{}}
	}
	w.files.refusal.further = detector
}

// ForgetScans makes later captures scan contents again in which the detector has found
// nothing. The caller calls it when the detector finds more values than before.
func (w *Workspace) ForgetScans() {
	r := w.files.refusal
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round++
	maps.DeleteFunc(r.found, func(_ string, found bool) bool { return !found })
}

// contentDetector returns a new detector for a content.
func (r *refusal) contentDetector() Detector {
	var all Detectors
	for _, make := range []func() Detector{r.detector, r.further} {
		if make != nil {
			all = append(all, make())
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// Detectors is a Detector that finds a value if one of its detectors does.
type Detectors []Detector

// Write implements io.Writer.
func (all Detectors) Write(p []byte) (int, error) {
	for _, d := range all {
		if n, err := d.Write(p); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// Found implements Detector.
func (all Detectors) Found() bool {
	return slices.ContainsFunc(all, Detector.Found)
}

// scanRound returns the number of calls of ForgetScans so far.
func (r *refusal) scanRound() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.round
}

// record records whether a scan found a value in a content. If the detector has come to
// find more values since the scan began, in the given round, a scan that found none does
// not count.
func (r *refusal) record(digest string, found bool, round int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found || round == r.round {
		r.found[digest] = found
	}
}

// lookup returns the result of the scan of a content, if it was scanned.
func (r *refusal) lookup(digest string) (found, scanned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, scanned = r.found[digest]
	return found, scanned
}

// guarded is a reader that fails once the detector finds a value. It does not return the
// piece that completes the value, so that no complete value is passed on.
type guarded struct {
	r io.Reader
	d Detector
}

func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if n > 0 {
		if _, failed := g.d.Write(p[:n]); failed != nil {
			return 0, failed
		}
		if g.d.Found() {
			clear(p[:n])
			return 0, errRefused
		}
	}
	return n, err
}

// guardReader returns a reader that fails if the bytes may not be kept. A nil refusal
// allows all.
func (r *refusal) guardReader(from io.Reader) io.Reader {
	if r == nil {
		return from
	}
	return &guarded{from, r.contentDetector()}
}

// scanContent reads a file, describes it, and records whether it may be kept.
func (in *files) scanContent(ctx context.Context, at tree.Place, f *found, withBlob func(int64) bool) (refused bool, err error) {
	round := in.refusal.scanRound()
	d := in.refusal.contentDetector()
	if f.isLink() {
		_, err = io.WriteString(d, f.target)
		return d.Found(), err
	}
	err = in.readDigestInto(ctx, at, f, withBlob, d)
	if err == nil {
		in.refusal.record(f.entry.Digest, d.Found(), round)
	}
	return d.Found(), err
}

// excludeRefused excludes the files that may not be kept: those in which the detector
// finds a value, those that must stay excluded for their content, and those that LeaveOut
// names and git has with other bytes.
func (c *capture) excludeRefused(ctx context.Context, excluded []string) error {
	if c.w.unguarded {
		return nil
	}
	before := c.excludedBefore(excluded)
	c.recordNames()
	found, err := c.detect(ctx)
	if err != nil {
		return fmt.Errorf("look for sensitive values: %w", err)
	}
	s := c.survey
	kept := s.files[:0]
	for i, f := range s.files {
		switch path := f.entry.Path; {
		case f.state == vanished:
			kept = append(kept, f) // dropUnreadable removes it
		case found[i]:
			c.w.cache.RecordExcluded(path, f.entry.Digest)
			s.exclude(path)
		case before.matchesAgain(c, &f), c.w.sensitivity.matchesTracked(path) && !c.isKept(&f):
			s.exclude(path)
		default:
			kept = append(kept, f)
		}
	}
	s.files = kept
	return s.dropUnreadable()
}

// recordNames records which files are excluded for their names. They are captured when their
// names are no longer sensitive, for example because the configuration has changed. It leaves
// out files that only LeaveOut names: not every command calls it.
func (c *capture) recordNames() {
	for _, path := range c.survey.excluded {
		if c.w.sensitivity.matchesPattern(path) {
			c.w.cache.RecordExcludedName(path)
		}
	}
}

// detect returns in which files the detector finds a value. It does not scan files whose
// bytes are already in git's index or in the last capture.
func (c *capture) detect(ctx context.Context) (found []bool, err error) {
	s, w := c.survey, c.w
	found = make([]bool, len(s.files))
	if w.files.refusal == nil {
		return found, nil
	}
	err = w.tree.Each(ctx, len(s.files), 1+min(chunkSize, len(s.files)/16), func(ctx context.Context, dirs *tree.Cursor, i int) error {
		f := &s.files[i]
		if c.isKept(f) {
			return nil
		}
		if is, scanned := w.files.refusal.lookup(f.entry.Digest); scanned {
			found[i] = is
			return nil
		}
		err := retryUnstable(ctx, func() error {
			var err error
			found[i], err = w.files.scanContent(ctx, dirs.Place(f.entry.Path), &f.found, f.wantsBlob(w))
			return err
		})
		found[i] = err == nil && found[i] && !c.isKept(f)
		return s.markUnreadable(f, err)
	})
	return found, err
}

// isKept reports whether git's index or the last capture already has the bytes of a file.
func (c *capture) isKept(f *surveyed) bool {
	if !f.hasDigest() {
		return false
	}
	return f.index != "" && f.blob == f.index || f.last != nil && f.last.Digest == f.entry.Digest
}

// A later capture may not know a sensitive value any more: it was given by a flag, or has
// been changed since. So a file that was excluded for its content is excluded again. The
// last capture names these files, and the cache has the digests of their contents. It also
// has the files that were excluded for their names alone; without the cache, any file may
// have been excluded for its content.

// excludedContents holds the contents that were excluded, as far as the cache has them.
type excludedContents struct {
	paths   map[string]string // the digest of each path
	digests map[string]bool
}

// excludedBefore holds the files and contents that must be excluded again.
type excludedBefore struct {
	excludedContents
	excluded map[string]bool // paths that were excluded before: true if it may have been for their content
}

// excludedBefore returns the files and contents to exclude again. excluded are the paths
// that were excluded before.
func (c *capture) excludedBefore(excluded []string) *excludedBefore {
	b := &excludedBefore{excludedContents: readExcluded(c.w.cache), excluded: map[string]bool{}}
	for _, path := range excluded {
		b.excluded[path] = !c.w.sensitivity.matchesName(path) && !c.w.cache.WasExcludedForName(path)
	}
	return b
}

// matchesAgain reports whether a file must be excluded again although the detector finds
// nothing: its content was excluded before, or the file was and may still have that
// content.
func (b *excludedBefore) matchesAgain(c *capture, f *surveyed) bool {
	path := f.entry.Path
	switch {
	case c.isKept(f):
		return false
	case b.digests[f.entry.Digest]:
		c.w.cache.RecordExcluded(path, f.entry.Digest) // it may have had another name then
		return true
	case !b.excluded[path]:
		return false
	case c.w.files.refusal == nil || !c.w.files.refusal.all || !f.hasDigest():
		return true
	}
	_, onRecord := b.paths[path]
	if !onRecord { // record it from now on
		c.w.cache.RecordExcluded(path, f.entry.Digest)
	}
	return !onRecord
}

// matches reports whether the content of a file was excluded before. It reads the file if
// its digest is not known and the file was excluded.
func (r *excludedContents) matches(ctx context.Context, w *Workspace, at tree.Place, f *found) (bool, error) {
	if _, was := r.paths[f.entry.Path]; was && !f.hasDigest() {
		if err := w.files.readDigest(ctx, at, f, w.files.wantsBlob); err != nil {
			return false, err
		}
	}
	return r.digests[f.entry.Digest], nil
}

func readExcluded(cache *statcache.Cache) excludedContents {
	r := excludedContents{paths: cache.ExcludedFiles(), digests: map[string]bool{}}
	for _, digest := range r.paths {
		r.digests[digest] = true
	}
	return r
}

// Refused returns the paths of entries, from Now, that a capture would exclude for their
// content. They are in the order of the entries. last (nil: none) is the listing of the
// last capture, whose contents are not scanned. excluded are the files that were excluded
// after it, as in CaptureOptions.
func (w *Workspace) Refused(ctx context.Context, entries []Entry, last *Listing, excluded []string) ([]string, error) {
	if last != nil {
		excluded = slices.Concat(excluded, last.LeftOut)
	}
	if len(entries) == 0 || w.files.refusal == nil && len(excluded)+len(w.cache.ExcludedFiles()) == 0 {
		return nil, nil
	}
	c := &capture{w: w, survey: &survey{w: w}, lastListing: last}
	index, err := indexBlobs(ctx, w.Git())
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		f := surveyed{found: foundAt(e.Path), index: index[e.Path]}
		if f.found, err = w.files.describe(ctx, w.tree.Place(e.Path), e.Path, f.wantsBlob(w)); err != nil && !tree.IsAbsent(err) && !errors.Is(err, ErrUnstable) {
			return nil, fmt.Errorf("look for sensitive values: %w", err)
		}
		if err == nil {
			c.survey.files = append(c.survey.files, f)
		}
	}
	err = c.excludeRefused(ctx, excluded)
	return c.survey.excluded, err
}

// indexBlobs returns the blobs in git's index by path. It returns none without a
// repository.
func indexBlobs(ctx context.Context, repo *git.Repository) (map[string]string, error) {
	if repo == nil {
		return nil, nil
	}
	files, err := repo.Files(ctx)
	if err != nil {
		return nil, err
	}
	blobs := make(map[string]string, len(files))
	for _, f := range files {
		blobs[f.Path] = f.Blob
	}
	return blobs, nil
}
