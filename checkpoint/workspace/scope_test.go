//go:build unix

package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// TestSplitByScope: a change is apart if only one of the captures covers its file, so
// that its absence in the other one means nothing.
func TestSplitByScope(t *testing.T) {
	t.Parallel()
	added, gone, edited := Change{Path: "out/a", Kind: Added, To: &Entry{}}, Change{Path: "out/b", Kind: Deleted, From: &Entry{}},
		Change{Path: "out/c", Kind: Modified, From: &Entry{}, To: &Entry{}}
	all := []Change{added, gone, edited}
	none, out, other, inGit := Scope{}, Scope{Patterns: []string{"out/*"}}, Scope{Patterns: []string{"src/*"}}, Scope{Git: true}
	for name, c := range map[string]struct {
		from, to    Scope
		both, apart []Change
	}{
		"the same":             {out, out, all, nil},
		"neither covers":       {none, other, []Change{edited}, []Change{added, gone}},
		"only the first":       {out, other, []Change{added, edited}, []Change{gone}},
		"only the second":      {other, out, []Change{gone, edited}, []Change{added}},
		"git covers any":       {inGit, out, all, nil},
		"git and then nothing": {inGit, none, []Change{added, edited}, []Change{gone}},
		"nothing and then git": {none, inGit, []Change{gone, edited}, []Change{added}},
	} {
		both, apart := SplitByScope(all, c.from, c.to)
		if diff := cmp.Diff([][]Change{c.both, c.apart}, [][]Change{both, apart}); diff != "" {
			t.Errorf("%s: in both and apart (-want +got):\n%s", name, diff)
		}
	}
}

// TestCorrectDeletions: a file that exists was not deleted, whether or not git or the
// patterns list it. If it was changed, it is modified.
func TestCorrectDeletions(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, path := range []string{"same", "edited", "full/in"} {
		put(t, dir, path, "x")
	}
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
	was := func(path string) *Entry { return &Entry{Path: path, Mode: 0o644, Size: 1, Digest: shaOf("x")} }
	emptyDir := func(path string) *Entry { return &Entry{Path: path, Mode: ModeDir | 0o755} }
	deleted := func(e *Entry) Change { return Change{Path: e.Path, Kind: Deleted, From: e} }
	before := was("edited")
	before.Digest = shaOf("y")
	came := Change{Path: "new", Kind: Added, To: was("new")}
	now := describe(t, w, "edited")
	got, err := w.CorrectDeletions(t.Context(), []Change{
		deleted(was("same")), deleted(before), deleted(was("gone")), deleted(was("gone/below")), deleted(emptyDir("full")),
		deleted(emptyDir("empty")), deleted(emptyDir("away")), came,
	})
	must(t, err)
	want := []Change{
		{Path: "edited", Kind: Modified, From: before, To: &now}, deleted(was("gone")), deleted(was("gone/below")), deleted(emptyDir("away")), came,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := w.CorrectDeletions(ended, []Change{deleted(was("gone"))}); err == nil {
		t.Errorf("after the context ended: %v", got)
	}
}

// TestInScope: a capture with git includes what git lists and every empty directory, and
// one without git only what the patterns name.
func TestInScope(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, ".gitignore", "*.log\n")
	for _, path := range []string{"file", "x.log", "out/named.log"} {
		put(t, dir, path, "x")
	}
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "out", "empty"), 0o755))
	entries := []Entry{
		{Path: "file"}, {Path: "x.log"}, {Path: "out/named.log"}, {Path: "gone"},
		{Path: "empty", Mode: ModeDir | 0o755}, {Path: "out/empty", Mode: ModeDir | 0o755},
	}
	for inGit, want := range map[bool][]string{
		true:  {"file", "out/named.log", "empty", "out/empty"},
		false: {"out/named.log", "out/empty"},
	} {
		in, err := w.InScope(t.Context(), []string{"out/**"}, inGit)
		must(t, err)
		var got []string
		for _, e := range entries {
			if in(e) {
				got = append(got, e.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with git %t: in scope are %q, want %q", inGit, got, want)
		}
	}
	shown, err := w.ShownByGit(t.Context(), &Listing{Entries: []Entry{{Path: ".gitignore"}}})
	if must(t, err); !slices.Equal(shown, []string{"file"}) {
		t.Errorf("git shows %q, want the file", shown)
	}
	ignored, err := w.Ignored(t.Context(), &Listing{Entries: []Entry{{Path: "x.log"}}})
	if must(t, err); !slices.Equal(ignored, []string{"out/"}) {
		t.Errorf("git ignores %q besides what is listed, want the directory out/", ignored)
	}
}

// TestUnlisted: what is there and in no listing is named, except directories and what the
// listing names as unreadable.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, path := range []string{"listed", "ignored", "special", "dir/file"} {
		put(t, dir, path, "x")
	}
	l := &Listing{Entries: []Entry{{Path: "listed"}}, Special: []string{"special"}}
	var entries []Entry
	for _, path := range []string{"listed", "ignored", "special", "dir", "missing", "missing/below", ".state/x"} {
		entries = append(entries, Entry{Path: path})
	}
	got, err := w.Unlisted(t.Context(), l, entries)
	if must(t, err); !slices.Equal(got, []string{"ignored"}) {
		t.Errorf("unlisted are %q, want the ignored file", got)
	}
}

// failingOnce starts real programs. The first time it starts git fast-import, it fails as
// a git does that finds an object pruned.
type failingOnce struct {
	gittest.Commander
	code  int
	tries atomic.Int32
}

func (f *failingOnce) Run(ctx context.Context, c git.Command) error {
	if slices.Contains(c.Args, "fast-import") && f.tries.Add(1) == 1 {
		return &git.ExitError{Args: c.Args, Code: f.code, Stderr: "fatal: object is missing"}
	}
	return f.Commander.Run(ctx, c)
}

// TestCaptureCommitsAgain: if git fails while a capture commits, the capture tries again,
// unless git was killed.
func TestCaptureCommitsAgain(t *testing.T) {
	t.Parallel()
	for code, tries := range map[int]int32{128: 2, -1: 1} {
		w, dir := gitKeeper(t, "", GitRef)
		put(t, dir, "new", strings.Repeat("x", 100))
		f := &failingOnce{code: code}
		g, err := git.Open(t.Context(), f, dir)
		must(t, err)
		o := w.o
		o.Git = g
		_, err = open(t, o).Capture(t.Context(), CaptureOptions{Ref: "refs/runner/test/1"})
		if (err == nil) != (tries > 1) || f.tries.Load() != tries {
			t.Errorf("git ended with %d: captured after %d tries, want %d: %v", code, f.tries.Load(), tries, err)
		}
	}
}
