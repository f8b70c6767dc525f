package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// linkedFS is a directory of the workspace for fileset(). It follows links to
// directories inside the workspace, and leaves out hidden paths. It enters a directory
// through one link only, and through no link that leads to a directory above, so that
// circles of links end.
type linkedFS struct {
	fs.FS
	root      fs.FS // the workspace
	workspace string
	dir       string                 // its path in the workspace
	hidden    func(path string) bool // nil: no path is hidden
	real      map[string]string      // by name, the path in the workspace without links
	entered   map[string]string      // by path, the name through which a link to this directory was entered
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
	if real := l.realPath(name); real != "" && !l.isHidden(real) { // the name leads through an absolute link
		return l.root.Open(real)
	}
	return nil, err
}

// Stat implements fs.StatFS. It does not open the file, because that could block on a
// named pipe.
func (l *linkedFS) Stat(name string) (fs.FileInfo, error) {
	if l.isHidden(path.Join(l.dir, name)) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	info, err := fs.Stat(l.root, path.Join(l.dir, name))
	if err == nil {
		return info, nil
	}
	if real := l.realPath(name); real != "" && !l.isHidden(real) { // the name leads through an absolute link
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

// enters reports whether fileset searches the directory with this name.
func (l *linkedFS) enters(name string) bool {
	real := l.realPath(name)
	if real == "" || l.isHidden(real) {
		return false
	}
	if name == "." || real == path.Join(l.realPath("."), name) {
		return true // the name leads through no link
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

// isRegularFile reports whether a name that matches the glob belongs to a regular file.
func (l *linkedFS) isRegularFile(name string) bool {
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

// isStray reports whether a name is that of a link that leads out of the workspace or to
// nothing.
func (l *linkedFS) isStray(name string) bool {
	return l.realPath(name) == "" && !l.isHidden(path.Join(l.dir, name))
}

func (l *linkedFS) isHidden(name string) bool { return l.hidden != nil && l.hidden(name) }

// realPath returns the path in the workspace of the file or directory with a name,
// without links. It returns "" if the name leads out of the workspace.
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
