package checkpointtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// Project is a store and a workspace that is not in a git repository.
type Project struct {
	*Fixture
	Root string // the workspace
}

// NewProject returns an empty project, whose state directory is on a file system.
func NewProject(t testing.TB, fsys store.FS) *Project {
	t.Helper()
	return &Project{Fixture: On(t, fsys, "/ws/.runner"), Root: t.TempDir()}
}

// Workspace opens the workspace until the end of the test.
func (p *Project) Workspace(s *checkpoint.Store) *workspace.Workspace {
	p.T.Helper()
	w, err := s.OpenWorkspace(p.Root, nil, workspace.GitOff)
	Must(p.T, err)
	p.T.Cleanup(func() { Must(p.T, w.Close()) })
	return w
}

// Save writes a file of the workspace.
func (p *Project) Save(path, content string) {
	p.T.Helper()
	path = filepath.Join(p.Root, filepath.FromSlash(path))
	Must(p.T, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(p.T, os.WriteFile(path, []byte(content), 0o644))
}

// Capture captures all files, and makes a checkpoint of them.
func (p *Project) Capture(x *checkpoint.Session, w *workspace.Workspace, trigger state.Trigger) string {
	p.T.Helper()
	_, err := x.Capture(context.Background(), w, []string{"**"})
	Must(p.T, err)
	return Mark(p.T, x, trigger)
}

// Begin starts a session of two workstreams. The first one completes, and the second one
// fails.
func (p *Project) Begin(session string) {
	p.T.Helper()
	s := p.Open()
	w := p.Workspace(s)
	x := LockPRD(p.T, s, "PRD-009")
	Must(p.T, x.Start(StartedOf("PRD-009", session, 2)))
	p.Save("PRD-009.hcl", "pipeline")
	p.Save("sub/notes "+session+".txt", "one")
	p.Capture(x, w, state.TriggerStart)
	names := x.State().Phases[0].Workstreams
	Commit(p.T, x, state.PhaseStarted{Phase: x.State().Phases[0].Name})
	p.Save("gen/a.txt", "a")
	Produce(p.T, x, names[0].Name, Put(p.T, s, "gen/a.txt", "a"))
	Commit(p.T, x, state.SessionFailed{Error: state.Failure{Workstream: names[1].Name, Message: "no"}})
	p.Capture(x, w, state.TriggerFailure)
	Must(p.T, x.Close())
}

// Continue writes a file, captures it and makes a checkpoint.
func (p *Project) Continue(content string) {
	p.T.Helper()
	s := p.Open()
	x := LockPRD(p.T, s, "PRD-009")
	p.Save("later.txt", content)
	p.Capture(x, p.Workspace(s), state.TriggerManual)
	Must(p.T, x.Close())
}

// State returns the current state.
func (p *Project) State() *state.State {
	p.T.Helper()
	snap, err := p.Open().Load("PRD-009")
	Must(p.T, err)
	return snap.State
}

// GitProject is a locked session and its workspace in a git work tree, with a checkpoint
// of some files.
type GitProject struct {
	*Fixture
	Root      string // the workspace
	Session   *checkpoint.Session
	Workspace *workspace.Workspace
	Target    string // the id of the checkpoint
}

// NewGitProject returns a project whose checkpoint holds the given files.
func NewGitProject(t *testing.T, files map[string]string) *GitProject {
	t.Helper()
	return NewGitProjectIn(t, workspace.GitRef, files)
}

// NewGitProjectIn returns a project with a git mode.
func NewGitProjectIn(t *testing.T, mode workspace.GitMode, files map[string]string) *GitProject {
	t.Helper()
	ctx := context.Background()
	s := &GitProject{Fixture: On(t, store.NewMemory(), "/state/.runner"), Root: t.TempDir()}
	s.Git("init", "--quiet")
	s.Put(files)
	g, err := git.Open(ctx, gittest.Commander{}, s.Root)
	Must(t, err)
	s.Workspace, err = s.Open().OpenWorkspace(s.Root, g, mode)
	Must(t, err)
	s.Session = s.Run()
	t.Cleanup(func() {
		Must(t, s.Workspace.Close())
		Must(t, s.Session.Close())
	})
	_, err = s.Session.Capture(ctx, s.Workspace, nil)
	Must(t, err)
	ref, err := s.Session.Create(ctx, s.Workspace, "")
	Must(t, err)
	s.Target = ref.ID
	return s
}

// Git runs git in the workspace.
func (s *GitProject) Git(args ...string) {
	s.T.Helper()
	c := exec.Command("git", args...)
	c.Dir = s.Root
	if out, err := c.CombinedOutput(); err != nil {
		s.T.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// Put writes files; it removes those with the content "".
func (s *GitProject) Put(files map[string]string) {
	s.T.Helper()
	for name, text := range files {
		if text == "" {
			Must(s.T, os.Remove(filepath.Join(s.Root, name)))
			continue
		}
		Must(s.T, os.MkdirAll(filepath.Dir(filepath.Join(s.Root, name)), 0o700))
		Must(s.T, os.WriteFile(filepath.Join(s.Root, name), []byte(text), 0o600))
	}
}

// Holds checks the content of files; "" means that the file does not exist.
func (s *GitProject) Holds(when string, files map[string]string) {
	s.T.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(s.Root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || string(got) != want {
			s.T.Errorf("%s: %s holds %q (%v), want %q", when, name, got, err, want)
		}
	}
}
