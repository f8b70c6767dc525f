//go:build unix

package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// listedOthers counts how often git is asked to search the work tree.
type listedOthers struct {
	git.Commander
	n *atomic.Int64
}

func (c listedOthers) Run(ctx context.Context, command git.Command) error {
	if slices.Contains(command.Args, "--others") {
		c.n.Add(1)
	}
	return c.Commander.Run(ctx, command)
}

// TestAskGitOnce: git searches the work tree only if there are files that it does not
// track.
func TestAskGitOnce(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, "a/b", "b")
	put(t, dir, "gone", "gone")
	runGit(t, dir, "add", "-A", ".")
	must(t, os.Remove(filepath.Join(dir, "gone")))
	var asked atomic.Int64
	var err error
	w.o.Git, err = git.Open(t.Context(), listedOthers{gittest.Commander{}, &asked}, dir)
	must(t, err)
	for _, want := range []int64{0, 1} {
		asked.Store(0)
		_, err := w.WithMemo().Now(t.Context(), nil)
		must(t, err)
		if got := asked.Load(); got != want {
			t.Errorf("git searched the work tree %d times, want %d", got, want)
		}
		put(t, dir, "a/new", "new")
	}
}

// TestAskGit: Runner finds the same files as git would by searching the whole work tree.
func TestAskGit(t *testing.T) {
	t.Parallel()
	remove := func(names ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for _, name := range names {
				must(t, os.RemoveAll(filepath.Join(dir, name)))
			}
		}
	}
	write := func(names ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for _, name := range names {
				put(t, dir, name, name)
			}
		}
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("a/new%d", i)
	}
	for name, change := range map[string][]func(t *testing.T, dir string){
		"nothing":                         {},
		"removed":                         {remove("top", "a/b")},
		"new files":                       {write("new", "a/b/new", "a.new", "a-new", "a/b.new", ":(top)", "*", "fresh/in/dirs")},
		"many new files":                  {write(many...)},
		"ignored files":                   {write("x.log", "a/x.log", "build/deep/x", "mixed/new")},
		"ignored and new files":           {write("x.log", "out/x", "out/x.log")},
		"a directory in a file's place":   {remove("top"), write("top/x", "top/y/x.log")},
		"a file in a directory's place":   {remove("a"), write("a")},
		"a link in a directory's place":   {remove("a"), func(t *testing.T, dir string) { must(t, os.Symlink("mixed", filepath.Join(dir, "a"))) }},
		"a link":                          {func(t *testing.T, dir string) { must(t, os.Symlink("a", filepath.Join(dir, "link"))) }},
		"another repository":              {func(t *testing.T, dir string) { runGit(t, dir, "init", "-q", "a/nested") }, write("a/nested/x")},
		"a repository where git has file": {func(t *testing.T, dir string) { runGit(t, dir, "init", "-q", "a/b") }, write("a/b/new")},
		"empty directories":               {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "a/empty/deep"), 0o755)) }},
		"what the index has no more":      {func(t *testing.T, dir string) { runGit(t, dir, "rm", "-q", "-r", "--cached", "a", "top") }},
	} {
		for _, below := range []string{"", "a", "ignored-as-a-whole"} {
			t.Run(name+" "+below, func(t *testing.T) {
				t.Parallel()
				top, _ := gitKeeper(t, "", GitRef)
				dir := top.o.Dir
				write("top", "a/b/c", "a/b.c", "a/d", "mixed/kept", "ignored-as-a-whole/x")(t, dir)
				runGit(t, dir, "add", "-A", ".")
				runGit(t, dir, "commit", "-q", "-m", "first")
				put(t, dir, ".git/info/exclude", "*.log\nbuild/\nmixed/\nignored-as-a-whole\n")
				for _, do := range change {
					do(t, dir)
				}
				if info, err := os.Lstat(filepath.Join(dir, below)); err != nil || !info.IsDir() {
					return // the directory of the workspace no longer exists
				}
				repo, err := git.Open(t.Context(), gittest.Commander{}, filepath.Join(dir, below))
				must(t, err)
				w := open(t, Options{Dir: filepath.Join(dir, below), Skip: top.o.Skip, Git: repo, Mode: GitRef})
				want, err := repo.Files(t.Context())
				must(t, err)
				got, err := w.gitLister().listKnown(t.Context())
				must(t, err)
				want = slices.DeleteFunc(want, func(f git.File) bool { return w.tree.Reserved(f.Path) })
				if diff := cmp.Diff(want, got.files); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
