package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// ErrDetour says that a symbolic link is on the way to a path.
var ErrDetour = errors.New("lies behind a symbolic link")

// IsAbsent reports whether an error says that nothing is at a path: it or a
// directory above it is missing, or there is a file or a link above it.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, ErrDetour)
}

// Cursor opens the directories of paths. It follows no link on the way, since
// what looks like a path below a link is somewhere else. It
// keeps the last one open, and those above it, so that sorted paths cost little;
// the last one that was not there it does not look for again. It belongs to one goroutine,
// and to one pass over the workspace.
type Cursor struct {
	base *os.Root
	open []level  // from below the base on
	file *os.File // the directory that is open, as a file; nil: not yet
	near int      // where the cache has the last file, as far as it was asked
	gone absence  // what was last looked for and not there
}

// Cursor returns a cursor at the top of the tree, which is to be closed.
func (t *Tree) Cursor() *Cursor { return &Cursor{base: t.root} }

// absence is a directory that does not exist.
type absence struct {
	path string
	err  error // nil: there is none
}

// level is an open directory on the way to another one.
type level struct {
	path string
	root *os.Root
}

// At returns the directory that a path lies in, and its name there. The
// directory is valid until the next call.
func (c *Cursor) At(path string) (*os.Root, string, error) {
	i := strings.LastIndexByte(path, '/')
	dir, err := c.Enter(path[:max(i, 0)])
	return dir, path[i+1:], err
}

// Place is at, of what is to be looked at, and then perhaps read. It opens nothing yet.
func (c *Cursor) Place(path string) Place {
	i := strings.LastIndexByte(path, '/')
	return Place{in: path[:max(i, 0)], name: Native(path[i+1:]), from: c}
}

// notThere returns the error of the last attempt to open a directory, if it did not exist.
func (c *Cursor) notThere(dir string) error {
	if c.gone.err != nil && LeadsTo(c.gone.path, dir) {
		return c.gone.err
	}
	return nil
}

// missed returns the error of opening a directory, and remembers it if the directory does
// not exist.
func (c *Cursor) missed(path string, err error) error {
	err = fmt.Errorf("open the directory %s: %w", path, err)
	if errors.Is(err, fs.ErrNotExist) {
		c.gone = absence{path, err}
	}
	return err
}

// below returns the first directory on the way from above to dir, and its name.
func below(above, dir string) (path, name string) {
	rest := strings.TrimPrefix(dir[len(above):], "/")
	name, _, _ = strings.Cut(rest, "/")
	return dir[:len(dir)-len(rest)+len(name)], name
}

// Enter returns a directory, "" for the base.
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

// reached returns the path of the open directory, "" for the base.
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

// down makes a directory the open one.
func (c *Cursor) down(to level) {
	c.moved()
	c.open = append(c.open, to)
}

// moved closes the file of the directory that was open.
func (c *Cursor) moved() {
	if c.file != nil {
		_ = c.file.Close() // nothing was written through it
		c.file = nil
	}
}

// up closes the directory that is open.
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

// At calls a function with the directory of one path.
func (t *Tree) At(path string, do func(dir *os.Root, name string) error) error {
	c := Cursor{base: t.root}
	defer c.Close()
	dir, name, err := c.At(path)
	if err != nil {
		return err
	}
	return do(dir, name)
}

// Workers is how many files are worked on at once.
func Workers() int { return min(4, runtime.NumCPU()) }

// Each calls do for every index below n, several at once, in chunks that are in order.
// Each chunk has a cursor. The first error ends all calls, and none starts after it.
func (t *Tree) Each(outer context.Context, n, chunk int, do func(ctx context.Context, c *Cursor, i int) error) error {
	group, ctx := errgroup.WithContext(outer)
	group.SetLimit(Workers())
	for begin := 0; begin < n && ctx.Err() == nil; begin += chunk {
		group.Go(func() error {
			c := Cursor{base: t.root}
			defer c.Close()
			for i := begin; i < min(begin+chunk, n); i++ {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(ctx, &c, i); err != nil {
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
