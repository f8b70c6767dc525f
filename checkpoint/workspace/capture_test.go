//go:build unix

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/checkpoint/workspace/statcache"
)

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"git", "-c", "user.name=u", "-c", "user.email=u@localhost"}, args...)
	must(t, gittest.Commander{}.Run(t.Context(), git.Command{Args: args, Dir: dir, Stdout: &out}))
	return out.String()
}

// gitKeeper opens a workspace in a directory of a new repository.
func gitKeeper(t testing.TB, sub string, mode GitMode) (w *Workspace, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI has no git program")
		}
		t.Skip("there is no git program")
	}
	top := t.TempDir()
	runGit(t, top, "init", "-q", "-b", "main")
	dir = filepath.Join(top, sub)
	must(t, os.MkdirAll(filepath.Join(dir, ".state"), 0o755))
	put(t, dir, ".state/.gitignore", "*\n")
	o := keeperOptions(dir)
	o.Mode = mode
	var err error
	o.Git, err = git.Open(t.Context(), gittest.Commander{}, dir)
	must(t, err)
	return open(t, o), dir
}

func countObjects(t testing.TB, w *Workspace) (n int) {
	t.Helper()
	for _, err := range w.o.Objects.All(t.Context()) {
		must(t, err)
		n++
	}
	return n
}

func paths(entries []Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Path
	}
	return all
}

