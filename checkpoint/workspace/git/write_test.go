package git_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"prdrunner/checkpoint/workspace/git"
)

// layout is a kind of work tree.
type layout struct {
	name    string
	make    func(t *testing.T) (dir string)
	env     []string
	outside map[string]string // files above dir, in HEAD
}

func layouts() []layout {
	ordinary := func(t *testing.T) string { return repository(t) }
	return []layout{
		{name: "ordinary", make: ordinary},
		{name: "inside a hook", make: ordinary, env: []string{
			"GIT_DIR=/nonexistent", "GIT_INDEX_FILE=/nonexistent/index", "GIT_WORK_TREE=/", "GIT_PREFIX=x/",
			"GIT_OBJECT_DIRECTORY=/nonexistent", "GIT_QUARANTINE_PATH=/nonexistent", "GIT_LITERAL_PATHSPECS=1",
		}},
		{name: "subdirectory", make: func(t *testing.T) string {
			return filepath.Join(repository(t), "sub")
		}, outside: map[string]string{"a.txt": "100644 one\n", ".gitignore": "100644 *.log\nbuild/\n"}},
		{name: "linked work tree", make: func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "linked")
			user(t, repository(t), "worktree", "add", "-q", dir)
			return dir
		}},
		{name: "submodule in it", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository(t), "module")
			user(t, dir, "commit", "-q", "-m", "module")
			write(t, dir, "module/new.txt", "of the submodule alone")
			return dir
		}},
		{name: "in a submodule", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository(t), "module")
			return filepath.Join(dir, "module")
		}},
		{name: "nested repository", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "init", "-q", "nested")
			user(t, filepath.Join(dir, "nested"), "commit", "-q", "--allow-empty", "-m", "nested")
			write(t, dir, "nested/file", "of the nested one alone")
			return dir
		}},
		{name: "detached HEAD", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "checkout", "-q", "--detach")
			return dir
		}},
		{name: "unborn branch", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "checkout", "-q", "--orphan", "fresh")
			return dir
		}},
		{name: "sparse checkout", make: func(t *testing.T) string {
			dir := repository(t)
			write(t, dir, "other/c.txt", "left out")
			user(t, dir, "add", ".")
			user(t, dir, "commit", "-q", "-m", "other")
			user(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
			if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
				t.Fatal("the checkout is not sparse")
			}
			return dir
		}},
		{name: "sha256", make: func(t *testing.T) string { return repository(t, "--object-format=sha256") }},
		{name: "line ends and filters", make: func(t *testing.T) string {
			dir := repository(t)
			user(t, dir, "config", "core.autocrlf", "true")
			user(t, dir, "config", "filter.shout.clean", "tr a-z A-Z")
			user(t, dir, "config", "filter.shout.smudge", "tr A-Z a-z")
			user(t, dir, "config", "filter.shout.required", "true")
			write(t, dir, ".gitattributes", "* text=auto\n*.loud filter=shout ident\n")
			write(t, dir, "c.loud", "$Id$ quiet\r\n")
			write(t, dir, "crlf.txt", "one\r\ntwo\r\n")
			user(t, dir, "add", ".")
			user(t, dir, "commit", "-q", "-m", "attributes")
			write(t, dir, "crlf.txt", "three\r\nfour\n")
			return dir
		}},
		{name: "conflict", make: func(t *testing.T) string {
			dir := repository(t)
			conflict(t, dir)
			return dir
		}},
		{name: "hooks", make: func(t *testing.T) string {
			dir := repository(t)
			hook := "#!/bin/sh\necho $0 >> ran.txt\nexit 1\n"
			for _, name := range []string{"reference-transaction", "pre-commit", "post-index-change", "post-commit"} {
				path := filepath.Join(dir, ".git", "hooks", name)
				if err := os.WriteFile(path, []byte(hook), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}},
	}
}

