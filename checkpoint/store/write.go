package store

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// tempPrefix begins the name of every temporary file.
const tempPrefix = ".tmp-"

// IsTemp reports whether a file name is that of a temporary file of this package. After an
// interrupted write, the holder of the lock may remove the file.
func IsTemp(name string) bool { return strings.HasPrefix(filepath.Base(name), tempPrefix) }

// IsTempOf reports whether a file name is that of a temporary file for base.
func IsTempOf(name, base string) bool {
	return strings.HasPrefix(filepath.Base(name), tempPrefix+base+"-")
}

// IsLeftover reports whether a name is certainly one that CreateTemp chose. It is stricter
// than IsTemp, because files of the user may begin with .tmp- too.
func IsLeftover(name string) bool {
	at := strings.LastIndexByte(name, '-')
	return IsTemp(name) && at >= len(tempPrefix) && isRandomSuffix(name[at+1:])
}

// isRandomSuffix reports whether rand.Text can return a text.
func isRandomSuffix(s string) bool {
	return len(s) == len(rand.Text()) && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// RemoveTempsOf removes the temporary files and directories for path that were not written
// to since a moment. No lock shows that their writers have ended. A writer that was paused for so long
// fails at its rename.
func RemoveTempsOf(fsys FS, path string, since time.Time) error {
	dir, base := filepath.Split(path)
	entries, err := fsys.ReadDir(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("look for what was cut short: %w", err)
	}
	for _, e := range entries {
		// The base of another file can begin with this base.
		random := strings.TrimPrefix(e.Name(), tempPrefix+base+"-")
		if !IsTempOf(e.Name(), base) || len(random) != len(rand.Text()) || strings.Contains(random, "-") || !e.Type().IsRegular() && !e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(since) {
			continue // it was removed, or its writer may still run
		}
		if err := RemoveAll(fsys, filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove what was cut short: %w", err)
		}
	}
	return nil
}

// CreateTemp creates a new file that is to be renamed to path. It is in the same directory,
// because a rename cannot cross file systems.
func CreateTemp(fsys FS, path string) (File, string, error) {
	name := TempName(path)
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FilePerm)
	if err != nil {
		return nil, "", fmt.Errorf("create a temporary file: %w", err)
	}
	return f, name, nil
}

// WriteFile atomically writes a file: it writes a temporary file, syncs and renames it, and
// syncs the directory. The content is the concatenation of data.
func WriteFile(fsys FS, path string, data ...[]byte) error {
	return Write(fsys, Entry{Path: path, Data: data})
}

// Entry is a file or a symbolic link to be written at a path. A link is left out on a file
// system without symbolic links.
type Entry struct {
	Path   string
	Data   [][]byte // content of a file, as the concatenation of the parts
	Target string
	New    bool // fail with fs.ErrExist if the path exists, instead of replacing it
}

// Write writes files and links at their paths and replaces existing ones, each atomically,
// in order. It syncs the content of all before it renames the first, and each directory
// once at the end. So names in several directories become durable in no fixed order.
//
// It returns a *WriteError with the path that failed. Those before it may have their names,
// which may not be durable.
func Write(fsys FS, names ...Entry) error {
	if len(names) == 0 {
		return nil
	}
	temps := make([]string, len(names))
	i, err := concurrently(len(names), func(i int) (err error) {
		temps[i], err = names[i].createTemp(fsys)
		return err
	})
	if err != nil {
		return removeTemps(fsys, temps, &WriteError{names[i].Path, err})
	}
	var dirs, last []string
	for i, n := range names {
		if temps[i] == "" {
			continue // a link on a file system without links
		}
		if err := n.rename(fsys, temps[i]); err != nil {
			return removeTemps(fsys, temps[i:], &WriteError{n.Path, err})
		}
		if dir := filepath.Dir(n.Path); !slices.Contains(dirs, dir) {
			dirs, last = append(dirs, dir), append(last, n.Path)
		} else {
			last[slices.Index(dirs, dir)] = n.Path
		}
	}
	if i, err := concurrently(len(dirs), func(i int) error { return fsys.SyncDir(dirs[i]) }); err != nil {
		return &WriteError{last[i], err}
	}
	return nil
}

// Size returns the length of the content in bytes.
func (n Entry) Size() int {
	size := 0
	for _, part := range n.Data {
		size += len(part)
	}
	return size
}

// WriteError says which path Write failed on.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// createTemp creates the temporary file or link, with durable content. It returns "" for a
// link on a file system without links.
func (n Entry) createTemp(fsys FS) (temp string, err error) {
	if n.Target == "" {
		return writeTemp(fsys, n.Path, n.Data...)
	}
	temp = TempName(n.Path)
	err = fsys.Symlink(n.Target, temp)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) { // FAT returns EPERM
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return temp, nil
}

