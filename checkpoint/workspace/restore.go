package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// RestoreOptions say how files are restored.
type RestoreOptions struct {
	ID    string // part of the names of temporary files, so that a repeated restore removes those of the first
	Force bool   // skip files that can't be restored, instead of failing without a change
	// Earlier are paths that an earlier restore of this ID changed and that need no
	// further change. Temporary files in their directories are removed, too.
	Earlier []string
	// Emptied are directories that an earlier restore should have removed along with their
	// last file, and may not have. Those that are empty are removed, unless a change needs
	// them.
	Emptied []string
}

// Restored is the result of Restore.
type Restored struct {
	Written int
	Deleted int
	Skipped []Missing // with Force: the files that could not be restored
}

// MissingError says that files can't be restored. Nothing was changed.
type MissingError struct{ Missing []Missing }

func (e *MissingError) Error() string {
	return describeFailures("restored", len(e.Missing), func(i int) (string, string) { return e.Missing[i].Path, e.Missing[i].Reason })
}

// describeFailures says for how many files an action failed, and names the first ten with
// their reasons.
func describeFailures(done string, n int, at func(i int) (path, reason string)) string {
	const named = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%s be %s", countNoun(n, "file cannot", "files cannot"), done)
	for i := range min(named, n) {
		path, reason := at(i)
		fmt.Fprintf(&b, "; %s: %s", path, reason)
	}
	if n > named {
		fmt.Fprintf(&b, "; and %d more", n-named)
	}
	return b.String()
}

// countNoun returns a number with the noun in singular or plural.
func countNoun(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// ChangedError says that a file matches neither the expected entry nor the entry to
// restore.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was changed meanwhile: somebody else is at work in the workspace", e.Path)
}

// IsChanged reports whether an error says that files of the workspace were changed meanwhile.
func IsChanged(err error) bool {
	var changed *ChangedError
	return errors.As(err, &changed)
}

// Restore executes changes, as Diff(now, target) returns them. They are durable and
// verified when it returns. A path that matches neither Change.From nor Change.To is a
// *ChangedError.
//
// Restore first writes all bytes to temporary files and verifies them. So it finds
// missing bytes (*MissingError) and obstacles (*ObstructedError) before it changes
// anything. Afterwards it checks that the files at the paths are the ones that it
// verified, and unchanged since. It reads a file again if it was written too shortly
// before for stat to show a later change.
//
// A new directory above a file gets the mode that the process gives new ones. Directories
// that lose their last file are removed.
//
// Restore writes and removes only the paths of the changes, and empty directories above
// and below them. Files in a state directory stay unchanged, even if the changes include
// them. An interrupted restore can be repeated with a new Diff and the same ID.
func (w *Workspace) Restore(ctx context.Context, changes []Change, o RestoreOptions) (Restored, error) {
	r, err := newRestore(w, changes, o)
	if err == nil {
		err = r.execute(ctx)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("restore files: %w", err)
	}
	return Restored{Written: int(r.written.Load()), Deleted: int(r.deleted.Load()), Skipped: r.skipped}, nil
}

// restore is one call of Restore.
type restore struct {
	w            *Workspace
	o            RestoreOptions
	items        []*item         // sorted by path
	removedPaths map[string]bool // paths of files and empty directories to be removed
	needed       map[string]bool // directories above the files to be written
	made         []string        // directories that this restore made, parents first
	skipped      []Missing
	locks        locks
	reading      sync.Mutex // held while recheckContent reads a file, which may have other hard links
	preview      bool       // Obstacles only looks for obstacles and changes nothing
	renamed      time.Time  // the time before the first temporary file was renamed
	written      atomic.Int64
	deleted      atomic.Int64
}

// item is a change to be made.
type item struct {
	Change
	stat         statcache.Stat // of the file at the path
	exists       bool           // a file, or an empty directory, is at the path and must be removed or replaced
	done         bool           // the path needs no further change
	isDir        bool           // a directory is at the path
	unrecordable string         // why no capture can record the file at the path, so that it must not be replaced; "": it can be

	stage  string         // the temporary file's directory
	temp   string         // the temporary file's name; "": none
	staged statcache.Stat // the temporary file's stat once its bytes are durable
	sums   statcache.Sums // of its bytes
}

