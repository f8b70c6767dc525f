package workspace

import (
	"fmt"
	"io/fs"
	"os"
)

// status is what stat says of a name, following no link.
type status struct {
	mode fs.FileMode // its kind and its permissions
	stat fileStat
}

func statusOf(info fs.FileInfo) status { return status{mode: info.Mode(), stat: statOf(info)} }

// status describes what is at a place. For many places in one directory it makes one
// system call each.
func (p place) status() (status, error) {
	if p.from != nil {
		if err := checkName(p.name); err != nil {
			return status{}, err
		}
	}
	dir, err := p.root()
	if err != nil {
		return status{}, err
	}
	info, err := dir.Lstat(p.name)
	if err != nil {
		return status{}, err
	}
	return statusOf(info), nil
}

// checkName makes sure that a name is that of something in the directory: git's index
// may hold any.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("%q is no name of a file: it leads elsewhere", name)
	}
	return nil
}

// readlink is where the link at a place leads.
func (p place) readlink() (string, error) {
	dir, err := p.root()
	if err != nil {
		return "", err
	}
	return dir.Readlink(p.name)
}

// root is the directory of a place, for what is to be opened in it.
func (p place) root() (*os.Root, error) {
	if p.from != nil {
		return p.from.enter(p.in)
	}
	return p.dir, nil
}

// open opens the file at a place to read it. It never waits for the writer of a pipe.
func (p place) open() (*os.File, error) {
	dir, err := p.root()
	if err != nil {
		return nil, err
	}
	return dir.OpenFile(p.name, os.O_RDONLY|nonBlock, 0)
}

// tryOpen reports why a file can't be read.
func (p place) tryOpen() error {
	f, err := p.open()
	if err != nil {
		return err
	}
	return f.Close()
}

// place is a name in a directory: one that is open, or one that a cursor comes to.
type place struct {
	dir  *os.Root
	name string  // or, from the directory on, a path
	from *cursor // nil: it is dir
	in   string  // the directory that the cursor comes to
}

func (t *Tree) place(path string) place { return place{dir: t.root, name: native(path)} }

// placeIn is a name in an open directory.
func placeIn(dir *os.Root, name string) place { return place{dir: dir, name: native(name)} }

// near is where the cache probably has the file at a place.
func (p place) near() *int {
	if p.from != nil {
		return &p.from.near
	}
	return new(int)
}

// directory is the directory that was entered last, as a file.
func (c *cursor) directory() (*os.File, error) {
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
