package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/pipeline/glob"
	"prdrunner/pipeline/limits"
)

// maxContent is the largest size of a file that becomes part of a value.
const maxContent = 4 << 20

var (
	errNoWorkspace = errors.New("no workspace is known, so files cannot be read")
	errOutsideRoot = errors.New("the path must be relative to the workspace, and must not lead out of it")
	errNotRegular  = errors.New("this is not a regular file")
	errTooLarge    = errors.New("the file is larger than 4 MiB; name it in \"inputs\" instead")
)

// FindSources returns the files that a glob matches. It returns a link that leads out of the
// workspace or to nothing, too: to read it says what is wrong. A name may be listed twice.
func (w *Workspace) FindSources(pattern string) ([]string, error) {
	return w.match(".", pattern, unrecorded{}, func(l *linkedFS, name string) bool { return l.isRegularFile(name) || l.isStray(name) })
}

// ReadSource reads a file of the workspace that holds a part of a pipeline.
func (w *Workspace) ReadSource(name string) ([]byte, error) {
	file, err := w.openFile(name, unrecorded{})
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	src, err := io.ReadAll(io.LimitReader(file, limits.MaxFileSize+1))
	if err == nil && len(src) > limits.MaxFileSize {
		err = fmt.Errorf("it is larger than %d MiB", limits.MaxFileSize>>20)
	}
	return src, withoutPath(err)
}

// Read reads a file that becomes part of a value.
func (w *Workspace) Read(name string) ([]byte, error) { return w.readFile(name, unrecorded{}) }

// openFile opens a regular file. It follows links only inside the workspace.
func (w *Workspace) openFile(name string, reads Reads) (io.ReadCloser, error) {
	if restored := w.restored(name, reads); restored != nil {
		return restored()
	}
	if open, known := w.earlierFile(name); open != nil {
		return open()
	} else if known {
		return nil, fs.ErrNotExist
	}
	root, name, err := w.openRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	// Stat comes first, because opening a named pipe could block.
	info, err := root.Stat(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	return file, nil
}

// restored returns a function that opens an artifact that Runner will restore before
// anything runs. It returns nil for any other path.
func (w *Workspace) restored(name string, reads Reads) func() (io.ReadCloser, error) {
	restored := reads.Restored()
	if open := restored[path.Clean(name)]; open != nil || len(restored) == 0 || !glob.Inside(name) {
		return open
	}
	return restored[w.target(path.Clean(name))]
}

// earlierFile returns a function that opens the earlier file at a path, or nil if there
// was no file. It returns false if the file is not known to differ from the present one.
func (w *Workspace) earlierFile(name string) (open func() (io.ReadCloser, error), known bool) {
	if len(w.Earlier) == 0 || !glob.Inside(name) {
		return nil, false
	}
	if open, known = w.Earlier[path.Clean(name)]; !known {
		open, known = w.Earlier[w.target(path.Clean(name))]
	}
	return open, known
}

// target returns a path to the same file without links in it.
func (w *Workspace) target(name string) string {
	if w.Links == nil {
		return name
	}
	return w.Links.Target(name)
}

func (w *Workspace) openRoot(name string) (*os.Root, string, error) {
	if w.Dir == "" {
		return nil, "", errNoWorkspace
	}
	if !glob.Inside(name) {
		return nil, "", errOutsideRoot
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return nil, "", withoutPath(err)
	}
	name = path.Clean(name)
	if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		name = w.target(name) // os.Root follows no absolute link, not even one into the workspace
	}
	return root, name, nil
}

// withoutPath removes the path from an error, because the path depends on the machine.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (w *Workspace) readFile(name string, reads Reads) ([]byte, error) {
	file, err := w.openFile(name, reads)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(file, maxContent+1))
	if err == nil && len(data) > maxContent {
		err = errTooLarge
	}
	return data, withoutPath(err)
}

func (w *Workspace) readText(name string, reads Reads) (string, error) {
	data, err := w.readFile(name, reads)
	if err == nil && !utf8.Valid(data) {
		return "", errors.New("the file is not valid UTF-8; use filebase64")
	}
	return string(data), err
}

func (w *Workspace) checksum(name string, reads Reads) (string, error) {
	file, err := w.openFile(name, reads)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", withoutPath(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (w *Workspace) exists(name string, reads Reads) (bool, error) {
	if w.restored(name, reads) != nil {
		return true, nil
	}
	if open, known := w.earlierFile(name); known {
		return open != nil, nil
	}
	root, name, err := w.openRoot(name)
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, withoutPath(err)
	}
	return info.Mode().IsRegular(), nil
}

// match returns the names, relative to a directory, that match a pattern and that a
// function accepts. A name may be listed twice.
func (w *Workspace) match(dir, pattern string, reads Reads, accepts func(l *linkedFS, name string) bool) ([]string, error) {
	switch problem, outside := glob.Check(pattern); {
	case outside || glob.IsExclusion(pattern):
		return nil, errors.New("this is not a relative glob")
	case problem != "":
		return nil, fmt.Errorf("this is not a valid glob; %s", problem)
	}
	root, dir, err := w.openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	below, err := fs.Sub(root.FS(), dir)
	if err != nil {
		return nil, withoutPath(err)
	}
	files := &linkedFS{FS: below, root: root.FS(), workspace: w.Dir, dir: dir, hidden: w.Hidden, real: make(map[string]string), entered: make(map[string]string)}
	var names []string
	for _, pattern := range glob.WithDirectory(pattern) {
		more, err := doublestar.Glob(files, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return nil, withoutPath(err)
		}
		names = append(names, more...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !accepts(files, name) || !utf8.ValidString(name) })
	if len(reads.Restored()) > 0 || len(w.Earlier) > 0 {
		dir = path.Clean(w.target(dir)) // the target of "." is ""
	}
	for name, open := range w.Earlier {
		if below, ok := matchBelow(dir, pattern, name); ok && open != nil {
			names = append(names, below) // duplicates are harmless in a set
		} else if ok {
			names = slices.DeleteFunc(names, func(n string) bool { return n == below })
		}
	}
	for name := range reads.Restored() {
		if below, ok := matchBelow(dir, pattern, name); ok {
			names = append(names, below)
		}
	}
	return names, nil
}

// matchBelow returns the path of a file relative to a directory, and whether the file is
// in the directory and matches a pattern.
func matchBelow(dir, pattern, name string) (below string, ok bool) {
	if below, ok = strings.CutPrefix("/"+name, path.Join("/", dir)+"/"); dir == "." {
		below, ok = name, true
	}
	return below, ok && slices.ContainsFunc(glob.WithDirectory(pattern), func(p string) bool { return doublestar.MatchUnvalidated(p, below) })
}
