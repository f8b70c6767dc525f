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
	"sync"
	"syscall"
	"time"
)

// tempPrefix begins the name of every file that is not yet what it will be.
const tempPrefix = ".tmp-"

// IsTemp reports whether a file of the given name is a temporary one, left by
// a write that was cut short. It may be removed by whoever holds the lock.
func IsTemp(name string) bool { return strings.HasPrefix(filepath.Base(name), tempPrefix) }

// IsTempOf reports whether a file of the given name is a temporary one that
// was to become the file base.
func IsTempOf(name, base string) bool {
	return strings.HasPrefix(filepath.Base(name), tempPrefix+base+"-")
}

// IsLeftover reports whether a name can be nothing but that of a temporary file of
// WriteFile or CreateTemp: what lies in the workspace may be called .tmp- too.
func IsLeftover(name string) bool {
	at := strings.LastIndexByte(name, '-')
	return IsTemp(name) && at >= len(tempPrefix) && isRandom(name[at+1:])
}

// isRandom reports whether a text could be one of rand.Text.
func isRandom(s string) bool {
	return len(s) == len(rand.Text()) && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// RemoveTempsOf removes the temporary files that were to become path and that
// nobody has written to since a moment. No lock tells that nobody will: whoever
// is that slow fails when the file gets its name.
func RemoveTempsOf(fsys FS, path string, since time.Time) error {
	dir, base := filepath.Split(path)
	entries, err := fsys.ReadDir(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("look for what was cut short: %w", err)
	}
	for _, e := range entries {
		// What was to become another file may begin alike.
		random := strings.TrimPrefix(e.Name(), tempPrefix+base+"-")
		if !IsTempOf(e.Name(), base) || len(random) != len(rand.Text()) || strings.Contains(random, "-") || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(since) {
			continue // it is gone, or somebody may be at work
		}
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what was cut short: %w", err)
		}
	}
	return nil
}

// CreateTemp creates a new file for writing that is to become path. It lies in
// the same directory, since a rename does not cross file systems.
func CreateTemp(fsys FS, path string) (File, string, error) {
	name := tempName(path)
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FilePerm)
	if err != nil {
		return nil, "", fmt.Errorf("create a temporary file: %w", err)
	}
	return f, name, nil
}

// WriteFile puts a file of the given content at a path, whole or not at all:
// written beside it, synced, renamed, and the directory synced. The content is
// given in parts that follow one another.
func WriteFile(fsys FS, path string, data ...[]byte) error {
	return Write(fsys, Name{Path: path, Data: data})
}

// Name is what stands under a name once it was written: a file of the given
// content or, where it has a target, a symbolic link to that. On a file system
// that has no symbolic links, a link is left out.
type Name struct {
	Path   string
	Data   [][]byte // in parts that follow one another
	Target string
	New    bool // nothing that has the name is replaced: fs.ErrExist
}

// Write puts files and links at their paths, replacing what has the name: each
// whole or not at all, in their order, and each directory synced once, at the end, which
// makes names in several directories durable in no order. All of the content is durable
// before the first of them has its name. It is a *WriteError that one of them could not
// be put there; those before it may have their names, which are not known to be durable.
func Write(fsys FS, names ...Name) error {
	if len(names) == 0 {
		return nil
	}
	temps := make([]string, len(names))
	i, err := sideBySide(len(names), func(i int) (err error) {
		temps[i], err = names[i].prepare(fsys)
		return err
	})
	if err != nil {
		return withdraw(fsys, temps, &WriteError{names[i].Path, err})
	}
	var dirs, last []string
	for i, n := range names {
		if temps[i] == "" {
			continue // a link, on a file system without links
		}
		if err := n.give(fsys, temps[i]); err != nil {
			return withdraw(fsys, temps[i:], &WriteError{n.Path, err})
		}
		if dir := filepath.Dir(n.Path); !slices.Contains(dirs, dir) {
			dirs, last = append(dirs, dir), append(last, n.Path)
		} else {
			last[slices.Index(dirs, dir)] = n.Path
		}
	}
	if i, err := sideBySide(len(dirs), func(i int) error { return fsys.SyncDir(dirs[i]) }); err != nil {
		return &WriteError{last[i], err}
	}
	return nil
}

// Size is how many bytes the content has.
func (n Name) Size() int {
	size := 0
	for _, part := range n.Data {
		size += len(part)
	}
	return size
}

// WriteError says which path something could not be put at.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.Path, e.Err) }

// Unwrap returns why.
func (e *WriteError) Unwrap() error { return e.Err }

// prepare makes what the name is given to, with its content durable. It makes
// nothing, and returns "", for a link on a file system without links.
func (n Name) prepare(fsys FS) (temp string, err error) {
	if n.Target == "" {
		return writeTemp(fsys, n.Path, n.Data...)
	}
	temp = tempName(n.Path)
	err = fsys.Symlink(n.Target, temp)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) { // the latter is what FAT answers
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return temp, nil
}

// give gives the name to what was made for it.
func (n Name) give(fsys FS, temp string) error {
	if !n.New {
		return fsys.Rename(temp, n.Path)
	}
	err := fsys.Link(temp, n.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameNew(fsys, temp, n.Path)
	}
	// After a successful rename there is nothing left to remove.
	if removed := fsys.Remove(temp); err == nil && !errors.Is(removed, fs.ErrNotExist) {
		err = removed
	}
	return err
}

// renameNew is for file systems without hard links. Between its two steps
// another process could take the name; there, the lock must keep it away.
func renameNew(fsys FS, from, to string) error {
	if _, err := fsys.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return fsys.Rename(from, to)
}

// withdraw removes what is given no name, because of an error, which it returns.
func withdraw(fsys FS, temps []string, because error) error {
	for _, temp := range temps {
		if temp != "" {
			_ = fsys.Remove(temp) // a leftover is removed under the next lock
		}
	}
	return because
}

// mostAtOnce bounds how many things are done side by side.
const mostAtOnce = 32

// sideBySide calls do for each index below n, at once: the disk makes durable
// together what waits for it together. It returns the first index with an error.
func sideBySide(n int, do func(i int) error) (int, error) {
	errs := make([]error, n)
	var others sync.WaitGroup
	slots := make(chan struct{}, mostAtOnce-1)
	for i := 1; i < n; i++ {
		slots <- struct{}{}
		others.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	errs[0] = do(0)
	others.Wait()
	for i, err := range errs {
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

// syncDirs syncs directories, for something that was done to a path.
func syncDirs(fsys FS, dirs []string, what, path string) error {
	for _, dir := range dirs {
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("%s %s: %w", what, path, err)
		}
	}
	return nil
}

func tempName(path string) string {
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

// maxRead bounds what ReadFile reads: far more than any file that is read whole
// holds, and less than would take a machine's memory.
const maxRead = 512 << 20

// ReadFile reads a regular file. Anything else under the name, such as a pipe
// that would never end, is an error, and so is a file of more than 512 MiB:
// ErrTooLong.
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
	if err == nil && data.Len() > maxRead { // it grew
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

// MkdirAll makes directories and those above them that are missing, all durable:
// each directory in which some were made is synced once, the outermost first.
func MkdirAll(fsys FS, dirs ...string) (err error) {
	var parents []string
	for _, dir := range dirs {
		if parents, err = mkdirAll(fsys, dir, parents); err != nil {
			break // who tries again finds those that were made
		}
	}
	return errors.Join(err, syncDirs(fsys, parents, "make directory", dirs[len(dirs)-1]))
}

// mkdirAll makes a directory, and adds those that are to be synced for it.
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
