package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"
)

// settleTime is longer than any system keeps written data from its disk.
const settleTime = 15 * time.Minute

// settle makes durable what git left to the system: the names of new files,
// and the loose objects that the user's own commands wrote, which git does not
// fsync by default and which a commit of ours may share. What is older than
// settleTime is on the disk. It must be called after git has written the ref.
func (g *Git) settle(ref string, now time.Time) error {
	recent := func(info fs.FileInfo) bool { return now.Sub(info.ModTime()) < settleTime }
	objects := filepath.Join(g.commonDir, "objects")
	for i := range 256 {
		if err := g.settleObjects(filepath.Join(objects, fmt.Sprintf("%02x", i)), recent); err != nil {
			return err
		}
	}
	names := []string{filepath.Join(objects, "pack"), objects, filepath.Join(g.commonDir, "reftable")}
	for dir := path.Dir(ref); dir != "."; dir = path.Dir(dir) {
		names = append(names, filepath.Join(g.commonDir, filepath.FromSlash(dir)))
	}
	for _, name := range names {
		if err := g.fs.SyncDir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make git's names durable: %w", err)
		}
	}
	return g.syncFile(filepath.Join(g.commonDir, filepath.FromSlash(ref)))
}

// settleObjects makes the recent loose objects of one directory durable. A new
// object makes its directory recent, so that most need not be read.
func (g *Git) settleObjects(dir string, recent func(fs.FileInfo) bool) error {
	info, err := g.fs.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !recent(info) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	entries, err := g.fs.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !recent(info) {
			continue // it is gone, or old enough
		}
		if err := g.syncFile(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	if err := g.fs.SyncDir(dir); err != nil {
		return fmt.Errorf("make git's objects durable: %w", err)
	}
	return nil
}

// syncFile makes a file of git's durable. One that is gone was packed meanwhile.
// On Windows git does this by default, and nobody can to a file that is read-only.
func (g *Git) syncFile(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := g.fs.OpenFile(name, os.O_RDONLY, 0)
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
