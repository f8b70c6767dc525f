//go:build !linux && !darwin

package workspace

import (
	"io/fs"
	"os"
)

// statOf returns what tells one content of a file from another. Where a
// file's status has no time of its own, a changed file of the same size whose
// time was set back goes unnoticed.
func statOf(info fs.FileInfo) fileStat {
	return fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}
}

// handle is a directory that is open to look at names in it.
type handle struct {
	root     *os.Root
	borrowed bool // from who closes it
}

// openHandle opens a directory that is open as a root.
func openHandle(root *os.Root) (handle, error) { return handle{root, true}, nil }

// below opens a directory in it: errDetour if that is a link.
func (h handle) below(name string) (handle, error) {
	root, err := openDir(h.root, name)
	return handle{root: root}, err
}

// status looks at a name in it.
func (h handle) status(name string) (status, error) {
	info, err := h.root.Lstat(name)
	if err != nil {
		return status{}, err
	}
	return statusOf(info), nil
}

// readlink is where a link in it leads.
func (h handle) readlink(name string) (string, error) { return h.root.Readlink(name) }

// entries lists it, in no order.
func (h handle) entries(string) ([]dirEntry, error) { return readDir(h.root, ".") }

func (h handle) close() {
	if !h.borrowed {
		_ = h.root.Close() // nothing was written through it
	}
}

// bootID identifies the running kernel: it has no name here, so that a cache
// serves one process.
func bootID() string { return "" }
