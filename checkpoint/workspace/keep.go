package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// errNoObjects says that the workspace was opened without an object store.
var errNoObjects = errors.New("there is no place for objects")

// Keep makes objects of files and returns the entries of the kept contents. The objects
// and the files themselves are durable when it returns. Some files are not kept, only
// described and named in excluded: sensitive files that git does not track, files that
// LeaveOut names or Refuse applies to, and files with content that was excluded before.
func (w *Workspace) Keep(ctx context.Context, paths []string) (kept []Entry, excluded []string, err error) {
	if w.o.Objects == nil {
		return nil, nil, fmt.Errorf("keep files: %w", errNoObjects)
	}
	w.cache.MeasureClockLag()
	secret, err := secrets(ctx, w, paths)
	if err != nil {
		return nil, nil, err
	}
	synced := runAsync(func() (struct{}, error) { return struct{}{}, syncFiles(ctx, w.tree.Root(), paths) })
	batch := w.o.Objects.Begin()
	defer func() { err = errors.Join(err, batch.Abandon()) }()
	kept = make([]Entry, len(paths))
	before := readExcluded(w.cache)
	refused := make([]bool, len(paths))
	err = w.tree.Each(ctx, len(paths), 1+min(chunkSize, len(paths)/8), func(ctx context.Context, _ *tree.Cursor, i int) error {
		if secret[paths[i]] {
			e, err := w.Describe(ctx, paths[i])
			kept[i] = e
			return err
		}
		var err error
		if kept[i], refused[i], err = keepFile(ctx, w, batch, paths[i], &before); err != nil {
			return withPath(paths[i], err)
		}
		return nil
	})
	if _, unsynced := synced(); err == nil {
		err = unsynced
	}
	if err == nil {
		err = batch.Commit(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("keep files: %w", err)
	}
	for i, path := range paths {
		if secret[path] || refused[i] {
			excluded = append(excluded, path)
		}
	}
	return kept, excluded, nil
}

// keepFile makes an object of a file, unless its content is refused, and returns its
// entry.
func keepFile(ctx context.Context, w *Workspace, batch *objects.Batch, path string, before *excludedContents) (e Entry, refused bool, err error) {
	at := w.tree.Place(path)
	f, err := w.files.inspect(at, path, w.files.wantsBlob)
	if err == nil {
		refused, err = before.matches(ctx, w, at, &f)
	}
	if err == nil && !refused {
		err = w.files.keepObject(ctx, batch, at, &f, w.files.wantsBlob)
	}
	if errors.Is(err, errRefused) {
		refused = true
		if _, err = w.files.scanContent(ctx, at, &f, w.files.wantsBlob); err == nil {
			w.cache.RecordExcluded(path, f.entry.Digest)
		}
	}
	return f.entry, refused, err
}

// secrets returns the paths that are sensitive and that git does not track, or that LeaveOut
// names. A path is sensitive by its own name, or by the name that it has below a link that is
// also among the paths.
func secrets(ctx context.Context, w *Workspace, paths []string) (map[string]bool, error) {
	secret := map[string]bool{}
	for _, path := range paths {
		if w.sensitivity.matchesName(path) {
			secret[path] = true
		}
		if !w.sensitivity.matchesAnyElement(path) {
			continue
		}
		to := w.tree.Target(path)
		if to == path {
			continue
		}
		for _, other := range paths {
			if tree.IsAtOrAbove(to, other) && w.sensitivity.matchesName(path+other[len(to):]) {
				secret[other] = true
			}
		}
	}
	if len(secret) == 0 || w.Git() == nil {
		return secret, nil
	}
	files, err := w.Git().Files(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Tracked && !w.sensitivity.matchesTracked(f.Path) {
			delete(secret, f.Path)
		}
	}
	return secret, nil
}

// keepObject makes an object of a file, and updates f. It does not read a file whose
// object exists.
func (in *files) keepObject(ctx context.Context, batch *objects.Batch, at tree.Place, f *found, withBlob func(int64) bool) error {
	if f.isLink() {
		target, err := io.ReadAll(in.refusal.guardReader(strings.NewReader(f.target)))
		if err == nil {
			_, err = batch.Put(ctx, target)
		}
		return err
	}
	if f.hasDigest() {
		there, err := batch.Has(objects.Ref{Digest: f.entry.Digest, Size: f.entry.Size})
		if err != nil || there {
			return err
		}
	}
	return in.readTo(ctx, at, f, withBlob, func(r io.Reader, from *origin) (string, error) {
		clone, shared, err := batch.Clone(ctx, from.file, from.size)
		var ref objects.Ref
		switch {
		case err != nil:
		case shared:
			from.below.r = clone
			ref, err = clone.Keep(ctx, in.refusal.guardReader(r))
		default:
			ref, err = batch.Copy(ctx, in.refusal.guardReader(r))
		}
		return ref.Digest, err
	})
}

// maxSyncs bounds the number of files that are synced at once. File systems combine
// concurrent flushes, so that many cost little more than one.
const maxSyncs = 32

// syncFiles makes files and their names durable, since the programs that wrote them may
// not have synced them. Otherwise a power cut could leave a recorded file empty or
// missing, and Runner could not tell that from an edit.
func syncFiles(ctx context.Context, root *os.Root, paths []string) error {
	dirs := map[string]bool{".": len(paths) > 0}
	for _, path := range paths {
		for dir := range tree.Parents(path) {
			if dirs[dir] {
				break
			}
			dirs[dir] = true
		}
	}
	err := forEachName(ctx, paths, func(path string) error { return syncFile(root, path) })
	if err == nil && len(paths) > 0 {
		err = forEachName(ctx, slices.Sorted(maps.Keys(dirs)), func(dir string) error {
			return syncNamed(root, tree.Native(dir), failpoint.SyncDir)
		})
	}
	if err != nil {
		return fmt.Errorf("make files durable: %w", err)
	}
	return nil
}

// syncFile makes a file durable. For a link it does nothing, since a link has no content
// besides its name.
func syncFile(root *os.Root, path string) error {
	info, err := root.Lstat(tree.Native(path))
	if err != nil || info.Mode().Type() == fs.ModeSymlink {
		return err
	}
	return syncNamed(root, tree.Native(path), failpoint.Sync)
}

// forEachName calls do for all names, several at once. After an error it starts no more
// calls.
func forEachName(outer context.Context, names []string, do func(name string) error) error {
	group, ctx := errgroup.WithContext(outer)
	group.SetLimit(maxSyncs)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := do(name); err != nil {
				return withPath(name, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), outer.Err())
}
