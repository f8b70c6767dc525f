package tree

import (
	"fmt"
	"io/fs"
	"os"
)

// Status is what stat says of a name, following no link.
type Status struct {
	Mode fs.FileMode // its kind and its permissions
	Stat FileStat
}

func statusOf(info fs.FileInfo) Status { return Status{Mode: info.Mode(), Stat: StatOf(info)} }

// Status describes what is at a place. For many places in one directory it makes one
// system call each.
func (p Place) Status() (Status, error) {
	if p.from != nil {
		if err := checkName(p.name); err != nil {
			return Status{}, err
		}
	}
	dir, err := p.root()
	if err != nil {
		return Status{}, err
	}
	info, err := dir.Lstat(p.name)
	if err != nil {
		return Status{}, err
	}
	return statusOf(info), nil
}

// checkName refuses a name that leads out of its directory: git's index may hold any.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("%q is no name of a file: it leads elsewhere", name)
	}
	return nil
}

// Readlink is where the link at a place leads.
func (p Place) Readlink() (string, error) {
	dir, err := p.root()
	if err != nil {
		return "", err
	}
	return dir.Readlink(p.name)
}

// root is the directory of a place, for what is to be opened in it.
func (p Place) root() (*os.Root, error) {
	if p.from != nil {
		return p.from.Enter(p.in)
	}
	return p.dir, nil
}

// Open opens the file at a place to read it. It never waits for the writer of a pipe.
func (p Place) Open() (*os.File, error) {
	dir, err := p.root()
	if err != nil {
		return nil, err
	}
	return dir.OpenFile(p.name, os.O_RDONLY|nonBlock, 0)
}

// TryOpen reports why a file can't be read.
func (p Place) TryOpen() error {
	f, err := p.Open()
	if err != nil {
		return err
	}
	return f.Close()
}

// Place is a name in a directory: one that is open, or one that a cursor comes to.
type Place struct {
	dir  *os.Root
	name string  // or, from the directory on, a path
	from *Cursor // nil: it is dir
	in   string  // the directory that the cursor comes to
}

func (t *Tree) Place(path string) Place { return Place{dir: t.root, name: Native(path)} }

// PlaceIn is a name in an open directory.
func PlaceIn(dir *os.Root, name string) Place { return Place{dir: dir, name: Native(name)} }

// Near is where the cache probably has the file at a place.
func (p Place) Near() *int {
	if p.from != nil {
		return &p.from.near
	}
	return new(int)
}

// directory returns the directory that was entered last as a file.
func (c *Cursor) directory() (*os.File, error) {
	if c.file == nil {
		// What package os would do to wait for it is of no use with a directory.
		dir, err := c.current().OpenFile(".", os.O_RDONLY|nonBlock, 0)
		if err != nil {
			return nil, err
		}
		c.file = dir
	}
	return c.file, nil
}
