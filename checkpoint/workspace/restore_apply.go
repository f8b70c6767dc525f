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
	"prdrunner/checkpoint/workspace/tree"
)

// apply makes the changes: from here on the workspace is on its way from one
// state to another.
func (r *restore) apply(ctx context.Context) error {
	touched := &dirSet{dirs: map[string]bool{}}
	for _, i := range r.items {
		if i.done {
			continue
		}
		touched.add(i.stage)
		if i.To == nil {
			continue
		}
		for dir := range tree.Parents(i.Path) {
			r.needed[dir] = true
		}
		if i.To.isDir() {
			r.needed[i.Path] = true
		}
	}
	for _, step := range []func(context.Context, *dirSet) error{
		r.remove, r.removeDirs, r.makeDirs, r.rename, r.changeModes, r.sync,
	} {
		if err := step(ctx, touched); err != nil {
			return err
		}
	}
	return r.verify(ctx)
}

// dirSet is the directories whose names changed.
type dirSet struct {
	mu   sync.Mutex
	dirs map[string]bool
}

func (s *dirSet) add(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirs[dir] = true
}

// remove removes what goes, the deepest first.
func (r *restore) remove(ctx context.Context, touched *dirSet) error {
	c := r.w.Cursor()
	defer c.Close()
	for _, i := range slices.Backward(r.items) {
		if !i.removes() || !i.there {
			continue
		}
		if i.isDir && r.needed[i.Path] { // what comes is written into it
			i.done = true
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		touched.add(tree.Parent(i.Path))
		err := r.locks.change(c, tree.Parent(i.Path), func(dir *os.Root) error {
			if err := r.recheck(ctx, dir, i); err != nil {
				return err
			}
			return dir.Remove(tree.Native(tree.Base(i.Path)))
		})
		if i.isDir && (isNotEmpty(err) || i.To == nil && isInUse(err)) { // somebody needs it now, or another restore left something in it
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

// recheck makes sure that what is at the path of an item is still what was
// compared. A directory's times change with what is in it.
func (r *restore) recheck(ctx context.Context, dir *os.Root, i *item) error {
	info, err := dir.Lstat(tree.Native(tree.Base(i.Path)))
	switch {
	case err != nil && !tree.IsAbsent(err):
		return err
	case err != nil && !i.there, err == nil && i.isDir && info.IsDir():
		return nil
	case err != nil || !i.there:
		return &ChangedError{Path: i.Path}
	case tree.StatOf(info) == i.stat:
		return nil
	}
	return r.recheckContent(ctx, dir, i)
}

// recheckContent decides by its content whether a file was changed of which
// stat says that it was: a hard link's times change, and its mode does, when
// another name of the same file is replaced, removed, or given other permissions. One
// such file is read at a time, since each name that goes disturbs its reading.
func (r *restore) recheckContent(ctx context.Context, dir *os.Root, i *item) error {
	r.reading.Lock()
	defer r.reading.Unlock()
	at := tree.PlaceIn(dir, tree.Base(i.Path))
	var f found
	err := patient(ctx, func() (err error) {
		if f, err = r.w.look(at, i.Path, r.w.wantsBlob); err == nil && !f.known() {
			err = r.w.hash(ctx, at, &f, r.w.wantsBlob)
		}
		return err
	})
	switch {
	case tree.IsAbsent(err), errors.Is(err, ErrNotRegular), errors.Is(err, ErrUnstable):
		return &ChangedError{Path: i.Path}
	case err != nil:
		return err
	case !equal(&f.entry, i.From) && !equal(&f.entry, i.To):
		return &ChangedError{Path: i.Path}
	}
	return nil
}

// removeDirs removes the directories in which nothing is left, and the empty
// ones where a file is to be.
func (r *restore) removeDirs(ctx context.Context, touched *dirSet) error {
	c := r.w.Cursor()
	defer c.Close()
	for _, i := range slices.Backward(r.items) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i.writes() && i.isDir {
			if err := r.removeTree(c, i.Path); err != nil {
				return fmt.Errorf("make room for %s: %w", i.Path, err)
			}
			touched.add(tree.Parent(i.Path))
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

// removeEmptied removes the directories that an earlier restore has emptied.
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

// removeDir removes a directory, if it is empty, and nothing but a fault of the
// disk keeps it from that: one that somebody uses, or that is not ours to remove,
// holds nothing that came later.
func (r *restore) removeDir(c *tree.Cursor, path string, touched *dirSet) (bool, error) {
	err := r.locks.change(c, tree.Parent(path), func(dir *os.Root) error {
		info, err := dir.Lstat(tree.Native(tree.Base(path)))
		if err == nil && !info.IsDir() {
			err = tree.ErrDetour
		}
		if err == nil {
			err = dir.Remove(tree.Native(tree.Base(path)))
		}
		return err
	})
	switch {
	case err == nil:
		delete(touched.dirs, path)
		touched.add(tree.Parent(path))
		return true, nil
	case tree.IsAbsent(err), isNotEmpty(err), isInUse(err), errors.Is(err, fs.ErrPermission):
		return false, nil
	}
	return false, fmt.Errorf("remove the directory %s: %w", path, err)
}

// removeTree removes a directory in which there are only empty ones.
func (r *restore) removeTree(c *tree.Cursor, path string) error {
	entries, err := r.w.ReadDir(path)
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

// makeDirs makes the directories above new files, and empty ones.
func (r *restore) makeDirs(ctx context.Context, touched *dirSet) error {
	c := r.w.Cursor()
	defer c.Close()
	for _, path := range slices.Sorted(maps.Keys(r.needed)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.locks.change(c, tree.Parent(path), func(dir *os.Root) error {
			err := dir.Mkdir(tree.Native(tree.Base(path)), 0o777)
			if err == nil {
				r.made = append(r.made, path)
				touched.add(path)
				touched.add(tree.Parent(path))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the directory %s: %w", path, err)
		}
	}
	return nil
}

// unmake removes the directories that were made for files that did not come, the
// deepest first.
func (r *restore) unmake() error {
	c := r.w.Cursor()
	defer c.Close()
	touched := &dirSet{dirs: map[string]bool{}}
	for _, dir := range slices.Backward(r.made) {
		if _, err := r.removeDir(c, dir, touched); err != nil {
			return err
		}
	}
	return nil
}

// rename gives the temporary files their names.
func (r *restore) rename(ctx context.Context, touched *dirSet) error {
	var items []*item
	for _, i := range r.items {
		if i.temp != "" {
			items = append(items, i)
		}
	}
	chunks := slices.Collect(slices.Chunk(items, 1+min(chunkSize, len(items)/16)))
	r.renamed = r.w.cache.Now()
	return r.w.Each(ctx, len(chunks), 1, func(ctx context.Context, c *tree.Cursor, n int) error {
		staged := r.w.Cursor() // of its own, so that neither is left and entered again
		defer staged.Close()
		for _, i := range chunks[n] {
			if err := ctx.Err(); err != nil {
				return err
			}
			touched.add(tree.Parent(i.Path))
			if err := r.renameOne(ctx, c, staged, i); err != nil {
				return fmt.Errorf("put %s in its place: %w", i.Path, err)
			}
			r.written.Add(1)
		}
		return nil
	})
}

// renameOne gives one temporary file its name, from one directory that is held
// open into another: no path is looked up on the way, and no link followed.
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

// changeModes sets the permissions of empty directories, and of files of which
// nothing else changes.
func (r *restore) changeModes(ctx context.Context, _ *dirSet) error {
	c := r.w.Cursor()
	defer c.Close()
	for _, i := range r.items {
		if i.done || i.To == nil || !i.To.isDir() && !i.onlyMode() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		dir, name, err := c.At(i.Path)
		if err == nil && !i.To.isDir() {
			err = r.recheck(ctx, dir, i)
		}
		if err == nil {
			err = chmod(dir, tree.Native(name), fs.FileMode(i.To.Mode&0o777))
		}
		if err != nil {
			return fmt.Errorf("set the mode of %s: %w", i.Path, err)
		}
		r.written.Add(1)
	}
	return nil
}

// chmod sets the permissions of a file or directory, durable when it returns.
func chmod(dir *os.Root, name string, mode fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_RDONLY|NonBlock, 0)
	if errors.Is(err, fs.ErrPermission) { // as it will be again, perhaps
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

// sync makes the names durable.
func (r *restore) sync(ctx context.Context, touched *dirSet) error {
	dirs := slices.Sorted(maps.Keys(touched.dirs))
	return r.w.Each(ctx, len(dirs), 1, func(_ context.Context, c *tree.Cursor, n int) error {
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

// verify looks again at what was written. A file was verified while its bytes were
// written: it is enough that the one in its place is that one, and was not written
// to since, as far as stat can tell. Else it is read.
func (r *restore) verify(ctx context.Context) error {
	return r.w.Each(ctx, len(r.items), 1+min(chunkSize, len(r.items)/16), func(ctx context.Context, c *tree.Cursor, n int) error {
		i := r.items[n]
		if i.done || r.isAsWritten(c, i) {
			return nil
		}
		again := &item{Change: Change{Path: i.Path}}
		now, err := r.current(ctx, c, again)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if !equal(now, i.To) && (i.To == nil || !i.To.isDir() || !again.isDir) {
			return fmt.Errorf("verify: %w", &ChangedError{Path: i.Path})
		}
		return nil
	})
}

// isAsWritten reports whether a file is the one that was written, and has the
// cache remember it. Whoever writes to it once it has its name gives it another
// time: it was old enough then.
func (r *restore) isAsWritten(c *tree.Cursor, i *item) bool {
	if i.temp == "" || !r.w.cache.IsSettled(tree.FileStat{Mtime: i.staged.Mtime}, r.renamed) {
		return false
	}
	began := r.w.cache.Now()
	is, err := c.Place(i.Path).Status()
	if err != nil || !is.Mode.IsRegular() || uint32(is.Mode.Perm()) != i.To.Mode {
		return false
	}
	expected := i.staged
	expected.Ctime = is.Stat.Ctime // a rename is a change of status
	if is.Stat != expected || is.Stat.Inode == 0 {
		return false
	}
	r.w.cache.Put(i.Path, is.Stat, i.sums, began)
	return true
}
