//go:build unix

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestCaptureNoticesWhatItLeavesOut: a capture differs from the last one even if only the
// list of files that it could not capture has changed.
func TestCaptureNoticesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(w *Workspace, file string) error
		left func(c Captured) []string
	}{
		"unstable": {
			make: func(w *Workspace, file string) error {
				grow(w, file, always)
				return os.WriteFile(file, []byte(growing), 0o600)
			},
			left: func(c Captured) []string { return c.Unstable },
		},
		"special": {
			make: func(_ *Workspace, file string) error { return syscall.Mkfifo(file, 0o600) },
			left: func(c Captured) []string { return c.Special },
		},
		"sensitive": {
			make: func(w *Workspace, file string) error {
				refusing(w)
				return os.WriteFile(file, []byte(refusedWord), 0o600)
			},
			left: func(c Captured) []string { return c.LeftOut },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := keeper(t)
			put(t, dir, "other", "other")
			file := filepath.Join(dir, "odd")
			must(t, c.make(w, file))
			o := CaptureOptions{Patterns: []string{"*"}}
			first, err := w.Capture(t.Context(), o)
			must(t, err)
			if !slices.Equal(c.left(first), []string{"odd"}) {
				t.Fatalf("captured %+v", first)
			}
			o.Last = &first.Capture
			same, err := w.Capture(t.Context(), o)
			must(t, err)
			must(t, os.Remove(file))
			gone, err := w.Capture(t.Context(), o)
			must(t, err)
			if same.Changed || !gone.Changed || len(c.left(gone)) > 0 || gone.Listing == first.Listing {
				t.Errorf("captured %+v, then %+v", same, gone)
			}
		})
	}
}

// TestCaptureNoticesSparse: a capture also differs if git's index has another content for
// a file that is not checked out, even if its bytes are not available.
func TestCaptureNoticesSparse(t *testing.T) {
	t.Parallel()
	w, dir := sparseRepository(t, "", GitRef, true)
	first, _ := captureSparse(t, w, nil, 1)
	known := strings.TrimSpace(runGit(t, dir, "rev-parse", "HEAD:top"))
	for n, blob := range []string{known, strings.Repeat("ab", len(known)/2)} {
		runGit(t, dir, "update-index", "--cacheinfo", fmt.Sprintf("100644,%s,out/b", blob))
		runGit(t, dir, "update-index", "--skip-worktree", "out/b")
		next, l := captureSparse(t, w, &first.Capture, n+2)
		if e := l.sparseAt("out/b"); !next.Changed || e == nil || e.Blob != blob {
			t.Errorf("captured %+v, not checked out %+v", next, l.Sparse)
		}
		tree := runGit(t, dir, "ls-tree", "-r", next.Commit)
		if strings.Contains(tree, blob+"\tout/b") != (blob == known) || !strings.Contains(tree, "out/deep/c") {
			t.Errorf("the commit has\n%s", tree)
		}
		first = next
	}
}

// TestWithoutSparse: an entry that replaces a sparse file is in the listing.
func TestWithoutSparse(t *testing.T) {
	t.Parallel()
	sparse := func(path string) Entry { return Entry{Path: path, Mode: 0o100644, Blob: strings.Repeat("a", 40)} }
	l := &Listing{Sparse: []Entry{sparse("a"), sparse("b"), sparse("c")}}
	for path, want := range map[string]string{"b": "a c", "d": "a b c"} {
		with := l.With([]Entry{{Path: path, Mode: 0o644, Digest: shaOf("")}})
		if got := strings.Join(paths(with.Sparse), " "); got != want {
			t.Errorf("with %s, not checked out is %q", path, got)
		}
		w := lister(t)
		if _, err := w.Load(t.Context(), putAll(t, w, with)); err != nil {
			t.Errorf("with %s: %v", path, err)
		}
	}
	if len(l.Sparse) != 3 || l.Sparse[1].Path != "b" {
		t.Errorf("the listing itself became %+v", l.Sparse)
	}
}

// TestCaptureDirForFile: empty directories that replace a file that git knows are
// captured and restored, except for ignored ones.
func TestCaptureDirForFile(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, dir := gitKeeper(t, "", mode)
			names := []string{"empty", "nested", "mixed", "back"}
			for _, name := range names {
				put(t, dir, name, name)
			}
			put(t, dir, ".gitignore", "build/\n")
			runGit(t, dir, "add", "-A", ".")
			was, _ := captureSparse(t, w, nil, 1)
			for _, name := range []string{"empty", "nested/a/b", "mixed/sub", "mixed/build/x"} {
				top, _, _ := strings.Cut(name, "/")
				if info, err := os.Lstat(filepath.Join(dir, top)); err == nil && !info.IsDir() {
					must(t, os.Remove(filepath.Join(dir, top)))
				}
				must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
			}
			put(t, dir, "mixed/new", "new")
			next, l := captureSparse(t, w, &was.Capture, 2)
			if got := strings.Join(paths(l.Entries), " "); got != ".gitignore back empty mixed/new mixed/sub nested/a/b" {
				t.Errorf("captured %s", got)
			}
			_, err := restoreTo(t.Context(), w, was.Listing, "x")
			must(t, err)
			for _, name := range names {
				if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != name {
					t.Errorf("%s: %q, %v", name, data, err)
				}
			}
			_, err = restoreTo(t.Context(), w, next.Listing, "y")
			must(t, err)
			for _, name := range []string{"empty", "nested/a/b", "mixed/sub"} {
				if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		})
	}
}

// TestFileCameMeanwhile: a directory is not recorded as empty if a file in it is
// recorded, too.
func TestFileCameMeanwhile(t *testing.T) {
	t.Parallel()
	s := &survey{
		files: []surveyed{{found: found{entry: Entry{Path: "d/e/f", Mode: 0o644, Digest: shaOf("")}}}},
		dirs:  []Entry{{Path: "d", Mode: ModeDir | 0o755}, {Path: "d/e", Mode: ModeDir | 0o755}, {Path: "x", Mode: ModeDir | 0o755}},
	}
	if got := strings.Join(paths(s.listing(nil).Entries), " "); got != "d/e/f x" {
		t.Errorf("listed %q", got)
	}
}
