package tree

import (
	"fmt"
	"io/fs"
	"os"

	"prdrunner/checkpoint/workspace/statcache"
)

// Status is the status of a file or link. Links are not followed.
type Status struct {
	Mode fs.FileMode // kind and permissions
	Stat statcache.Stat
}

func statusOf(info fs.FileInfo) Status {
	return Status{Mode: info.Mode(), Stat: statcache.StatOf(info)}
}

// Status returns the status of the file at a place. It makes one system call, plus those
// of the cursor for opening the directory.
func (p Place) Status() (Status, error) {
	if p.cursor != nil {
		if err := checkName(p.name); err != nil {
			return Status{}, err
		}
	}
	dir, err := p.openRoot()
	if err != nil {
		return Status{}, err
	}
	info, err := dir.Lstat(p.name)
	if err != nil {
		return Status{}, err
	}
	return statusOf(info), nil
}

// checkName refuses a name that leads out of its directory, since git's index may contain
// any name.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("%q is no name of a file: it leads elsewhere", name)
	}
	return nil
}

// Readlink returns the target of the link at a place.
func (p Place) Readlink() (string, error) {
	dir, err := p.openRoot()
	if err != nil {
		return "", err
	}
	return dir.Readlink(p.name)
}

// openRoot returns the open directory of a place.
func (p Place) openRoot() (*os.Root, error) {
	if p.cursor != nil {
		return p.cursor.Enter(p.dirPath)
	}
	return p.dir, nil
}

// Open opens the file at a place for reading. It never waits for the writer of a pipe.
func (p Place) Open() (*os.File, error) {
	dir, err := p.openRoot()
	if err != nil {
		return nil, err
	}
	return dir.OpenFile(p.name, os.O_RDONLY|nonBlock, 0)
}

// TryOpen returns an error if the file can't be opened for reading.
func (p Place) TryOpen() error {
	f, err := p.Open()
	if err != nil {
		return err
	}
	return f.Close()
}

// Place is a name in a directory. The directory is open already, or a cursor opens it.
type Place struct {
	dir     *os.Root
	name    string  // a name, or with dir a path below it
	cursor  *Cursor // opens the directory; nil: dir is it
	dirPath string  // the path of the directory for the cursor
}

func (t *Tree) Place(path string) Place { return Place{dir: t.root, name: Native(path)} }

// PlaceIn returns the place of a name in an open directory.
func PlaceIn(dir *os.Root, name string) Place { return Place{dir: dir, name: Native(name)} }

// Near returns the probable index of the file in the stat cache, for the method Get of
// the cache.
func (p Place) Near() *int {
	if p.cursor != nil {
		return &p.cursor.nearIndex
	}
	return new(int)
}

// directory returns the current directory as a file.
func (c *Cursor) directory() (*os.File, error) {
	if c.file == nil {
		// nonBlock saves two system calls: package os need not set the flag and clear it
		// again.
		dir, err := c.currentRoot().OpenFile(".", os.O_RDONLY|nonBlock, 0)
		if err != nil {
			return nil, err
		}
		c.file = dir
	}
	return c.file, nil
}