// rename renames the temporary file to its path, or links it there if the path must be new.
func (n Entry) rename(fsys FS, temp string) error {
	if !n.New {
		return fsys.Rename(temp, n.Path)
	}
	err := fsys.Link(temp, n.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameNew(fsys, temp, n.Path)
	}
	// After a successful renameNew there is no temporary file to remove.
	if removed := fsys.Remove(temp); err == nil && !errors.Is(removed, fs.ErrNotExist) {
		err = removed
	}
	return err
}

// renameNew is for file systems without hard links. Another process could create the path
// between the two steps; callers hold a lock against that.
func renameNew(fsys FS, from, to string) error {
	if _, err := fsys.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return fsys.Rename(from, to)
}

// removeTemps removes temporary files after an error, and returns the error.
func removeTemps(fsys FS, temps []string, because error) error {
	for _, temp := range temps {
		if temp != "" {
			_ = fsys.Remove(temp) // the next holder of the lock removes leftovers
		}
	}
	return because
}

// maxAtOnce bounds how many operations run concurrently.
const maxAtOnce = 32

// concurrently calls do for each index below n, because a disk combines waiting fsyncs. It
// returns the first index with an error.
func concurrently(n int, do func(i int) error) (int, error) {
	errs := make([]error, n)
	var all errgroup.Group
	all.SetLimit(maxAtOnce)
	for i := range n {
		all.Go(func() error {
			errs[i] = do(i)
			return errs[i]
		})
	}
	if all.Wait() == nil {
		return 0, nil
	}
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	return i, errs[i]
}

// syncDirs syncs directories. The error names the operation and the path that it was for.
func syncDirs(fsys FS, dirs []string, what, path string) error {
	for _, dir := range dirs {
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("%s %s: %w", what, path, err)
		}
	}
	return nil
}

// TempName returns a new name for a file or directory that is to be renamed to path. Its
// directory is that of path.
func TempName(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, tempPrefix+base+"-"+rand.Text())
}

func writeTemp(fsys FS, path string, data ...[]byte) (string, error) {
	f, name, err := CreateTemp(fsys, path)
	if err != nil {
		return "", err
	}
	for _, part := range data {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = fsys.Remove(name)
		return "", err
	}
	return name, nil
}

// maxRead bounds the length of a file that ReadFile reads. State files are far shorter.
const maxRead = 512 << 20

// ReadFile reads a regular file of at most 512 MiB; a longer one is ErrTooLong. It returns
// an error for anything else, such as a named pipe, which could block or never end.
func ReadFile(fsys FS, path string) ([]byte, error) {
	f, err := OpenRegular(fsys, path)
	if err != nil {
		return nil, err
	}
	data, err := readBounded(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

func readBounded(f File) ([]byte, error) {
	info, err := f.Stat()
	if err == nil && info.Size() > maxRead {
		err = ErrTooLong
	}
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(f, maxRead+1))
	if err == nil && data.Len() > maxRead { // it grew while it was read
		err = ErrTooLong
	}
	return data.Bytes(), err
}

// OpenRegular opens a regular file for reading.
func OpenRegular(fsys FS, path string) (File, error) {
	info, err := fsys.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w (%s)", path, ErrNotRegular, info.Mode().Type())
	}
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

// MkdirAll creates directories and their missing parents, durably. It syncs each directory
// in which it created some once, the outermost first.
func MkdirAll(fsys FS, dirs ...string) (err error) {
	var parents []string
	for _, dir := range dirs {
		if parents, err = mkdirAll(fsys, dir, parents); err != nil {
			break // the created ones are synced below
		}
	}
	return errors.Join(err, syncDirs(fsys, parents, "make directory", dirs[len(dirs)-1]))
}

// mkdirAll creates a directory, and appends the directories to be synced for it to parents.
func mkdirAll(fsys FS, dir string, parents []string) ([]string, error) {
	info, err := fsys.Lstat(dir)
	if err == nil {
		if !info.IsDir() && info.Mode().Type() != fs.ModeSymlink {
			err = fmt.Errorf("make directory %s: a file of that name is there", dir)
		}
		return parents, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return parents, fmt.Errorf("make directory: %w", err)
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if parents, err = mkdirAll(fsys, parent, parents); err != nil {
			return parents, err
		}
	}
	if err := fsys.Mkdir(dir, DirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return parents, fmt.Errorf("make directory: %w", err)
	}
	if !slices.Contains(parents, parent) {
		parents = append(parents, parent)
	}
	return parents, nil
}
