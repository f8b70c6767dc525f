package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// applyChanges makes the changes. Until it returns, the workspace is in an intermediate
// state.
func (r *restore) applyChanges(ctx context.Context) error {
	touched := &dirSet{dirs: map[string]bool{}}
	for _, i := range r.items {
		if i.done {
			continue
		}
		touched.addDir(i.stage)
		if i.To == nil {
			continue
		}
		for dir := range tree.Parents(i.Path) {
			r.needed[dir] = true
		}
		if i.To.IsDir() {
			r.needed[i.Path] = true
		}
	}
	for _, step := range []func(context.Context, *dirSet) error{
		r.remove, r.removeDirs, r.makeDirs, r.rename, r.changeModes, r.syncDirs,
	} {
		if err := step(ctx, touched); err != nil {
			return err
		}
	}
	return r.verify(ctx)
}

// dirSet holds the directories in which names have changed. They must be synced.
type dirSet struct {
	mu   sync.Mutex
	dirs map[string]bool
}

func (s *dirSet) addDir(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirs[dir] = true
}

// remove removes the files of the items for which removes returns true, the deepest first.
func (r *restore) remove(ctx context.Context, touched *dirSet) error {
	c := r.w.tree.Cursor()
	defer c.Close()
	for _, i := range slices.Backward(r.items) {
		if !i.removes() || !i.exists {
			continue
		}
		if i.isDir && r.needed[i.Path] { // new files are written into it
			i.done = true
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		touched.addDir(tree.Parent(i.Path))
		err := r.locks.change(c, tree.Parent(i.Path), func(dir *os.Root) error {
			if err := r.recheck(ctx, dir, i); err != nil {
				return err
			}
			return dir.Remove(tree.Native(tree.Base(i.Path)))
		})
		if i.isDir && (isNotEmpty(err) || i.To == nil && isInUse(err)) { // it is in use, or another restore left a file in it
			i.done = i.To == nil
			continue
		}
		if err != nil && !tree.IsAbsent(err) {
			return fmt.Errorf("remove %s: %w", i.Path, err)
		}
		if i.To == nil {
			r.deleted.Add(1)
		}
	}
	return nil
}

// recheck returns an error if the file at the path of an item has changed since compare.
// A directory must only be a directory, since its times change with its content.
func (r *restore) recheck(ctx context.Context, dir *os.Root, i *item) error {
	info, err := dir.Lstat(tree.Native(tree.Base(i.Path)))
	switch {
	case err != nil && !tree.IsAbsent(err):
		return err
	case err != nil && !i.exists, err == nil && i.isDir && info.IsDir():
		return nil
	case err != nil || !i.exists:
		return &ChangedError{Path: i.Path}
	case statcache.StatOf(info) == i.stat:
		return nil
	}
	return r.recheckContent(ctx, dir, i)
}

// recheckContent compares the content of a file whose stat has changed. The times and the
// mode of a hard link change when another name of the same file is replaced, removed or
// given other permissions. recheckContent reads one file at a time, since each removed
// name would disturb the reading.
func (r *restore) recheckContent(ctx context.Context, dir *os.Root, i *item) error {
	r.reading.Lock()
	defer r.reading.Unlock()
	at := tree.PlaceIn(dir, tree.Base(i.Path))
	var f found
	err := retryUnstable(ctx, func() (err error) {
		if f, err = r.w.files.inspect(at, i.Path, r.w.files.wantsBlob); err == nil && !f.hasDigest() {
			err = r.w.files.readDigest(ctx, at, &f, r.w.files.wantsBlob)
		}
		return err
	})
	switch {
	case tree.IsAbsent(err), errors.Is(err, ErrNotRegular), errors.Is(err, ErrUnstable):
		return &ChangedError{Path: i.Path}
	case err != nil:
		return err
	case !equalEntries(&f.entry, i.From) && !equalEntries(&f.entry, i.To):
		return &ChangedError{Path: i.Path}
	}
	return nil
}

// removeDirs removes the directories that have lost their last file, and the empty
// directories at the paths of new files.
func (r *restore) removeDirs(ctx context.Context, touched *dirSet) error {
	c := r.w.tree.Cursor()
	defer c.Close()
	for _, i := range slices.Backward(r.items) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i.writes() && i.isDir {
			if err := r.removeTree(c, i.Path); err != nil {
				return fmt.Errorf("make room for %s: %w", i.Path, err)
			}
			touched.addDir(tree.Parent(i.Path))
		}
		if !i.removes() {
			continue
		}
		for dir := range tree.Parents(i.Path) {
			if r.needed[dir] {
				break
			}
			removed, err := r.removeDir(c, dir, touched)
			if err != nil {
				return err
			}
			if !removed {
				break
			}
		}
	}
	return r.removeEmptied(c, touched)
}

