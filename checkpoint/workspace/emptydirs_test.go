//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

func TestEmptyDirs(t *testing.T) {
	t.Parallel()
	top, dir := gitKeeper(t, "", GitRef)
	put(t, dir, ".gitignore", "*.log\nbuild/\n")
	put(t, dir, "a.txt", "one")
	put(t, dir, "sub/b.txt", "two")
	runGit(t, dir, "add", ".gitignore", "a.txt", "sub")
	for _, name := range []string{
		"e", "e/f/g", "sub/empty", "build/x", "sub/build", "new/empty", "new/build/deep", "only/build", "logs", "new/:(top)*", "sub/n\new",
	} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	put(t, dir, "new/file", "x")
	put(t, dir, "logs/x.log", "ignored, but a file")
	runGit(t, dir, "init", "-q", "new/nested") // a repository with empty directories of its own
	must(t, os.Mkdir(filepath.Join(dir, "new", "nested", "empty"), 0o755))

	dirs, _, err := top.gitLister().emptyDirs(t.Context(), []string{"build", "e"}, nil)
	want := []string{"e", "e/f", "e/f/g", "new/:(top)*", "new/empty", "only", "sub/empty", "sub/n\new"}
	if diff := cmp.Diff(want, dirs); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// Git does not list a directory that replaced a file that it tracks.
	must(t, os.Remove(filepath.Join(dir, "a.txt")))
	must(t, os.MkdirAll(filepath.Join(dir, "a.txt", "sub"), 0o755))
	dirs, _, err = top.gitLister().emptyDirs(t.Context(), nil, []string{"a.txt", "not/there"})
	if want := append([]string{"a.txt", "a.txt/sub"}, want...); err != nil || !slices.Equal(dirs, want) {
		t.Errorf("in the place of a file: %q, %v", dirs, err)
	}
	for _, tt := range []struct {
		below          string
		fileless, want []string
	}{{"e", []string{"f"}, []string{"f", "f/g"}}, {"build", []string{"x"}, nil}, {"new/empty", nil, nil}} {
		dir := filepath.Join(dir, tt.below)
		git, err := git.Open(t.Context(), gittest.Commander{}, dir)
		must(t, err)
		dirs, _, err := open(t, Options{Dir: dir, Git: git, Mode: GitRef}).gitLister().emptyDirs(t.Context(), tt.fileless, nil)
		if diff := cmp.Diff(tt.want, dirs); diff != "" || err != nil {
			t.Errorf("below %s: %v (-want +got):\n%s", tt.below, err, diff)
		}
	}
}
