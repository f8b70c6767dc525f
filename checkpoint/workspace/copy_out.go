package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/tree"
)

// OpenCopy opens a directory with copies of the workspace's files. The same files count as
// sensitive as in the workspace. It uses neither git nor the stat cache.
func (w *Workspace) OpenCopy(dir string) (*Workspace, error) {
	o := w.o
	o.Dir, o.Skip, o.Cache, o.Git, o.Mode = dir, nil, "", nil, GitOff
	c, err := Open(o)
	if err != nil {
		return nil, err
	}
	if c.sensitivity, c.unguarded = w.sensitivity, w.unguarded; w.files.refusal != nil {
		c.files.refusal = &refusal{detector: w.files.refusal.detector, further: w.files.refusal.further, all: w.files.refusal.all, found: map[string]bool{}}
	}
	return c, nil
}

// CopyOut copies files and symbolic links of the workspace to another directory, with mode and
// time. Where the file system can, a copy shares the blocks of the file. A copy is never a hard
// link: a program that writes into it must not change the file. Files that have vanished are
// left out, and so is what is neither a file nor a link. Directories above the files are made.
func (w *Workspace) CopyOut(ctx context.Context, to *os.Root, paths []string) error {
	c := &copyOut{to: to}
	err := w.tree.Each(ctx, len(paths), 1+min(chunkSize, len(paths)/8), func(ctx context.Context, cursor *tree.Cursor, i int) error {
		err := c.copy(ctx, cursor.Place(paths[i]), paths[i])
		if err != nil && !tree.IsAbsent(err) {
			return withPath(paths[i], err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy files: %w", err)
	}
	return nil
}

// copyOut is one call of CopyOut.
type copyOut struct {
	to       *os.Root
	made     sync.Map    // directories that exist
	noClones atomic.Bool // the file system can't share blocks
}

func (c *copyOut) copy(ctx context.Context, at tree.Place, name string) error {
	is, err := at.Status()
	switch {
	case err != nil:
		return err
	case is.Mode.IsRegular():
		return c.copyFile(ctx, at, name)
	case is.Mode&fs.ModeSymlink != 0:
		return c.copyLink(at, name)
	}
	return nil
}

func (c *copyOut) copyLink(at tree.Place, name string) error {
	target, err := at.Readlink()
	if err == nil {
		err = c.makeParent(name)
	}
	if err == nil {
		err = failpoint.Before(failpoint.Symlink, path.Base(name))
	}
	if err != nil {
		return err
	}
	return c.to.Symlink(target, tree.Native(name))
}

func (c *copyOut) copyFile(ctx context.Context, at tree.Place, name string) error {
	from, err := at.Open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	info, err := from.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	masked, err := maskOnly(from, info.Mode().Perm())
	if err != nil {
		return err
	}
	if err := c.makeParent(name); err != nil {
		return err
	}
	if err := failpoint.Before(failpoint.Create, path.Base(name)); err != nil {
		return err
	}
	to, err := c.to.OpenFile(tree.Native(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.copyBytes(ctx, to, from)
	if err == nil {
		err = to.Chmod(info.Mode().Perm() &^ fs.FileMode(masked))
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return c.to.Chtimes(tree.Native(name), time.Time{}, info.ModTime())
}

// copyBytes copies the bytes of a file, as far as they can't be shared.
func (c *copyOut) copyBytes(ctx context.Context, to, from *os.File) error {
	if !c.noClones.Load() {
		if store.Clone(to, from) {
			return nil
		}
		c.noClones.Store(true)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := io.Copy(to, from)
	return err
}

// makeParent makes the directories above a file.
func (c *copyOut) makeParent(name string) error {
	dir := tree.Parent(name)
	if _, done := c.made.Load(dir); done || dir == "" {
		return nil
	}
	if err := c.to.MkdirAll(tree.Native(dir), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	c.made.Store(dir, true)
	return nil
}
