package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace/tree"
)

// settling bounds the number of files that are synced at once. File systems combine
// concurrent flushes, so that many cost little more than one.
const settling = 32

// syncFiles makes files and their names durable, since the programs that wrote them may
// not have synced them. Otherwise a power cut could leave a recorded file empty or
// missing, and Runner could not tell that from an edit.
func (w *Workspace) syncFiles(ctx context.Context, paths []string) error {
	dirs := map[string]bool{".": len(paths) > 0}
	for _, path := range paths {
		for dir := range tree.Parents(path) {
			if dirs[dir] {
				break
			}
			dirs[dir] = true
		}
	}
	err := eachSettled(ctx, paths, w.settleFile)
	if err == nil && len(paths) > 0 {
		err = eachSettled(ctx, slices.Sorted(maps.Keys(dirs)), func(dir string) error {
			return syncNamed(w.Root(), tree.Native(dir), failpoint.SyncDir)
		})
	}
	if err != nil {
		return fmt.Errorf("make files durable: %w", err)
	}
	return nil
}

// settleFile makes a file durable. For a link it does nothing, since a link has no content
// besides its name.
func (w *Workspace) settleFile(path string) error {
	info, err := w.Root().Lstat(tree.Native(path))
	if err != nil || info.Mode().Type() == fs.ModeSymlink {
		return err
	}
	return syncNamed(w.Root(), tree.Native(path), failpoint.Sync)
}

// eachSettled calls do for all names, several at once. After an error it starts no more
// calls.
func eachSettled(outer context.Context, names []string, do func(name string) error) error {
	group, ctx := errgroup.WithContext(outer)
	group.SetLimit(settling)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := do(name); err != nil {
				return failed(name, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), outer.Err())
}