// conflict leaves a.txt in conflict.
func conflict(t testing.TB, dir string) {
	t.Helper()
	user(t, dir, "checkout", "-q", "-b", "theirs")
	write(t, dir, "a.txt", "theirs\n")
	user(t, dir, "commit", "-q", "-a", "-m", "theirs")
	user(t, dir, "checkout", "-q", "main")
	write(t, dir, "a.txt", "ours\n")
	user(t, dir, "commit", "-q", "-a", "-m", "ours")
	if _, err := gitFails(dir, "merge", "theirs"); err == nil {
		t.Fatal("the merge has no conflict")
	}
}

// TestCaptureLeavesTheRepositoryAlone captures each kind of work tree: the commit has the
// present bytes of the files, and the user's branch, index and files don't change.
func TestCaptureLeavesTheRepositoryAlone(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			needGit(t)
			dir := l.make(t)
			edit(t, dir)
			c := &commander{env: append(userEnv(), l.env...)}
			g, err := git.Open(t.Context(), c, dir)
			if err != nil || g == nil {
				t.Fatalf("open: %v, %v", g, err)
			}
			before := userState(t, dir)
			name := captureAll(t, g, dir, "x")
			if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
				t.Errorf("the capture changed the repository:\n%s", diff)
			}
			if diff := cmp.Diff(expected(t, g, dir, l.outside), tree(t, dir, name)); diff != "" {
				t.Errorf("the commit does not hold the files (-want +got):\n%s", diff)
			}
			if out := user(t, dir, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
				t.Errorf("fsck: %s", out)
			}
			parent := name + " " + head(t, g)
			if log := user(t, dir, "log", "--all", "--format=%H %P", "--no-walk=unsorted"); !strings.Contains(log+"\n", parent+"\n") {
				t.Errorf("log --all shows\n%swant %s", log, parent)
			}
			user(t, dir, "-c", "core.hooksPath="+os.DevNull, "gc", "-q", "--prune=now")
			if ok, err := g.CommitExists(t.Context(), name); err != nil || !ok {
				t.Errorf("the commit after gc: %v, %v", ok, err)
			}
		})
	}
}

// edit makes changes of every kind.
func edit(t testing.TB, dir string) {
	t.Helper()
	write(t, dir, "b.txt", "changed\r\n$Id$\n")
	write(t, dir, "new/file", "untracked \x00\xff")
	write(t, dir, "x.log", "ignored")
	write(t, dir, "build/out", "ignored")
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Symlink("new/file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "tool", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "new\nline \"q\" \\ \ttab", "strange")
	write(t, dir, "latin-\xe9\xff", "not UTF-8")
}

// expected returns the files that a capture of everything should hold. It walks the
// directory, and asks git only for missing files.
func expected(t testing.TB, g *git.Repository, dir string, outside map[string]string) map[string]string {
	t.Helper()
	want := map[string]string{}
	prefix := strings.TrimSuffix(user(t, dir, "rev-parse", "--show-prefix"), "\n")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" || name == "build" || name == "nested" || name == "module":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || strings.HasSuffix(name, ".log"):
			return nil
		}
		content, mode, err := readWorkFile(path)
		want[prefix+name] = strings.TrimLeft(formatMode(mode)+" ", "0") + content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range outside {
		want[path] = content
	}
	if commit := head(t, g); commit != "" {
		for path, content := range tree(t, dir, commit) {
			if path == "module" || strings.HasPrefix(path, "other/") {
				want[path] = content
			}
		}
	}
	return want
}

func formatMode(mode uint32) string {
	return map[uint32]string{0o100644: "100644", 0o100755: "100755", modeSymlink: "120000"}[mode]
}