// removes reports whether the file at the path must be removed before anything is written.
func (i *item) removes() bool {
	return !i.done && i.From != nil && (i.To == nil || i.From.IsDir() || i.To.IsDir()) && !i.onlyMode()
}

// writes reports whether the item has bytes to write.
func (i *item) writes() bool {
	return !i.done && i.To != nil && !i.To.IsDir() && !i.onlyMode()
}

// onlyMode reports whether only the permissions change.
func (i *item) onlyMode() bool { return differInMode(i.From, i.To) }

func differInMode(from, to *Entry) bool {
	return from != nil && to != nil && from.Digest == to.Digest && from.kindBits() == to.kindBits() && to.Mode != ModeSymlink
}

// IsDir reports whether the entry is an empty directory.
func (e *Entry) IsDir() bool { return e.kindBits() == ModeDir }

// IsSymlink reports whether the entry is a symbolic link.
func (e *Entry) IsSymlink() bool { return e.kindBits() == ModeSymlink }

// kindBits returns the mode without permissions: 0 for a regular file.
func (e *Entry) kindBits() uint32 { return e.Mode &^ 0o777 }

func newRestore(w *Workspace, changes []Change, o RestoreOptions) (*restore, error) {
	if strings.ContainsAny(o.ID, "/\\\x00") || len(o.ID) > 100 {
		return nil, fmt.Errorf("%q cannot be the name of a restore", o.ID)
	}
	r := &restore{w: w, o: o, removedPaths: map[string]bool{}, needed: map[string]bool{}}
	for _, c := range w.OutsideState(slices.Clone(changes)) {
		if c.From == nil && c.To == nil || c.From != nil && c.From.Path != c.Path || c.To != nil && c.To.Path != c.Path {
			return nil, fmt.Errorf("%q: a change must be from something or to something of its path", c.Path)
		}
		if err := checkEntryPath(c.Path); err != nil {
			return nil, err
		}
		if c.To != nil {
			if err := c.To.validate(); err != nil {
				return nil, err
			}
		}
		if w.tree.Reserved(c.Path) {
			return nil, fmt.Errorf("%s is not a part of the workspace", c.Path)
		}
		r.items = append(r.items, &item{Change: c})
	}
	slices.SortFunc(r.items, func(a, b *item) int { return cmp.Compare(a.Path, b.Path) })
	return r, nil
}

