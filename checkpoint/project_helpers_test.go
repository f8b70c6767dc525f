package checkpoint

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// project is a store with a workspace beside it, outside git.
type project struct {
	*fixture
	dir string
}

func newProject(t testing.TB, fsys store.FS) *project {
	t.Helper()
	return &project{fixture: on(t, fsys, "/ws/.runner"), dir: t.TempDir()}
}

func (p *project) workspace(s *Store) *workspace.Workspace {
	p.t.Helper()
	w, err := s.OpenWorkspace(p.dir, nil, workspace.GitOff)
	must(p.t, err)
	p.t.Cleanup(func() { must(p.t, w.Close()) })
	return w
}

func (p *project) save(path, content string) {
	p.t.Helper()
	path = filepath.Join(p.dir, filepath.FromSlash(path))
	must(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(p.t, os.WriteFile(path, []byte(content), 0o644))
}

// capture captures all files, and makes a checkpoint of them.
func (p *project) capture(x *Session, w *workspace.Workspace, trigger state.Trigger) string {
	p.t.Helper()
	_, err := x.Capture(context.Background(), w, []string{"**"})
	must(p.t, err)
	return mark(p.t, x, trigger)
}

// begin starts a session of two workstreams, does the first, and fails at the
// second.
func (p *project) begin(session string) {
	p.t.Helper()
	s := p.open()
	w := p.workspace(s)
	x := lockPRD(p.t, s, "PRD-009")
	must(p.t, x.Start(startedOf("PRD-009", session, 2)))
	p.save("PRD-009.hcl", "pipeline")
	p.save("sub/notes "+session+".txt", "one")
	p.capture(x, w, state.TriggerStart)
	names := x.State().Phases[0].Workstreams
	commit(p.t, x, state.PhaseStarted{Phase: x.State().Phases[0].Name})
	p.save("gen/a.txt", "a")
	produce(p.t, x, names[0].Name, put(p.t, s, "gen/a.txt", "a"))
	commit(p.t, x, state.SessionFailed{Error: state.Failure{Workstream: names[1].Name, Message: "no"}})
	p.capture(x, w, state.TriggerFailure)
	must(p.t, x.Close())
}

// goOn adds a commit, a checkpoint and a file.
func (p *project) goOn(content string) {
	p.t.Helper()
	s := p.open()
	x := lockPRD(p.t, s, "PRD-009")
	p.save("later.txt", content)
	p.capture(x, p.workspace(s), state.TriggerManual)
	must(p.t, x.Close())
}

func (p *project) stands() *state.State {
	p.t.Helper()
	snap, err := p.open().Load("PRD-009")
	must(p.t, err)
	return snap.State
}

// scoped is a session in a git work tree, with a checkpoint of some files.
type scoped struct {
	*fixture
	ws string
	x  *Session
	w  *workspace.Workspace
	to string
}

func newScoped(t *testing.T, files map[string]string) *scoped {
	t.Helper()
	return newScopedIn(t, workspace.GitRef, files)
}

func newScopedIn(t *testing.T, mode workspace.GitMode, files map[string]string) *scoped {
	t.Helper()
	ctx := context.Background()
	s := &scoped{fixture: on(t, store.NewMemory(), "/state/.runner"), ws: t.TempDir()}
	s.git("init", "--quiet")
	s.put(files)
	g, err := git.Open(ctx, gittest.Commander{}, s.ws)
	must(t, err)
	s.w, err = s.open().OpenWorkspace(s.ws, g, mode)
	must(t, err)
	s.x = s.run()
	t.Cleanup(func() {
		must(t, s.w.Close())
		must(t, s.x.Close())
	})
	_, err = s.x.Capture(ctx, s.w, nil)
	must(t, err)
	ref, err := s.x.Create(ctx, s.w, "")
	must(t, err)
	s.to = ref.ID
	return s
}

func (s *scoped) git(args ...string) {
	s.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = s.ws
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// put writes files; "" removes one.
func (s *scoped) put(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		if text == "" {
			must(s.t, os.Remove(filepath.Join(s.ws, name)))
			continue
		}
		must(s.t, os.MkdirAll(filepath.Dir(filepath.Join(s.ws, name)), 0o700))
		must(s.t, os.WriteFile(filepath.Join(s.ws, name), []byte(text), 0o600))
	}
}
