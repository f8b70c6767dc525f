package workspace

import (
	"context"
	"errors"
)

var errNotBuilt = errors.New("not built")

func (c *cache) load() { c.entries = map[string]cached{} }

// SaveCache writes what was learned of files, if anything was. A failure costs
// time later and nothing else, so that callers may ignore it.
func (w *Workspace) SaveCache() error { return nil }

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