func (r *restore) execute(ctx context.Context) (err error) {
	r.w.cache.MeasureClockLag()
	if err := r.removeTemps(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	// Remove temporary files after an error, and reset the modes of directories, even if
	// ctx has ended.
	defer func() {
		after := context.WithoutCancel(ctx)
		if err != nil {
			err = errors.Join(err, r.removeTemps(after), r.removeMadeDirs())
		}
		err = errors.Join(err, r.locks.restore(r.w))
	}()
	if err := r.stageAll(ctx); err != nil {
		return err
	}
	return r.applyChanges(ctx)
}

// compare compares the files at the paths with the changes.
func (r *restore) compare(ctx context.Context) error {
	err := r.w.tree.Each(ctx, len(r.items), 1+min(chunkSize, len(r.items)/16), func(ctx context.Context, c *tree.Cursor, n int) error {
		i := r.items[n]
		err := r.compareItem(ctx, c, i)
		var changed *ChangedError
		if r.preview && (errors.As(err, &changed) || errors.Is(err, ErrUnstable)) {
			i.done = true // the file may be stable when it is restored
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, i := range r.items {
		if i.removes() && i.unrecordable == "" {
			r.removedPaths[i.Path] = true
		}
	}
	return nil
}

func (r *restore) compareItem(ctx context.Context, c *tree.Cursor, i *item) error {
	now, err := r.current(ctx, c, i)
	if i.unrecordable = unrecordableReason(err); i.unrecordable != "" {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case equalEntries(now, i.To) && (now != nil || !i.isDir || i.To == nil):
		i.done = true
	case equalEntries(now, i.From):
	case i.From == nil && now.IsDir(): // an empty directory holds nothing that could be lost
	default:
		return &ChangedError{Path: i.Path}
	}
	i.exists = now != nil
	if staysMounted(c, i, now) {
		i.unrecordable = "what is there is a mount point: unmount it first"
	}
	return nil
}

// staysMounted reports whether the file at the path of an item must be replaced or
// removed, but can't be since something is mounted there. An empty directory may stay.
func staysMounted(c *tree.Cursor, i *item, now *Entry) bool {
	switch {
	case i.done, now == nil && !i.isDir, equalEntries(now, i.To), differInMode(now, i.To):
		return false
	case i.isDir && (i.To == nil || i.To.IsDir()):
		return false
	}
	return c.IsMountPoint(i.Path)
}

// unrecordableReason returns the reason if err says that no capture can record the file
// at a path; "" for other errors.
func unrecordableReason(err error) string {
	switch {
	case errors.Is(err, errTooLong):
		return "what is there " + errTooLong.Error()
	case errors.Is(err, ErrNotRegular):
		return "what is there " + ErrNotRegular.Error()
	case errors.Is(err, fs.ErrPermission):
		return "what is there may not be read"
	}
	return ""
}

func equalEntries(a, b *Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameEntry(*a, *b)
}

// current returns the entry of the file at the path of an item. It returns nil if no file
// is there, or a directory that is not empty.
func (r *restore) current(ctx context.Context, c *tree.Cursor, i *item) (*Entry, error) {
	at := c.Place(i.Path)
	is, err := at.Status()
	if tree.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, withPath(i.Path, err)
	}
	i.stat = is.Stat
	if is.Mode.IsDir() {
		i.isDir = true
		empty, err := r.w.tree.IsEmpty(i.Path)
		if err != nil {
			return nil, withPath(i.Path, err)
		}
		if !empty {
			return nil, nil
		}
		mask, err := maskOnlyAt(at, is.Mode.Perm())
		if err != nil {
			return nil, withPath(i.Path, err)
		}
		return &Entry{Path: i.Path, Mode: ModeDir | uint32(is.Mode.Perm())&^mask}, nil
	}
	f, err := r.w.files.inspectStatus(is, at, i.Path, r.w.files.wantsBlob)
	if err == nil && !f.hasDigest() {
		if i.From != nil && (f.entry.Size != i.From.Size && (i.To == nil || f.entry.Size != i.To.Size)) {
			return nil, &ChangedError{Path: i.Path}
		}
		err = r.w.files.readDigest(ctx, at, &f, r.w.files.wantsBlob)
	}
	if err != nil {
		return nil, withPath(i.Path, err)
	}
	return &f.entry, nil
}

// removeTemps removes the temporary files of restores with this ID.
func (r *restore) removeTemps(ctx context.Context) error {
	swept := map[string]bool{}
	prefix := r.tempName(-1)
	c := r.w.tree.Cursor()
	defer c.Close()
	paths := slices.Clone(r.o.Earlier)
	for _, i := range r.items {
		paths = append(paths, i.Path)
	}
	for _, dir := range paths {
		for dir != "" {
			dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
			if swept[dir] {
				break
			}
			swept[dir] = true
			if err := r.removeTempsIn(ctx, c, dir, prefix); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *restore) removeTempsIn(ctx context.Context, c *tree.Cursor, dir, prefix string) error {
	root, err := c.Enter(dir)
	if tree.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := r.w.tree.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, prefix) || e.IsDir {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := failpoint.Before(failpoint.Remove, e.Name); err != nil {
			return err
		}
		if err := root.Remove(e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what an earlier restore left: %w", err)
		}
	}
	return nil
}

// tempName returns the name of a temporary file, or for -1 the common prefix of all names.
func (r *restore) tempName(n int) string {
	if n < 0 {
		return tree.TempPrefix + r.o.ID + "-"
	}
	return fmt.Sprintf("%s%s-%d", tree.TempPrefix, r.o.ID, n)
}