// removeEmptied removes the empty directories that an earlier restore should have removed.
func (r *restore) removeEmptied(c *tree.Cursor, touched *dirSet) error {
	for _, dir := range slices.Backward(slices.Sorted(slices.Values(r.o.Emptied))) {
		if r.needed[dir] {
			continue
		}
		if _, err := r.removeDir(c, dir, touched); err != nil {
			return err
		}
	}
	return nil
}

// removeDir removes a directory if it is empty. It fails only if the disk does. A
// directory that is in use, or that Runner may not remove, stays: it is empty, so that
// nothing of the newer state is left.
func (r *restore) removeDir(c *tree.Cursor, path string, touched *dirSet) (bool, error) {
	err := r.locks.change(c, tree.Parent(path), func(dir *os.Root) error {
		info, err := dir.Lstat(tree.Native(tree.Base(path)))
		if err == nil && !info.IsDir() {
			err = tree.ErrBehindLink
		}
		if err == nil {
			err = dir.Remove(tree.Native(tree.Base(path)))
		}
		return err
	})
	switch {
	case err == nil:
		delete(touched.dirs, path)
		touched.addDir(tree.Parent(path))
		return true, nil
	case tree.IsAbsent(err), isNotEmpty(err), isInUse(err), errors.Is(err, fs.ErrPermission):
		return false, nil
	}
	return false, fmt.Errorf("remove the directory %s: %w", path, err)
}

// removeTree removes a directory that holds only empty directories.
func (r *restore) removeTree(c *tree.Cursor, path string) error {
	entries, err := r.w.tree.ReadDir(path)
	if tree.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir {
			return &ChangedError{Path: path + "/" + e.Name}
		}
		if err := r.removeTree(c, path+"/"+e.Name); err != nil {
			return err
		}
	}
	return r.locks.change(c, tree.Parent(path), func(dir *os.Root) error { return dir.Remove(tree.Native(tree.Base(path))) })
}

