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

// ErrDetour says that a directory above a path is a symbolic link.
var ErrDetour = errors.New("lies behind a symbolic link")

// IsAbsent reports whether an error says that there is no file at a path: the file or a
// directory above it is missing, or a path above it is a file or a link.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, ErrDetour)
}

// Cursor opens the directories of paths. It follows no links, since a path below a link is
// another file. It keeps the last directory and those above it open, so that sorted paths
// cost little, and it does not look again for the last directory that was missing. A
// cursor belongs to one goroutine and to one pass over the workspace.
type Cursor struct {
	base *os.Root
	open []level  // the open directories below the base, outermost first
	file *os.File // the current directory as a file; nil: not opened yet
	near int      // the probable index of the next file in the cache
	gone absence  // the last directory that was missing
}

// Cursor returns a cursor at the top of the tree. The caller must close it.
func (t *Tree) Cursor() *Cursor { return &Cursor{base: t.root} }

// absence is a directory that does not exist.
type absence struct {
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
	return Place{in: path[:max(i, 0)], name: Native(path[i+1:]), from: c}
}

// notThere returns the recorded error if dir is, or lies below, the last directory that
// was missing.
func (c *Cursor) notThere(dir string) error {
	if c.gone.err != nil && LeadsTo(c.gone.path, dir) {
		return c.gone.err
	}
	return nil
}

// missed adds the path to the error of opening a directory, and records the error if the
// directory does not exist.
func (c *Cursor) missed(path string, err error) error {
	err = fmt.Errorf("open the directory %s: %w", path, err)
	if errors.Is(err, fs.ErrNotExist) {
		c.gone = absence{path, err}
	}
	return err
}

// below returns the path and the name of the first directory on the way from above to dir.
func below(above, dir string) (path, name string) {
	rest := strings.TrimPrefix(dir[len(above):], "/")
	name, _, _ = strings.Cut(rest, "/")
	return dir[:len(dir)-len(rest)+len(name)], name
}

// Enter opens a directory and returns it; "" is the base.
func (c *Cursor) Enter(dir string) (*os.Root, error) {
	if c.reached() == dir {
		return c.current(), nil
	}
	if err := c.notThere(dir); err != nil {
		return nil, err
	}
	for !LeadsTo(c.reached(), dir) {
		c.up()
	}
	for c.reached() != dir {
		path, name := below(c.reached(), dir)
		next, err := openDir(c.current(), name)
		if err != nil {
			c.Close()
			return nil, c.missed(path, err)
		}
		c.down(level{path, next})
	}
	return c.current(), nil
}

// reached returns the path of the current directory, "" for the base.
func (c *Cursor) reached() string {
	if len(c.open) == 0 {
		return ""
	}
	return c.open[len(c.open)-1].path
}

func (c *Cursor) current() *os.Root {
	if len(c.open) == 0 {
		return c.base
	}
	return c.open[len(c.open)-1].root
}

// down makes a directory the current one.
func (c *Cursor) down(to level) {
	c.moved()
	c.open = append(c.open, to)
}

// moved closes the file of the previous current directory.
func (c *Cursor) moved() {
	if c.file != nil {
		_ = c.file.Close() // nothing was written through it
		c.file = nil
	}
}

// up closes the current directory; its parent becomes the current one.
func (c *Cursor) up() {
	c.moved()
	last := len(c.open) - 1
	_ = c.open[last].root.Close() // nothing was written through it
	c.open = c.open[:last]
}

func (c *Cursor) Close() {
	for len(c.open) > 0 {
		c.up()
	}
	c.moved()
}

// openDir opens a directory in another one. A Root follows links that stay inside, so
// openDir compares the opened directory with the one that has the name.
func openDir(parent *os.Root, name string) (*os.Root, error) {
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrDetour
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
		err = ErrDetour
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
	return all.each(outer, n, chunk, do)
}

// cursors holds the cursors of one pass over the tree. The cursor of a finished chunk
// serves the next one, so that directories which both need are not opened again.
type cursors struct {
	base *os.Root
	mu   sync.Mutex
	free []*Cursor
}

func (p *cursors) take() *Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return &Cursor{base: p.base}
	}
	c := p.free[last]
	p.free = p.free[:last]
	return c
}

func (p *cursors) give(c *Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, c)
}

// close closes the cursors. No chunk may be in work.
func (p *cursors) close() {
	for _, c := range p.free {
		c.Close()
	}
}

// each does what Tree.Each does.
func (p *cursors) each(outer context.Context, n, chunk int, do func(ctx context.Context, c *Cursor, i int) error) error {
	group, ctx := errgroup.WithContext(outer)
	group.SetLimit(Workers())
	for begin := 0; begin < n && ctx.Err() == nil; begin += chunk {
		group.Go(func() error {
			c := p.take()
			defer p.give(c)
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
