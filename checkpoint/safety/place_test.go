package safety

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// place is a workspace with safety checkpoints.
type place struct {
	t    testing.TB
	dir  string
	root string // the top level of the git work tree, if there is one
	s    *Store
	w    *workspace.Workspace
	now  time.Time
}

// newPlace returns an empty workspace outside git.
func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), now: time.Date(2026, 1, 15, 14, 30, 22, 0, time.UTC)}
	p.open()
	return p
}

// newGitPlace returns a git work tree with a commit of kept.txt, edited.txt, gone.txt and
// dir/run.sh. The workspace is the directory below of it; "" is the top level.
func newGitPlace(t testing.TB, below string) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, root: root, dir: filepath.Join(root, below), now: time.Date(2026, 1, 15, 14, 30, 22, 0, time.UTC)}
	p.git("init", "-q", "-b", "main")
	p.git("config", "user.name", "User")
	p.git("config", "user.email", "user@example.org")
	if below != "" {
		p.must(os.MkdirAll(p.dir, 0o755))
		p.must(os.WriteFile(filepath.Join(root, "outside.txt"), []byte("outside\n"), 0o644))
	}
	p.write(".gitignore", "*.log\n")
	p.write("kept.txt", "kept\n")
	p.write("edited.txt", "one\n")
	p.write("gone.txt", "gone\n")
	p.write("dir/run.sh", "#!/bin/sh\n")
	p.must(os.Chmod(p.path("dir/run.sh"), 0o755))
	p.git("add", ".")
	p.git("commit", "-q", "-m", "first")
	p.open()
	return p
}

// open opens the workspace, as a new process does.
func (p *place) open() {
	p.t.Helper()
	state := filepath.Join(p.dir, ".runner")
	p.must(os.MkdirAll(filepath.Join(state, "locks"), 0o700))
	p.must(os.WriteFile(filepath.Join(state, ".gitignore"), []byte("*"), 0o600))
	repo, err := git.Open(p.t.Context(), gittest.Commander{}, p.dir)
	p.must(err)
	p.w, err = workspace.Open(workspace.Options{
		Dir: p.dir, Skip: []string{state}, FS: store.OS(), Git: repo, Mode: workspace.GitRef,
		Objects: objects.New(store.OS(), filepath.Join(state, "objects"), objects.Options{}),
	})
	p.must(err)
	p.t.Cleanup(func() { _ = p.w.Close() })
	p.s = &Store{FS: store.OS(), Dir: filepath.Join(state, "safety"), Now: func() time.Time { return p.now }}
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) write(name, content string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.WriteFile(p.path(name), []byte(content), 0o644))
}

// git runs git at the top level as the user does, and returns what it prints.
func (p *place) git(args ...string) string {
	p.t.Helper()
	out, err := p.tryGit(args...)
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (p *place) tryGit(args ...string) (string, error) { return p.runGit(nil, args...) }

// gitAt runs git at a time.
func (p *place) gitAt(when string, args ...string) {
	p.t.Helper()
	if out, err := p.runGit([]string{"GIT_COMMITTER_DATE=" + when}, args...); err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (p *place) runGit(env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = p.root
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// tree describes the files of the workspace, and what git knows that the user can see.
func (p *place) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	p.must(filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == ".runner" {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Type() == fs.ModeSymlink {
			to, err := os.Readlink(path)
			all[filepath.ToSlash(name)] = "-> " + to
			return err
		}
		content, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
		return err
	}))
	if p.root != "" {
		all["(index)"] = p.git("ls-files", "--stage")
		all["(head)"] = p.git("rev-parse", "HEAD") + p.git("branch", "--list")
		all["(stash)"] = p.git("stash", "list")
	}
	return all
}

// create makes a checkpoint of everything, or of the given globs.
func (p *place) create(o CreateOptions, globs ...string) *Created {
	p.t.Helper()
	if o.Patterns = globs; len(globs) == 0 {
		o.Patterns = []string{"**"}
	}
	p.now = p.now.Add(time.Second)
	made, err := p.s.Create(p.t.Context(), p.w, o)
	p.must(err)
	return made
}

// plan plans the restore of a checkpoint, from its record.
func (p *place) plan(id string) *RestorePlan {
	p.t.Helper()
	c, err := p.s.Read(id)
	p.must(err)
	plan, err := p.s.PlanRestore(p.t.Context(), p.w, c, nil)
	p.must(err)
	return plan
}

// restore restores a checkpoint.
func (p *place) restore(id string, o RestoreOptions) (*Restore, error) {
	p.t.Helper()
	p.now = p.now.Add(time.Second)
	return p.s.Restore(p.t.Context(), p.w, p.plan(id), o)
}
