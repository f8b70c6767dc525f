package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
)

func TestGitHead(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir := t.TempDir()
	environ := append(childEnvironment(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	git := gitProgram{dir: dir, environ: environ}
	do := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	holds := func(when string, want *checkpoint.Git) {
		t.Helper()
		got, err := git.Head(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	holds("outside a work tree", nil)
	do("init", "--quiet", "--initial-branch=trunk")
	holds("before the first commit", &checkpoint.Git{Branch: "trunk"})
	do("commit", "--quiet", "--allow-empty", "--message=first")
	commit := do("rev-parse", "HEAD")
	holds("on a branch", &checkpoint.Git{Branch: "trunk", Commit: commit})
	do("checkout", "--quiet", "--detach")
	holds("detached", &checkpoint.Git{Commit: commit})
	if entries, err := os.ReadDir(filepath.Join(dir, ".git", "refs", "runner")); err == nil {
		t.Errorf("reading wrote refs: %v", entries)
	}
}

func TestNoGitProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got, err := gitProgram{dir: t.TempDir()}.Head(t.Context())
	if got != nil || err != nil {
		t.Errorf("Head = %v, %v, want nothing", got, err)
	}
}
