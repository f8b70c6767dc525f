package git

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"

	"prdrunner/checkpoint/store"
)

// writebackTime is longer than any system delays writing data to its disk.
const writebackTime = 15 * time.Minute

// syncer makes durable what git does not fsync.
type syncer struct{ git *Repository }

// syncRef makes a ref durable, with what git does not fsync: the names of new files, and
// the loose objects that the user's commands wrote, which a commit of Runner may share.
// Files older than writebackTime are on the disk already. Call it after git has written
// the ref.
func (s syncer) syncRef(ref string, now time.Time) error {
	recent := func(info fs.FileInfo) bool { return now.Sub(info.ModTime()) < writebackTime }
	objects := filepath.Join(s.git.commonDir, "objects")
	for i := range 256 {
		if err := s.syncRecentObjects(filepath.Join(objects, fmt.Sprintf("%02x", i)), recent); err != nil {
			return err
		}
	}
	names := []string{filepath.Join(objects, "pack"), objects, filepath.Join(s.git.commonDir, "reftable")}
	for dir := path.Dir(ref); dir != "."; dir = path.Dir(dir) {
		names = append(names, filepath.Join(s.git.commonDir, filepath.FromSlash(dir)))
	}
	for _, name := range names {
		if err := s.git.fs.SyncDir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make git's names durable: %w", err)
		}
	}
	return s.syncFile(filepath.Join(s.git.commonDir, filepath.FromSlash(ref)))
}

// syncHead makes HEAD, and the branch that it names, durable.
func (s syncer) syncHead(branch string) error {
	if err := s.syncFile(filepath.Join(s.git.gitDir, "HEAD")); err != nil {
		return err
	}
	if err := s.git.fs.SyncDir(s.git.gitDir); err != nil {
		return fmt.Errorf("make git's names durable: %w", err)
	}
	ref := "refs/heads"
	if branch != "" {
		ref = headsRoot + branch
	}
	return s.syncRef(ref, time.Now())
}

// syncRecentObjects makes the recent loose objects of one directory durable. A new object
// makes its directory recent, so that most directories need not be read. If the directory
// disappears, git has packed its objects, and syncRef syncs the packs later.
func (s syncer) syncRecentObjects(dir string, recent func(fs.FileInfo) bool) error {
	info, err := s.git.fs.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !recent(info) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	entries, err := s.git.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !recent(info) {
			continue // it was removed, or is old enough
		}
		if err := s.syncObject(filepath.Join(dir, entry.Name()), info.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := s.git.fs.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	return nil
}

// syncObject makes a loose object durable. The system may report a failed fsync only
// once, and report success for the same file from then on, also to other processes. So
// after a failure syncObject writes the object into a new file, and returns the failure.
func (s syncer) syncObject(name string, perm fs.FileMode) error {
	err := s.syncFile(name)
	if err == nil {
		return nil
	}
	if again := s.rewrite(name, perm); again != nil {
		return errors.Join(err, fmt.Errorf("write git's object anew: %w", again))
	}
	return err
}

// rewrite replaces a file by a copy, which is durable except for its name. Until then the
// copy has a name that git prunes.
func (s syncer) rewrite(name string, perm fs.FileMode) error {
	data, err := store.ReadFile(s.git.fs, name)
	if errors.Is(err, fs.ErrNotExist) { // packed meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(name), "tmp_obj_"+rand.Text())
	f, err := s.git.fs.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.git.fs.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, s.git.fs.Remove(temp))
	}
	return nil
}

// syncFile makes a file of git durable. If the file does not exist, git has packed it. On
// Windows git syncs by default, and a read-only file can't be synced.
func (s syncer) syncFile(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := s.git.fs.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make git's files durable: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("make git's files durable: %w", err)
	}
	return nil
}
