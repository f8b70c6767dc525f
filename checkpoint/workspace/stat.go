package workspace

import (
	"io/fs"
	"os"
)

// status is what stat says of a name, following no link.
type status struct {
	mode fs.FileMode // its kind and its permissions
	stat fileStat
}

func statusOf(info fs.FileInfo) status { return status{mode: info.Mode(), stat: statOf(info)} }

// status looks at what is at a place. Many places in one directory cost one system
// call each, and nothing else.
func (p place) status() (status, error) {
	if p.from != nil {
		dir, err := p.from.directory()
		if err != nil {
			return status{}, err
		}
		return statusIn(p.dir, dir, p.name)
	}
	info, err := p.dir.Lstat(p.name)
	if err != nil {
		return status{}, err
	}
	return statusOf(info), nil
}

// directory is the directory that was entered last, as a file.
func (c *cursor) directory() (*os.File, error) {
	if c.file == nil {
		// What package os would do to wait for it is of no use with a directory.
		dir, err := c.current().OpenFile(".", os.O_RDONLY|openNonblock, 0)
		if err != nil {
			return nil, err
		}
		c.file = dir
	}
	return c.file, nil
}