// TestWriterBuildsOnABase adds, deletes and replaces files of another commit.
func TestWriterBuildsOnABase(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	first := head(t, g)

	w := begin(t, g, "one", first, first)
	file(t, w, "a.txt/below", 0o100644, "a file became a directory")
	if err := w.Delete("a.txt"); err != nil { // after the file that replaced it
		t.Fatal(err)
	}
	if err := w.Delete("sub/b.txt"); err != nil { // before the file that replaces its directory
		t.Fatal(err)
	}
	file(t, w, "sub", 0o100755, "a directory became a file")
	if err := w.Delete("never/was"); err != nil {
		t.Fatal(err)
	}
	one := commit(t, w)
	want := map[string]string{
		".gitignore":  "100644 *.log\nbuild/\n",
		"a.txt/below": "100644 a file became a directory",
		"sub":         "100755 a directory became a file",
	}
	if diff := cmp.Diff(want, tree(t, dir, one)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	// A second commit, with the first one as its base, with another parent and the same
	// ref.
	blob := strings.TrimSpace(user(t, dir, "rev-parse", first+":a.txt"))
	w = begin(t, g, "one", one, first)
	if err := w.AddBlob("known", 0o100644, blob); err != nil {
		t.Fatal(err)
	}
	two := commit(t, w)
	want["known"] = "100644 one\n"
	if diff := cmp.Diff(want, tree(t, dir, two)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	about := user(t, dir, "log", "-1", "--format=%P|%an <%ae>|%cn <%ce>|%aI|%cI|%B|%G?", two)
	who := "Runner <runner@localhost>"
	when := "2023-11-14T22:13:20+00:00"
	if wantAbout := strings.Join([]string{first, who, who, when, when, "a capture\n", "N\n"}, "|"); about != wantAbout {
		t.Errorf("commit is %q, want %q", about, wantAbout)
	}
	refs, err := g.Refs(t.Context(), "refs/runner/test")
	if diff := cmp.Diff(map[string]string{"refs/runner/test/one": two}, refs); diff != "" || err != nil {
		t.Errorf("refs: %v\n%s", err, diff)
	}
}

// TestWriterOutlivesABadSource: a file that fails, shrinks or grows while it is read is
// not in the commit, and the commit succeeds.
func TestWriterOutlivesABadSource(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	failed := errors.New("broken disk")
	for _, test := range []struct {
		name string
		r    io.Reader
		want error
	}{
		{"fails", io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(failed)), failed},
		{"shrinks", strings.NewReader("ab"), git.ErrLength},
		{"grows", strings.NewReader("abcdef"), git.ErrLength},
		{"fits", iotest.DataErrReader(strings.NewReader("abcd")), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, g, test.name, "", "")
			if err := w.AddFile("x", 0o100644, 4, test.r); !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			file(t, w, "x", 0o100644, "again")
			file(t, w, "y", 0o100644, "after")
			want := map[string]string{"x": "100644 again", "y": "100644 after"}
			if diff := cmp.Diff(want, tree(t, dir, commit(t, w))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	for _, path := range []string{"", "/a", "a//b", "a/", "../a", "a/./b", ".git/config", "x/.GIT/config", "a\x00b"} {
		w := begin(t, g, "refused", "", "")
		if err := w.AddFile(path, 0o100644, 0, strings.NewReader("")); err == nil {
			t.Errorf("the path %q was accepted", path)
		}
		if err := errors.Join(w.Abort(), w.Abort()); err != nil {
			t.Error(err)
		}
		if err := w.AddFile("a", 0o100644, 0, strings.NewReader("")); err == nil {
			t.Error("an aborted writer accepted a file")
		}
	}
	missing := strings.Repeat("12", 20)
	for _, o := range []git.CommitOptions{
		{Ref: "refs/heads/main"},
		{Ref: "refs/runner/x", Base: "HEAD"},
		{Ref: "refs/runner/x", Base: missing},
	} {
		if _, err := g.Begin(t.Context(), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	w := begin(t, g, "gone", "", missing)
	if _, err := w.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing parent: %v", err)
	}
	refs, err := g.Refs(t.Context(), "refs/runner")
	if len(refs) > 0 || err != nil {
		t.Errorf("refs were left behind: %v, %v", refs, err)
	}
}

// TestWriterEndsWithItsContext: when the context ends, a caller that waits for git
// returns.
func TestWriterEndsWithItsContext(t *testing.T) {
	dir := repository(t)
	ignore := goleak.IgnoreCurrent()
	g := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := g.Begin(ctx, git.CommitOptions{Ref: "refs/runner/x", When: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("some"))
		cancel()
		writer.CloseWithError(io.ErrUnexpectedEOF)
	}()
	_ = w.AddFile("x", 0o100644, 1<<30, reader)
	if _, err := w.Commit(t.Context()); err == nil {
		t.Fatal("a commit was made after its context had ended")
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}