// oddNames are names that many programs handle wrongly.
func oddNames() []string {
	return []string{"new\nline", "sp ace", "-dash", `qu"o'te\`, "bad\xff\xfe", "tab\t", "*", "é", "#", "a/-b/\xff/c"}
}

func TestCaptureOutsideGit(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, name := range append(oddNames(), "in/a", "in/.env", "out", ".git/config", "in/.git/HEAD") {
		put(t, dir, name, name)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "in", "empty", "er"), 0o750))
	must(t, syscall.Mkfifo(filepath.Join(dir, "in", "pipe"), 0o600))
	must(t, os.Symlink("/nowhere", filepath.Join(dir, "in", "link")))
	patterns := []string{"in/**", "[!o.]*", "a/**"}
	first, err := w.Capture(t.Context(), CaptureOptions{Patterns: patterns})
	must(t, err)
	if !slices.Equal(first.LeftOut, []string{"in/.env"}) || !slices.Equal(first.Special, []string{"in/pipe"}) || !first.Changed || first.Capture.LeftOut != 1 {
		t.Errorf("captured %+v", first)
	}
	l, err := w.Load(t.Context(), first.Listing)
	must(t, err)
	want := append(oddNames(), "in/a", "in/empty/er", "in/link")
	slices.Sort(want)
	if diff := cmp.Diff(want, paths(l.Entries)); diff != "" || first.Files != len(want)-1 {
		t.Errorf("%d files: %s", first.Files, diff)
	}
	for _, e := range l.Entries {
		if e.IsDir() {
			continue
		}
		r, err := w.contents.Open(t.Context(), e)
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, errors.Join(err, r.Close()))
		want := e.Path
		if e.Mode == ModeSymlink {
			want = "/nowhere"
		}
		if string(data) != want {
			t.Errorf("%q has %q", e.Path, data)
		}
	}
	if missing, err := w.contents.Missing(t.Context(), l.Entries, true); err != nil || len(missing) > 0 {
		t.Errorf("missing: %v, %v", missing, err)
	}

	before := countObjects(t, w)
	again, err := w.Capture(t.Context(), CaptureOptions{Patterns: patterns, Last: &first.Capture})
	if err != nil || again.Changed || again.Capture != first.Capture || countObjects(t, w) != before {
		t.Errorf("nothing changed: %+v, %v", again, err)
	}
	must(t, os.Chtimes(filepath.Join(dir, "in", "a"), time.Time{}, time.Unix(1, 0)))
	again, err = w.Capture(t.Context(), CaptureOptions{Patterns: patterns, Last: &first.Capture})
	if err != nil || again.Changed {
		t.Errorf("touched: %+v, %v", again, err)
	}
	put(t, dir, "in/a", "in/b")
	again, err = w.Capture(t.Context(), CaptureOptions{Patterns: patterns, Last: &first.Capture})
	if err != nil || !again.Changed || countObjects(t, w) != before+3 {
		t.Errorf("changed: %+v, %v, %d objects more", again, err, countObjects(t, w)-before)
	}
}

// TestMissing removes and damages stored bytes. Missing finds the removed ones, and the
// damaged ones if it reads all bytes.
func TestMissing(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "gone", "gone")
	put(t, dir, "damaged", "damaged")
	put(t, dir, "good", "good")
	kept, left, err := w.Keep(t.Context(), []string{"gone", "damaged", "good"})
	if err != nil || len(kept) != 3 || len(left) > 0 {
		t.Fatal(kept, left, err)
	}
	must(t, w.o.Objects.Remove(kept[0].Digest))
	hexa := strings.TrimPrefix(kept[1].Digest, "sha256:")
	object := filepath.Join(dir, ".state", "objects", hexa[:2], hexa[2:])
	must(t, os.Chmod(object, 0o600))
	must(t, os.WriteFile(object, []byte("DAMAGED"), 0o600))
	for deep, want := range map[bool][]string{false: {"gone"}, true: {"gone", "damaged"}} {
		missing, err := w.contents.Missing(t.Context(), kept, deep)
		must(t, err)
		var got []string
		for _, m := range missing {
			got = append(got, m.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("deep %v: %v", deep, missing)
		}
	}

	// A damaged object is found before anything is changed, or the file is skipped.
	target := (&Listing{}).With(kept)
	target.Patterns = []string{"*"}
	for _, name := range []string{"gone", "damaged", "good"} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	now, err := w.Now(t.Context(), target.Patterns)
	must(t, err)
	changes := slices.DeleteFunc(Diff(now, target), func(c Change) bool { return c.Path == "gone" })
	var missing *MissingError
	if _, err := w.Restore(t.Context(), changes, RestoreOptions{ID: "x"}); !errors.As(err, &missing) || len(missing.Missing) != 1 {
		t.Errorf("restoring a damaged object: %v, want a MissingError", err)
	}
	if diff := differs(dir, now); diff != "" {
		t.Errorf("the restore changed files before it found the damage: %s", diff)
	}
	restored, err := w.Restore(t.Context(), Diff(now, target), RestoreOptions{ID: "x", Force: true})
	if err != nil || restored.Written != 1 || len(restored.Skipped) != 2 {
		t.Errorf("forced: %+v, %v", restored, err)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, name := range []string{"a", "b/c", ".env", "same"} {
		put(t, dir, name, name)
	}
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	put(t, dir, "same", "a")
	kept, left, err := w.Keep(t.Context(), []string{"a", "b/c", ".env", "same", "link"})
	must(t, err)
	if !slices.Equal(left, []string{".env"}) || kept[2].Digest != shaOf(".env") || countObjects(t, w) != 2 {
		t.Errorf("kept %v, left out %v, %d objects", kept, left, countObjects(t, w))
	}
	if there, err := w.o.Objects.Has(shaOf(".env")); err != nil || there {
		t.Errorf("a secret was kept: %v", err)
	}
	if _, _, err := w.Keep(t.Context(), []string{"a", "missing"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestCaptureGit(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"", "sub/dir"} {
		t.Run("in "+sub, func(t *testing.T) {
			t.Parallel()
			testCaptureGit(t, sub)
		})
	}
}

func testCaptureGit(t *testing.T, sub string) {
	w, dir := gitKeeper(t, sub, GitRef)
	for _, name := range append(oddNames(), "tracked", "deleted", ".env", "text") {
		put(t, dir, name, name)
	}
	put(t, dir, ".gitignore", "*.log\nbuild/\n")
	put(t, dir, ".gitattributes", "text eol=crlf\n")
	must(t, os.Chmod(filepath.Join(dir, "tracked"), 0o750))
	runGit(t, dir, "add", "-A", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	must(t, os.Remove(filepath.Join(dir, "deleted")))
	put(t, dir, "text", "one\ntwo\r\n") // no filter may change the file
	for _, name := range []string{"untracked", "secrets.yml", "ignored.log", "build/kept", "build/other"} {
		put(t, dir, name, name)
	}
	must(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	must(t, os.MkdirAll(filepath.Join(dir, "empty", "er"), 0o750))
	big := strings.Repeat("big", maxGitBlob/3+1)
	put(t, dir, "big", big)
	before := runGit(t, dir, "status", "--porcelain", "-z") + runGit(t, dir, "rev-parse", "HEAD") + runGit(t, dir, "stash", "list")

	o := CaptureOptions{Patterns: []string{"build/k*"}, Ref: "refs/runner/test/1", Message: "m", When: time.Unix(1e9, 0)}
	first, err := w.Capture(t.Context(), o)
	must(t, err)
	if after := runGit(t, dir, "status", "--porcelain", "-z") + runGit(t, dir, "rev-parse", "HEAD") + runGit(t, dir, "stash", "list"); after != before {
		t.Errorf("the capture changed the user's git state:\n%s\n%s", before, after)
	}
	if !slices.Equal(first.LeftOut, []string{"secrets.yml"}) || first.Commit == "" || first.Ref != o.Ref {
		t.Errorf("captured %+v", first)
	}
	l, err := w.Load(t.Context(), first.Listing)
	must(t, err)
	want := append(oddNames(), "tracked", ".env", "text", ".gitignore", ".gitattributes", "untracked", "link", "big", "build/kept", "empty/er")
	slices.Sort(want)
	if diff := cmp.Diff(want, paths(l.Entries)); diff != "" {
		t.Error(diff)
	}
	for _, e := range l.Entries {
		wantBlob := e.Path != "big" && e.Path != "build/kept" && !e.IsDir()
		if (e.Blob != "") != wantBlob {
			t.Errorf("%q: blob %q", e.Path, e.Blob)
		}
	}
	if missing, err := w.contents.Missing(t.Context(), l.Entries, true); err != nil || len(missing) > 0 {
		t.Errorf("missing: %v, %v", missing, err)
	}

	o.Last, o.Ref = &first.Capture, "refs/runner/test/2"
	again, err := w.Capture(t.Context(), o)
	if err != nil || again.Changed || again.Capture != first.Capture {
		t.Errorf("nothing changed: %+v, %v", again, err)
	}

	// Change everything, restore, and compare.
	for _, name := range []string{"tracked", "text", "big", "build/kept", "new"} {
		put(t, dir, name, "other")
	}
	for _, name := range []string{"link", "untracked", "-dash", "empty", "bad\xff\xfe"} {
		must(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	second, err := w.Capture(t.Context(), o)
	if err != nil || !second.Changed {
		t.Fatalf("changed: %+v, %v", second, err)
	}
	for _, c := range []Captured{first, second, first} {
		if _, err := restoreTo(t.Context(), w, c.Listing, "x"); err != nil {
			t.Fatal(err)
		}
		target, err := w.Load(t.Context(), c.Listing)
		must(t, err)
		fresh := open(t, w.o)
		fresh.cache = statcache.New(nil, "", dir)
		now, err := fresh.Now(t.Context(), target.Patterns)
		must(t, err)
		if changes := Diff(now, target); len(changes) > 0 {
			t.Fatalf("%+v", changes)
		}
	}
	for _, name := range []string{"secrets.yml", "ignored.log", "build/other"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != name {
			t.Errorf("%s was touched: %q, %v", name, data, err)
		}
	}
}

// TestCaptureCommits makes commits on the branch, through the user's filters.
func TestCaptureCommits(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitCommit)
	runGit(t, dir, "config", "user.name", "u")
	runGit(t, dir, "config", "user.email", "u@localhost")
	put(t, dir, ".gitattributes", "crlf text eol=crlf\n")
	put(t, dir, "plain", "plain\n")
	put(t, dir, "crlf", "one\r\n")
	put(t, dir, ".env", "secret")
	o := CaptureOptions{Message: "step", When: time.Unix(1e9, 0), Ref: "refs/runner/test/1"}
	first, err := w.Capture(t.Context(), o)
	must(t, err)
	if head := strings.TrimSpace(runGit(t, dir, "rev-parse", "main")); first.Commit != head || !first.OnBranch() {
		t.Errorf("captured %+v, HEAD is %s", first, head)
	}
	if kept := strings.TrimSpace(runGit(t, dir, "rev-parse", first.Ref)); kept != first.Commit {
		t.Errorf("%s keeps %s, not the capture's %s", first.Ref, kept, first.Commit)
	}
	l, err := w.Load(t.Context(), first.Listing)
	must(t, err)
	for _, e := range l.Entries {
		if (e.Blob == "") != (e.Path == "crlf") {
			t.Errorf("%q: blob %q", e.Path, e.Blob)
		}
	}
	if files := runGit(t, dir, "ls-tree", "--name-only", "HEAD"); files != ".gitattributes\ncrlf\nplain\n" {
		t.Errorf("committed %q", files)
	}
	if missing, err := w.contents.Missing(t.Context(), l.Entries, true); err != nil || len(missing) > 0 {
		t.Errorf("missing: %v, %v", missing, err)
	}
	o.Last = &first.Capture
	if again, err := w.Capture(t.Context(), o); err != nil || again.Changed {
		t.Errorf("nothing changed: %+v, %v", again, err)
	}
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "by hand")
	if again, err := w.Capture(t.Context(), o); err != nil || !again.Changed || again.Commit == first.Commit || again.Ref == first.Ref {
		t.Errorf("HEAD moved: %+v, %v", again, err)
	}
	if kept := strings.TrimSpace(runGit(t, dir, "rev-parse", first.Ref)); kept != first.Commit {
		t.Errorf("an existing ref was moved to %s", kept)
	}
}

// TestCaptureBesideALockThatWasLeft: a git process that was killed while it created a ref
// leaves the lock of the ref. The next capture uses another ref, and removes nothing.
func TestCaptureBesideALockThatWasLeft(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitCommit, GitRef} {
		w, dir := gitKeeper(t, "", mode)
		runGit(t, dir, "config", "user.name", "u")
		runGit(t, dir, "config", "user.email", "u@localhost")
		put(t, dir, "file", "text\n")
		const lock = ".git/refs/runner/test/1.lock"
		put(t, dir, lock, "")
		c, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}, Message: "step", When: time.Unix(1e9, 0), Ref: "refs/runner/test/1"})
		must(t, err)
		if kept := strings.TrimSpace(runGit(t, dir, "rev-parse", c.Ref)); kept != c.Commit || c.Ref != "refs/runner/test/1-2" {
			t.Errorf("%s: %s keeps %s, not the capture's %s", mode, c.Ref, kept, c.Commit)
		}
		if _, err := os.Lstat(filepath.Join(dir, lock)); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestManyFiles captures and restores a large tree.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const n = 5_000
	w, dir := keeper(t)
	for i := range n / 50 {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", i%20), fmt.Sprintf("e%d", i))
		must(t, os.MkdirAll(sub, 0o755))
		for j := range 50 {
			must(t, os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), []byte(fmt.Sprint(i, j%5)), 0o644))
		}
	}
	first := capturePlain(t, w, nil)
	must(t, os.RemoveAll(filepath.Join(dir, "d3")))
	put(t, dir, "d4/e4/0", "changed")
	restored, err := restoreTo(t.Context(), w, first.Listing, "x")
	must(t, err)
	if first.Files != n || restored.Written != n/20+1 || restored.Deleted != 0 {
		t.Errorf("captured %d files, restored %+v", first.Files, restored)
	}
	again := capturePlain(t, w, &first.Capture)
	if again.Changed {
		t.Error("the restored files differ from the first capture")
	}
}
