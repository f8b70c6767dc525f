//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/statcache"
)

// flipping is a context that replaces a directory by a link when its Err is called for
// the nth time. If back is set, the next call restores the directory. A restore calls Err
// before each of its steps.
type flipping struct {
	context.Context
	dir, aside, link string // the directory, its temporary path, the target of the link
	back             bool

	mu   sync.Mutex
	left int
	flip bool // the directory is a link now
	err  error
}

func (f *flipping) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	switch {
	case f.left == -1:
		f.flip = true
		f.err = errors.Join(os.Rename(f.dir, f.aside), os.Symlink(f.link, f.dir))
	case f.left == -2 && f.back:
		f.unflip()
	}
	return f.Context.Err()
}

// unflip replaces the link by the directory.
func (f *flipping) unflip() {
	if f.flip {
		f.err = errors.Join(f.err, os.Remove(f.dir), os.Rename(f.aside, f.dir))
	}
	f.flip = false
}

// flipTrees returns the two trees of a restore that makes every kind of change in a
// directory.
func flipTrees() (from, to *Listing) {
	file := func(name, data string, mode uint32) Entry {
		return Entry{Path: "d/" + name, Mode: mode, Size: int64(len(data)), Digest: shaOf(data)}
	}
	from = (&Listing{}).With([]Entry{
		file("change", "x", 0o644), file("gone", "x", 0o644), file("mode", "x", 0o644), file("sub/gone", "x", 0o644),
		{Path: "d/empty", Mode: ModeDir | 0o755}, file("sub2/change", "x", 0o644), file("kind", "x", 0o644),
	})
	to = (&Listing{}).With([]Entry{
		file("change", "yy", 0o644), file("mode", "x", 0o600), file("new", "zz", 0o644), file("sub2/change", "yy", 0o644),
		file("kind/new", "yy", 0o644), file("made/new", "yy", 0o644), {Path: "d/made2", Mode: ModeDir | 0o700},
	})
	return from, to
}

// snapshot describes everything in a directory, including times, so that even a change
// that was undone shows.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			all[path] = fmt.Sprintf("%v %+v", info.Mode(), statcache.StatOf(info))
		}
		return err
	}))
	return all
}

// age makes everything in a directory old, so that any change shows in the times.
func age(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
	}))
}

// TestRestoreFlips replaces a directory, at each step of a restore in it, by a link to a
// directory with the same files. The restore never touches that other directory, and no
// file is lost.
func TestRestoreFlips(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{true, false} { // an os.Root follows links to targets inside
		for _, back := range []bool{true, false} {
			t.Run(fmt.Sprintf("inside %v, back %v", inside, back), func(t *testing.T) {
				t.Parallel()
				w, dir := keeper(t)
				victim, link := t.TempDir(), ""
				if link = victim; inside {
					victim, link = filepath.Join(dir, ".state", "victim"), ".state/victim"
				}
				from, to := flipTrees()
				keepFlipped(t, w, dir)
				flipped := true
				for n := 0; flipped; n++ {
					flipped = restoreFlipped(t, w, dir, victim, &flipping{
						Context: t.Context(), dir: filepath.Join(dir, "d"), aside: filepath.Join(dir, ".state", "aside"), link: link, back: back, left: n,
					}, from, to)
				}
			})
		}
	}
}

// keepFlipped makes objects of all bytes to be restored.
func keepFlipped(t *testing.T, w *Workspace, dir string) {
	t.Helper()
	for _, data := range []string{"x", "yy", "zz"} {
		put(t, dir, data, data)
	}
	_, _, err := w.Keep(t.Context(), []string{"x", "yy", "zz"})
	must(t, err)
}

// restoreFlipped runs the restore once, and reports whether the directory was replaced
// meanwhile.
func restoreFlipped(t *testing.T, w *Workspace, dir, victim string, f *flipping, from, to *Listing) bool {
	t.Helper()
	at := f.left
	must(t, fill(dir, from))
	other := t.TempDir()
	must(t, fill(other, from))
	must(t, os.RemoveAll(victim))
	must(t, os.Rename(filepath.Join(other, "d"), victim))
	age(t, victim)
	before := snapshot(t, victim)
	_, err := w.Restore(f, Diff(from, to), RestoreOptions{ID: "x"})
	flipped := f.left < 0
	f.unflip()
	must(t, f.err)
	if diff := cmp.Diff(before, snapshot(t, victim)); diff != "" {
		t.Fatalf("flipped at %d (%v), the target of the link was changed:\n%s", at, err, diff)
	}
	if !flipped {
		must(t, err)
		if diff := differs(dir, to); diff != "" {
			t.Error(diff)
		}
		return false
	}
	// If a second run can't restore a file, it was lost.
	now, err := w.Now(t.Context(), []string{"d/**"})
	must(t, err)
	for _, e := range now.Entries {
		if e.Digest != "" && e.Digest != shaOf("x") && e.Digest != shaOf("yy") && e.Digest != shaOf("zz") {
			t.Errorf("flipped at %d: %s has neither its old nor its new content", at, e.Path)
		}
	}
	now.Patterns = nil
	_, err = w.Restore(t.Context(), Diff(now, to), RestoreOptions{ID: "x"})
	must(t, err)
	if diff := differs(dir, to); diff != "" {
		t.Errorf("flipped at %d, then restored again: %s", at, diff)
	}
	return true
}
