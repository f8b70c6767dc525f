package git_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/workspace/git"
)

// TestPrunedBeforeTheCommit: git may prune unreachable objects that a capture uses while
// the capture is made. Then the capture makes no reference, rather than one to an
// incomplete commit.
func TestPrunedBeforeTheCommit(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := repository(t)
	write(t, dir, "tracked", "x")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "first")
	write(t, dir, "loose", "unreachable\n")
	blob := strings.TrimSpace(user(t, dir, "hash-object", "-w", "loose"))
	g := open(t, dir)
	const ref = "refs/runner/test/1"
	w := begin(t, g, "1", "", head(t, g))
	if err := w.AddBlob("loose", 0o100644, blob); err != nil {
		t.Fatal(err)
	}
	user(t, dir, "prune", "--expire=now")
	if _, err := w.Commit(t.Context()); err == nil {
		t.Error("a commit was made that lacks a file")
	}
	wholeRepository(t, dir)
	if refs, err := g.Refs(t.Context(), ref); err != nil || len(refs) > 0 {
		t.Errorf("references: %v, %v", refs, err)
	}
}

// pruner starts real programs, and prunes the repository before and after each, which
// removes all objects that are unreachable at that moment.
type pruner struct {
	commander
	t   *testing.T
	dir string
}

func (p *pruner) Run(ctx context.Context, c git.Command) error {
	user(p.t, p.dir, "prune", "--expire=now")
	user(p.t, p.dir, "gc", "-q", "--prune=now")
	defer user(p.t, p.dir, "prune", "--expire=now")
	return p.commander.Run(ctx, c)
}

// TestPrunedWhileCaptured: if git prunes unreachable blobs that a capture uses, the
// capture is made again.
func TestPrunedWhileCaptured(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := repository(t)
	write(t, dir, "tracked", "x")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "first")
	p := &pruner{commander: commander{env: userEnv()}, t: t, dir: dir}
	g, err := git.Open(t.Context(), p, dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, dir, "new", fmt.Sprint("version ", i))
		commit := captureAll(t, g, dir, fmt.Sprintf("%d", i))
		wholeRepository(t, dir)
		if got := tree(t, dir, commit)["new"]; !strings.Contains(got, fmt.Sprint("version ", i)) {
			t.Errorf("captured %q", got)
		}
	}
}

// TestCapturesBesidePrune makes captures while git prunes in a loop. The repository stays
// complete, and has no files of Runner other than packs and references.
func TestCapturesBesidePrune(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := repository(t)
	write(t, dir, "tracked", "x")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "first")
	ctx, stop := context.WithCancel(t.Context())
	pruning := make(chan struct{})
	go func() {
		defer close(pruning)
		for ctx.Err() == nil {
			for _, args := range [][]string{{"prune", "--expire=now"}, {"gc", "-q", "--prune=now"}} {
				_, _ = gitFails(dir, args...) // git may fail because of the capture, which does not matter here
			}
		}
	}()
	g := open(t, dir)
	for i := range 25 {
		write(t, dir, "new", fmt.Sprint("version ", i))
		write(t, dir, fmt.Sprintf("dir%d/new", i), fmt.Sprint("version ", i))
		captureAll(t, g, dir, fmt.Sprintf("%d", i))
	}
	stop()
	<-pruning
	wholeRepository(t, dir)
}

// wholeRepository fails the test if a reachable object is missing in a repository, or if
// a capture left a temporary file.
func wholeRepository(t *testing.T, dir string) {
	t.Helper()
	if out, err := gitFails(dir, "fsck", "--connectivity-only", "--no-dangling"); err != nil {
		t.Errorf("the repository is broken: %v\n%s", err, out)
	}
	for _, pattern := range []string{"fast_import_crash_*", "objects/runner-*", "objects/pack/*.keep"} {
		left, err := filepath.Glob(filepath.Join(dir, ".git", pattern))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestLeftoversOfCaptures: a later capture removes the files of a killed one, and no
// files of other programs.
func TestLeftoversOfCaptures(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := repository(t)
	write(t, dir, "file", "x")
	g := open(t, dir)
	captureAll(t, g, dir, "1")
	objects := filepath.Join(dir, ".git", "objects")
	write(t, objects, "runner-capture-OLD/objects/pack/tmp_pack", "half")
	write(t, objects, "pack/pack-1.keep", "runner capture refs/runner/PRD-001/x/2\n")
	write(t, objects, "pack/pack-2.keep", "of somebody else\n")
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"runner-capture-OLD", "pack/pack-1.keep", "pack/pack-2.keep"} {
		if err := os.Chtimes(filepath.Join(objects, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	captureAll(t, g, dir, "3")
	for name, want := range map[string]bool{"runner-capture-OLD": false, "pack/pack-1.keep": false, "pack/pack-2.keep": true} {
		if _, err := os.Stat(filepath.Join(objects, name)); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", name, err == nil, want)
		}
	}
}
