package git_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint/workspace/git"
)

// commander starts real programs, and counts them.
type commander struct {
	env     []string // added to the environment of the test
	started atomic.Int32
}

func (c *commander) Run(ctx context.Context, command git.Command) error {
	c.started.Add(1)
	cmd := exec.CommandContext(ctx, command.Args[0], command.Args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = command.Dir, command.Stdin, command.Stdout
	for _, entry := range append(os.Environ(), c.env...) {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(command.Unset, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, command.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &git.ExitError{Args: command.Args, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

// needGit skips the test on a machine without git. In CI a missing git is a failure.
func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("CI has no git program")
	}
	t.Skip("there is no git program")
}

// userEnv is the environment of the user's own git: an identity, and no configuration of
// this machine.
func userEnv() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=user@localhost",
		"GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=user@localhost",
	}
}

// user runs git as the user of a repository does.
func user(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), userEnv()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// repository makes a repository with a commit.
func repository(t testing.TB, initArgs ...string) string {
	t.Helper()
	needGit(t)
	dir := t.TempDir()
	user(t, dir, append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	write(t, dir, "a.txt", "one\n")
	write(t, dir, "sub/b.txt", "two\n")
	write(t, dir, ".gitignore", "*.log\nbuild/\n")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *git.Repository {
	t.Helper()
	g, _ := openCounted(t, dir)
	return g
}

func openCounted(t testing.TB, dir string) (*git.Repository, *commander) {
	t.Helper()
	c := &commander{env: userEnv()}
	g, err := git.Open(t.Context(), c, dir)
	if err != nil {
		t.Fatalf("open the work tree: %v", err)
	}
	if g == nil {
		t.Fatalf("%s is in no work tree", dir)
	}
	return g, c
}

// begin begins a commit as refs/runner/test/REF.
func begin(t testing.TB, g *git.Repository, ref, base, parent string) *git.Writer {
	t.Helper()
	w, err := g.Begin(t.Context(), git.CommitOptions{
		Ref: "refs/runner/test/" + ref, Message: "a capture\n", Base: base, Parent: parent,
		When: time.Unix(1_700_000_000, 0).UTC(),
	})
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return w
}

func head(t testing.TB, g *git.Repository) string {
	t.Helper()
	_, commit, err := g.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func file(t testing.TB, w *git.Writer, path string, mode uint32, content string) {
	t.Helper()
	if err := w.AddFile(path, mode, int64(len(content)), strings.NewReader(content)); err != nil {
		t.Fatalf("write %q: %v", path, err)
	}
}

func commit(t testing.TB, w *git.Writer) string {
	t.Helper()
	name, err := w.Commit(t.Context())
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return name
}

// captureAll writes a commit of every file that Files lists.
func captureAll(t testing.TB, g *git.Repository, dir, ref string) string {
	t.Helper()
	files, err := g.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, g, ref, "", head(t, g))
	for _, f := range files {
		if f.Gitlink || f.Sparse {
			if f.Tracked {
				if err := w.AddBlob(f.Path, f.Mode, f.Blob); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		content, mode, err := readWorkFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		file(t, w, f.Path, mode, content)
	}
	return commit(t, w)
}

// modeSymlink is the mode of a symbolic link in a git tree.
const modeSymlink uint32 = 0o120000

// readWorkFile reads a file or a link's target, and its mode for git.
func readWorkFile(path string) (content string, mode uint32, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", 0, err
	case info.Mode()&os.ModeSymlink != 0:
		content, err = os.Readlink(path)
		return content, modeSymlink, err
	}
	mode = 0o100644
	if info.Mode()&0o100 != 0 {
		mode = 0o100755
	}
	bytes, err := os.ReadFile(path)
	return string(bytes), mode, err
}

// tree returns the files of a commit by path, each as "MODE CONTENT". The content of a
// submodule is its commit.
func tree(t testing.TB, dir, commit string) map[string]string {
	t.Helper()
	top := strings.TrimSuffix(user(t, dir, "rev-parse", "--show-toplevel"), "\n")
	files := map[string]string{}
	for _, line := range strings.Split(user(t, top, "ls-tree", "-r", "-z", commit), "\x00") {
		if about, path, ok := strings.Cut(line, "\t"); ok {
			fields := strings.Fields(about)
			content := fields[2]
			if fields[1] == "blob" {
				content = user(t, top, "cat-file", "blob", fields[2])
			}
			files[path] = fields[0] + " " + content
		}
	}
	return files
}

// userState describes everything in a repository that a capture must not change.
func userState(t testing.TB, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, args := range [][]string{
		{"status", "--porcelain=v2", "--branch", "--ignored"},
		{"stash", "list"},
		{"for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/stash", "refs/remotes"},
		{"config", "--list", "--local"},
	} {
		state[strings.Join(args, " ")] = user(t, dir, append([]string{"--no-optional-locks"}, args...)...)
	}
	paths := user(t, dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	for _, gitDir := range strings.Fields(paths) {
		for _, name := range []string{"HEAD", "index", "ORIG_HEAD"} {
			content, err := os.ReadFile(filepath.Join(gitDir, name))
			state[filepath.Join(gitDir, name)] = string(content)
			if err == nil && name == "index" {
				info, err := os.Stat(filepath.Join(gitDir, name))
				if err != nil {
					t.Fatal(err)
				}
				state["index time"] += info.ModTime().String()
			}
		}
		err := filepath.WalkDir(filepath.Join(gitDir, "logs"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // an unborn branch has no logs
			}
			content, err := os.ReadFile(path)
			state[path] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// gitFails is like user, but returns the output and the error.
func gitFails(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), userEnv()...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failing is a commander that starts nothing.
type failing struct{ err error }

func (f failing) Run(context.Context, git.Command) error { return f.err }

// mustNotRun is a commander that fails the test if a program is started.
type mustNotRun struct{ t *testing.T }

func (n mustNotRun) Run(_ context.Context, c git.Command) error {
	n.t.Errorf("%q was started", c.Args)
	return exec.ErrNotFound
}

// TestOpenGitWithoutAny: without an entry .git in the directory or above it, Open starts
// no git.
func TestOpenGitWithoutAny(t *testing.T) {
	t.Parallel()
	if g, err := git.Open(t.Context(), mustNotRun{t}, t.TempDir()); g != nil || err != nil {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := git.Open(t.Context(), mustNotRun{t}, filepath.Join(t.TempDir(), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}