// makeDirs makes the directories above new files, and the empty directories of the
// changes.
func (r *restore) makeDirs(ctx context.Context, touched *dirSet) error {
	c := r.w.tree.Cursor()
	defer c.Close()
	for _, path := range slices.Sorted(maps.Keys(r.needed)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.locks.change(c, tree.Parent(path), func(dir *os.Root) error {
			err := dir.Mkdir(tree.Native(tree.Base(path)), 0o777)
			if err == nil {
				r.made = append(r.made, path)
				touched.addDir(path)
				touched.addDir(tree.Parent(path))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the directory %s: %w", path, err)
		}
	}
	return nil
}

// removeMadeDirs removes the directories that this restore made for files that it did not
// write, the deepest first.
func (r *restore) removeMadeDirs() error {
	c := r.w.tree.Cursor()
	defer c.Close()
	touched := &dirSet{dirs: map[string]bool{}}
	for _, dir := range slices.Backward(r.made) {
		if _, err := r.removeDir(c, dir, touched); err != nil {
			return err
		}
	}
	return nil
}

// rename renames the temporary files to their final paths.
func (r *restore) rename(ctx context.Context, touched *dirSet) error {
	var items []*item
	for _, i := range r.items {
		if i.temp != "" {
			items = append(items, i)
		}
	}
	chunks := slices.Collect(slices.Chunk(items, 1+min(chunkSize, len(items)/16)))
	r.renamed = r.w.cache.Now()
	return r.w.tree.Each(ctx, len(chunks), 1, func(ctx context.Context, c *tree.Cursor, n int) error {
		staged := r.w.tree.Cursor() // a second cursor, so that neither has to reopen directories
		defer staged.Close()
		for _, i := range chunks[n] {
			if err := ctx.Err(); err != nil {
				return err
			}
			touched.addDir(tree.Parent(i.Path))
			if err := r.renameOne(ctx, c, staged, i); err != nil {
				return fmt.Errorf("put %s in its place: %w", i.Path, err)
			}
			r.written.Add(1)
		}
		return nil
	})
}

// renameOne renames one temporary file to its final path, between two open directories. So
// no path is resolved, and no link is followed.
func (r *restore) renameOne(ctx context.Context, c, staged *tree.Cursor, i *item) error {
	put := func(rename func(dir *os.Root) error) error {
		return r.locks.change(c, tree.Parent(i.Path), func(dir *os.Root) error {
			if !i.removes() && !i.isDir {
				if err := r.recheck(ctx, dir, i); err != nil {
					return err
				}
			}
			return rename(dir)
		})
	}
	if i.stage == tree.Parent(i.Path) {
		return put(func(dir *os.Root) error { return dir.Rename(i.temp, tree.Native(tree.Base(i.Path))) })
	}
	return r.locks.change(staged, i.stage, func(*os.Root) error {
		return put(func(*os.Root) error { return tree.RenameBetween(staged, i.temp, c, tree.Native(tree.Base(i.Path))) })
	})
}

// changeModes sets the permissions of empty directories, and of files of which only the
// permissions change.
func (r *restore) changeModes(ctx context.Context, _ *dirSet) error {
	c := r.w.tree.Cursor()
	defer c.Close()
	for _, i := range r.items {
		if i.done || i.To == nil || !i.To.IsDir() && !i.onlyMode() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		dir, name, err := c.At(i.Path)
		if err == nil && !i.To.IsDir() {
			err = r.recheck(ctx, dir, i)
		}
		if err == nil {
			err = chmodFile(dir, tree.Native(name), fs.FileMode(i.To.Mode&0o777))
		}
		if err != nil {
			return fmt.Errorf("set the mode of %s: %w", i.Path, err)
		}
		r.written.Add(1)
	}
	return nil
}

// chmodFile sets the permissions of a file or directory, durable when it returns.
func chmodFile(dir *os.Root, name string, mode fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_RDONLY|NonBlock, 0)
	if errors.Is(err, fs.ErrPermission) { // make it readable; setMode then sets the final mode
		if err = dir.Chmod(name, mode|0o600); err == nil {
			f, err = dir.OpenFile(name, os.O_RDONLY|NonBlock, 0)
		}
	}
	if err != nil {
		return err
	}
	if err = failpoint.Before(failpoint.Chmod, name); err == nil {
		err = setMode(f, mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// syncDirs makes the names in the changed directories durable.
func (r *restore) syncDirs(ctx context.Context, touched *dirSet) error {
	dirs := slices.Sorted(maps.Keys(touched.dirs))
	return r.w.tree.Each(ctx, len(dirs), 1, func(_ context.Context, c *tree.Cursor, n int) error {
		dir, err := c.Enter(dirs[n])
		if tree.IsAbsent(err) {
			return nil
		}
		if err == nil {
			err = syncDir(dir)
		}
		if err != nil {
			return fmt.Errorf("make the names in %q durable: %w", dirs[n], err)
		}
		return nil
	})
}

// verify checks the written files. Each file was verified while its bytes were written. So
// it suffices that the same file is at the path, and that stat shows no later write;
// otherwise verify reads the file.
func (r *restore) verify(ctx context.Context) error {
	return r.w.tree.Each(ctx, len(r.items), 1+min(chunkSize, len(r.items)/16), func(ctx context.Context, c *tree.Cursor, n int) error {
		i := r.items[n]
		if i.done || r.isAsWritten(c, i) {
			return nil
		}
		again := &item{Change: Change{Path: i.Path}}
		now, err := r.current(ctx, c, again)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if !equalEntries(now, i.To) && (i.To == nil || !i.To.IsDir() || !again.isDir) {
			return fmt.Errorf("verify: %w", &ChangedError{Path: i.Path})
		}
		return nil
	})
}

// isAsWritten reports whether the file at the path is the one that was written, and adds
// it to the cache. It returns false unless the file's times were old enough at the rename
// that any later write changes them.
func (r *restore) isAsWritten(c *tree.Cursor, i *item) bool {
	if i.temp == "" || !r.w.cache.LaterWritesVisible(statcache.Stat{Mtime: i.staged.Mtime}, r.renamed) {
		return false
	}
	began := r.w.cache.Now()
	is, err := c.Place(i.Path).Status()
	if err != nil || !is.Mode.IsRegular() || uint32(is.Mode.Perm()) != i.To.Mode {
		return false
	}
	expected := i.staged
	expected.Ctime = is.Stat.Ctime // a rename changes the ctime
	if is.Stat != expected || is.Stat.Inode == 0 {
		return false
	}
	r.w.cache.Put(i.Path, is.Stat, i.sums, began)
	return true
}
