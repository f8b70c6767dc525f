package pipeline

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// linkedFS is a directory of the workspace as fileset() sees it: links to directories
// stand for these, as long as they lie in the workspace, and what is hidden is not
// there. A directory is entered through one link only, and through none that leads
// back to itself or above, so that links in circles come to an end.
type linkedFS struct {
	fs.FS
	root      fs.FS // the workspace
	workspace string
	dir       string                 // its path in the workspace
	hidden    func(path string) bool // nil: nothing is
	real      map[string]string      // paths in the workspace that no link is on the way to, by name
	entered   map[string]string      // the name by which a directory was entered through a link, by that path
}

// Open implements fs.FS.
func (l *linkedFS) Open(name string) (fs.File, error) {
	if l.isHidden(path.Join(l.dir, name)) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := l.FS.Open(name)
	if err == nil {
		return file, nil
	}
	if real := l.realPath(name); real != "" && !l.isHidden(real) { // by an absolute link
		return l.root.Open(real)
	}
	return nil, err
}

// Stat implements fs.StatFS. It opens nothing, since that could wait at a named pipe.
func (l *linkedFS) Stat(name string) (fs.FileInfo, error) {
	if l.isHidden(path.Join(l.dir, name)) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	info, err := fs.Stat(l.root, path.Join(l.dir, name))
	if err == nil {
		return info, nil
	}
	if real := l.realPath(name); real != "" && !l.isHidden(real) { // by an absolute link
		return fs.Stat(l.root, real)
	}
	return nil, err
}

// ReadDir implements fs.ReadDirFS.
func (l *linkedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !l.enters(name) {
		return nil, nil
	}
	entries, err := fs.ReadDir(l.FS, name)
	if err != nil {
		return fs.ReadDir(l.root, l.realPath(name))
	}
	return entries, nil
}

// enters reports whether the directory of a name is to be looked into.
func (l *linkedFS) enters(name string) bool {
	real := l.realPath(name)
	if real == "" || l.isHidden(real) {
		return false
	}
	if name == "." || real == path.Join(l.realPath("."), name) {
		return true // no link is on the way
	}
	above := l.realPath(path.Dir(name))
	if real == "." || above == real || strings.HasPrefix(above, real+"/") {
		return false
	}
	if _, ok := l.entered[real]; !ok {
		l.entered[real] = name
	}
	return l.entered[real] == name
}

// holds reports whether a name that matched is one of a regular file.
func (l *linkedFS) holds(name string) bool {
	info, err := fs.Stat(l, name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if link, err := fs.Lstat(l.FS, name); err == nil && link.Mode().IsRegular() {
		return !l.isHidden(path.Join(l.realPath(path.Dir(name)), path.Base(name)))
	}
	real := l.realPath(name)
	return real != "" && !l.isHidden(real)
}

func (l *linkedFS) isHidden(name string) bool { return l.hidden != nil && l.hidden(name) }

// realPath returns the path in the workspace that no link is on the way to of what has
// a name; "" where it is not in the workspace.
func (l *linkedFS) realPath(name string) string {
	if real, ok := l.real[name]; ok {
		return real
	}
	real := ""
	base, err := filepath.EvalSymlinks(l.workspace)
	if err == nil {
		var full string
		full, err = filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(path.Join(l.dir, name))))
		if err == nil {
			real, err = filepath.Rel(base, full)
		}
	}
	if err != nil || !filepath.IsLocal(real) {
		real = ""
	}
	l.real[name] = filepath.ToSlash(real)
	return l.real[name]
}
