package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// ErrBehindLink says that a directory above a path is a symbolic link.
var ErrBehindLink = errors.New("lies behind a symbolic link")

// IsAbsent reports whether an error says that there is no file at a path: the file or a
// directory above it is missing, or a path above it is a file or a link.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, ErrBehindLink)
}

// Cursor opens the directories of paths. It follows no links, since a path below a link
// is another file. It keeps the last directory and those above it open, so that sorted
// paths cost little, and it remembers the last directory that was missing. A cursor
// belongs to one goroutine and to one pass over the workspace.
type Cursor struct {
	base        *os.Root
	openDirs    []level    // the open directories below the base, outermost first
	file        *os.File   // the current directory as a file; nil: not opened yet
	nearIndex   int        // the probable index of the next file in the cache
	lastMissing missingDir // the last directory that was missing
}

// Cursor returns a cursor at the top of the tree. The caller must close it.
func (t *Tree) Cursor() *Cursor { return &Cursor{base: t.root} }

// missingDir is a directory that does not exist.
type missingDir struct {
	path string
	err  error // nil: no directory was missing
}

// level is an open directory.
type level struct {
	path string
	root *os.Root
}

// At returns the open directory of a path, and the path's last element. The directory is
// valid until the next call.
func (c *Cursor) At(path string) (*os.Root, string, error) {
	i := strings.LastIndexByte(path, '/')
	dir, err := c.Enter(path[:max(i, 0)])
	return dir, path[i+1:], err
}

// Place returns the place of a path, which callers can examine and read. It opens no
// directory yet.
func (c *Cursor) Place(path string) Place {
	i := strings.LastIndexByte(path, '/')
	return Place{dirPath: path[:max(i, 0)], name: Native(path[i+1:]), cursor: c}
}

// knownMissing returns the recorded error if dir is the last directory that was missing,
// or lies below it.
func (c *Cursor) knownMissing(dir string) error {
	if c.lastMissing.err != nil && IsAtOrAbove(c.lastMissing.path, dir) {
		return c.lastMissing.err
	}
	return nil
}

// recordMissing adds the path to the error of opening a directory. If the directory does
// not exist, it records the error.
func (c *Cursor) recordMissing(path string, err error) error {
	err = fmt.Errorf("open the directory %s: %w", path, err)
	if errors.Is(err, fs.ErrNotExist) {
		c.lastMissing = missingDir{path, err}
	}
	return err
}

// nextBelow returns the path and the name of the first directory on the way from above to
// dir.
func nextBelow(above, dir string) (path, name string) {
	rest := strings.TrimPrefix(dir[len(above):], "/")
	name, _, _ = strings.Cut(rest, "/")
	return dir[:len(dir)-len(rest)+len(name)], name
}

// Enter opens a directory and returns it; "" is the base.
func (c *Cursor) Enter(dir string) (*os.Root, error) {
	if c.currentPath() == dir {
		return c.currentRoot(), nil
	}
	if err := c.knownMissing(dir); err != nil {
		return nil, err
	}
	for !IsAtOrAbove(c.currentPath(), dir) {
		c.popDir()
	}
	for c.currentPath() != dir {
		path, name := nextBelow(c.currentPath(), dir)
		next, err := openDir(c.currentRoot(), name)
		if err != nil {
			c.Close()
			return nil, c.recordMissing(path, err)
		}
		c.pushDir(level{path, next})
	}
	return c.currentRoot(), nil
}

// currentPath returns the path of the current directory, "" for the base.
func (c *Cursor) currentPath() string {
	if len(c.openDirs) == 0 {
		return ""
	}
	return c.openDirs[len(c.openDirs)-1].path
}

func (c *Cursor) currentRoot() *os.Root {
	if len(c.openDirs) == 0 {
		return c.base
	}
	return c.openDirs[len(c.openDirs)-1].root
}

// pushDir makes a directory the current one.
func (c *Cursor) pushDir(to level) {
	c.closeFile()
	c.openDirs = append(c.openDirs, to)
}

// closeFile closes the file of the previous current directory.
func (c *Cursor) closeFile() {
	if c.file != nil {
		_ = c.file.Close() // nothing was written through it
		c.file = nil
	}
}

// popDir closes the current directory; its parent becomes the current one.
func (c *Cursor) popDir() {
	c.closeFile()
	last := len(c.openDirs) - 1
	_ = c.openDirs[last].root.Close() // nothing was written through it
	c.openDirs = c.openDirs[:last]
}

func (c *Cursor) Close() {
	for len(c.openDirs) > 0 {
		c.popDir()
	}
	c.closeFile()
}

// openDir opens the directory name in parent. A Root follows links that stay inside, so
// openDir checks that it opened the directory itself.
func openDir(parent *os.Root, name string) (*os.Root, error) {
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrBehindLink
	}
	if !named.IsDir() {
		return nil, syscall.ENOTDIR
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = ErrBehindLink
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// At calls do with the open directory of a path, and the path's last element.
func (t *Tree) At(path string, do func(dir *os.Root, name string) error) error {
	c := Cursor{base: t.root}
	defer c.Close()
	dir, name, err := c.At(path)
	if err != nil {
		return err
	}
	return do(dir, name)
}

// Workers returns the number of files that are processed at once.
func Workers() int { return min(4, runtime.NumCPU()) }

// Each calls do for every index below n. It works on several chunks of consecutive indexes
// at once, each with a cursor of its own. The first error cancels the context of all
// calls, and no call starts after it.
func (t *Tree) Each(outer context.Context, n, chunk int, do func(ctx context.Context, c *Cursor, i int) error) error {
	all := cursors{base: t.root}
	defer all.close()
	return all.forEach(outer, n, chunk, do)
}

// cursors holds the cursors of one pass over the tree. The cursor of a finished chunk
// serves the next chunk, so that directories which both need are opened once.
type cursors struct {
	base *os.Root
	mu   sync.Mutex
	idle []*Cursor
}

func (p *cursors) acquire() *Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return &Cursor{base: p.base}
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

func (p *cursors) release(c *Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// close closes the cursors. All of them must be idle.
func (p *cursors) close() {
	for _, c := range p.idle {
		c.Close()
	}
}

// forEach is like Tree.Each.
func (p *cursors) forEach(outer context.Context, n, chunk int, do func(ctx context.Context, c *Cursor, i int) error) error {
	group, ctx := errgroup.WithContext(outer)
	group.SetLimit(Workers())
	for begin := 0; begin < n && ctx.Err() == nil; begin += chunk {
		group.Go(func() error {
			c := p.acquire()
			defer p.release(c)
			for i := begin; i < min(begin+chunk, n); i++ {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(ctx, c, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	return nil
}
