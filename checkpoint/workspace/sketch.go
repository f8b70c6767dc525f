package workspace

import (
	"context"
	"errors"
	"io"
	"time"
)

var errNotBuilt = errors.New("not built")

func (c *cache) load() { c.entries = map[string]cached{} }

// SaveCache writes what was learned of files, if anything was. A failure costs
// time later and nothing else, so that callers may ignore it.
func (w *Workspace) SaveCache() error { return nil }

// Keep makes objects of files, durable when it returns, and describes them as
// they were kept. Sensitive files are described, not kept, and named.
func (w *Workspace) Keep(ctx context.Context, paths []string) (kept []Entry, leftOut []string, err error) {
	return nil, nil, errNotBuilt
}

// Capture is a recorded listing, as the journal holds it.
type Capture struct {
	Listing string `json:"listing"`          // the object that lists the files
	Commit  string `json:"commit,omitempty"` // of git, where it is used
	Ref     string `json:"ref,omitempty"`    // that keeps the commit
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	LeftOut int    `json:"left_out,omitempty"` // sensitive files; the listing names them
}

// CaptureOptions say what is captured, and under which name.
type CaptureOptions struct {
	Patterns []string  // globs: what is captured outside git, and in addition to what git knows
	Last     *Capture  // the one before; what did not change since is not written again
	Ref      string    // for git: refs/runner/…
	Message  string    // of the commit
	When     time.Time // of the commit
}

// Captured is what Capture did.
type Captured struct {
	Capture
	Changed bool     // false: everything is as in Last, whose Capture this is
	LeftOut []string // sensitive files
	Special []string // what is neither file, link nor directory
}

// Capture records the files in scope, durable when it returns: in a git work
// tree the tracked ones and the untracked that are not ignored, and everywhere
// those that match the patterns.
func (w *Workspace) Capture(ctx context.Context, o CaptureOptions) (Captured, error) {
	return Captured{}, errNotBuilt
}

// Listing is the files at one moment.
type Listing struct {
	Patterns []string // that were captured
	LeftOut  []string // sensitive files that were not
	Entries  []Entry  // sorted by path
}

// Load reads the listing of a capture, verified.
func (w *Workspace) Load(ctx context.Context, digest string) (*Listing, error) {
	return nil, errNotBuilt
}

// Now lists the files as they are, by the rules of Capture. It writes nothing.
func (w *Workspace) Now(ctx context.Context, patterns []string) (*Listing, error) {
	return nil, errNotBuilt
}

// Open returns the bytes of an entry (of a link: its target), verified against its digest.
func (w *Workspace) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	return nil, errNotBuilt
}

// Missing is an entry whose bytes can't be had.
type Missing struct {
	Path   string
	Reason string
}

// Missing returns the entries whose bytes are not there; deep: or are
// damaged, for which all of them are read.
func (w *Workspace) Missing(ctx context.Context, entries []Entry, deep bool) ([]Missing, error) {
	return nil, errNotBuilt
}

// ChangeKind is what happened to a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified" // its bytes, mode or kind
	Deleted  ChangeKind = "deleted"
)

// Change is a difference between two listings.
type Change struct {
	Path string
	Kind ChangeKind
	From *Entry // nil: added
	To   *Entry // nil: deleted
}

// Diff returns what leads from one listing to another, sorted by path.
// Entries are the same if path, mode and digest are.
func Diff(from, to *Listing) []Change { return nil }

// With returns the listing with some entries replaced or added.
func (l *Listing) With(entries []Entry) *Listing { return nil }

// RestoreOptions say how files are put back.
type RestoreOptions struct {
	ID    string // names the temporary files, so that a repeated restore removes those of the first
	Force bool   // leave out what can't be restored, instead of changing nothing
}

// Restored is what Restore did.
type Restored struct {
	Written int
	Deleted int
	Skipped []Missing // with Force: what could not be restored
}

// MissingError says that files can't be restored. Nothing was changed.
type MissingError struct{ Missing []Missing }

func (e *MissingError) Error() string { return "files cannot be restored" }

// Restore carries out changes, as Diff(now, target) gives them: durable and
// verified when it returns. That everything can be restored is made sure before
// anything is changed. A path that is no longer as Change.From says, and not yet
// as To says, is an error that names it: somebody else is at work.
// Cut short, it can be repeated with a new Diff and the same ID.
func (w *Workspace) Restore(ctx context.Context, changes []Change, o RestoreOptions) (Restored, error) {
	return Restored{}, errNotBuilt
}

// Sensitive reports whether a path looks like one that holds secrets.
func Sensitive(path string) bool { return false }
