package compare

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// place is a directory with a session and its files.
type place struct {
	dir string
	s   *checkpoint.Store
	w   *workspace.Workspace
	x   *checkpoint.Session
}

func newPlace(t *testing.T, dir string, g *git.Repository, mode workspace.GitMode) *place {
	t.Helper()
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{FS: store.OS(), RescueDir: t.TempDir()})
	must(t, err)
	w, err := s.OpenWorkspace(dir, g, mode)
	must(t, err)
	x, err := s.Lock(t.Context(), "PRD-009", state.Actor{User: "ana"})
	must(t, err)
	must(t, x.Start(state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: "S1", PRD: "PRD-009",
		Shape: state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "WS1"}}}}},
	}))
	x.Add(state.PhaseStarted{Phase: "one"})
	return &place{dir: dir, s: s, w: w, x: x}
}

func (p *place) write(t *testing.T, name, data string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(p.dir, name), []byte(data), 0o600))
}

// checkpoint captures the files if asked to, and returns the id of a checkpoint.
func (p *place) checkpoint(t *testing.T, capture bool, at *state.Git) string {
	t.Helper()
	if capture {
		_, err := p.x.Capture(t.Context(), p.w, []string{"*.txt"})
		must(t, err)
	}
	id, _ := p.x.Checkpoint(state.TriggerManual, "", at)
	_, err := p.x.Drain(t.Context())
	must(t, err)
	return id
}

func (p *place) compare(t *testing.T, o Options) *Comparison {
	t.Helper()
	c, err := Points(t.Context(), p.s, p.w, "PRD-009", o)
	must(t, err)
	return c
}

func TestFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir(), nil, workspace.GitOff)
	bare := p.checkpoint(t, false, nil)
	p.write(t, "a.txt", "one\ntwo\n")
	p.write(t, "gone.txt", "x\n")
	first := p.checkpoint(t, true, nil)
	p.write(t, "a.txt", "one\nthree\n")
	p.write(t, "new.txt", "n\n")
	must(t, os.Remove(filepath.Join(p.dir, "gone.txt")))
	second := p.checkpoint(t, true, nil)
	p.write(t, "a.txt", "one\n")
	must(t, p.x.Close())

	short := []FileChange{
		{Path: "a.txt", Kind: workspace.Modified, FromSize: 8, ToSize: 10},
		{Path: "gone.txt", Kind: workspace.Deleted, FromSize: 2},
		{Path: "new.txt", Kind: workspace.Added, ToSize: 2},
	}
	c := p.compare(t, Options{From: first, To: second})
	same(t, "files", c.Files, short)
	if c.OnlyArtifacts || c.Git != nil || c.From.FilesAt == nil || c.To.FilesAt == nil || c.Same() {
		t.Errorf("%+v", c)
	}
	for name, want := range map[string]bool{"gone.txt": true, "new.txt": true, "none.txt": false} {
		if got := c.Has(func(path string) bool { return path == name }); got != want {
			t.Errorf("has %s: %v", name, got)
		}
	}

	counted := []FileChange{short[0], short[1], short[2]}
	counted[0].Added, counted[0].Deleted, counted[1].Deleted, counted[2].Added = 1, 1, 1, 1
	same(t, "files with lines", p.compare(t, Options{From: first, To: second, Lines: true}).Files, counted)

	// Texts are read for the wanted files only, or for all.
	for name, wanted := range map[string]func(string) bool{"new.txt": func(path string) bool { return path == "new.txt" }, "": nil} {
		for _, f := range p.compare(t, Options{From: first, To: second, Texts: true, Wanted: wanted}).Files {
			if got := f.Diff != ""; got != (name == "" || string(f.Path) == name) {
				t.Errorf("text of %s, where %q is wanted: %q", f.Path, name, f.Diff)
			}
		}
	}
	for _, f := range p.compare(t, Options{From: first, To: second, Lines: true, Wanted: func(string) bool { return true }}).Files {
		if f.Diff != "" {
			t.Errorf("text of %s: %q", f.Path, f.Diff)
		}
	}

	// The workspace, from both sides.
	edited := []FileChange{{Path: "a.txt", Kind: workspace.Modified, FromSize: 10, ToSize: 4, Deleted: 1}}
	same(t, "edited since", p.compare(t, Options{From: second, To: PointWorkspace, Lines: true}).Files, edited)
	edited = []FileChange{{Path: "a.txt", Kind: workspace.Modified, FromSize: 4, ToSize: 10, Added: 1}}
	same(t, "edited since, reversed", p.compare(t, Options{From: PointWorkspace, To: second, Lines: true}).Files, edited)
	if c := p.compare(t, Options{From: second, To: "latest"}); !c.Same() || len(c.NotInFrom)+len(c.NotInTo) > 0 {
		t.Errorf("a point differs from itself: %+v", c)
	}
	if c := p.compare(t, Options{From: PointWorkspace, To: PointWorkspace}); len(c.Files) > 0 || c.OnlyArtifacts {
		t.Errorf("the workspace differs from itself: %+v", c)
	}

	// A checkpoint without a capture has only artifacts, and there are none.
	for _, o := range []Options{{From: bare, To: second}, {From: second, To: bare}} {
		if c := p.compare(t, o); !c.OnlyArtifacts || len(c.Files) > 0 {
			t.Errorf("%s to %s: %+v", o.From, o.To, c)
		}
	}
}

// TestFilesThatOneSideDidNotInclude: a file that only one of two captures included is
// neither added nor deleted.
func TestFilesThatOneSideDidNotInclude(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir(), nil, workspace.GitOff)
	capture := func(patterns ...string) string {
		t.Helper()
		_, err := p.x.Capture(t.Context(), p.w, patterns)
		must(t, err)
		return p.checkpoint(t, false, nil)
	}
	p.write(t, "a.txt", "one\n")
	p.write(t, "b.md", "one\n")
	wide := capture("*.txt", "*.md")
	p.write(t, "a.txt", "two\n")
	narrow := capture("*.txt")
	must(t, p.x.Close())

	changed := []FileChange{{Path: "a.txt", Kind: workspace.Modified, FromSize: 4, ToSize: 4}}
	c := p.compare(t, Options{From: wide, To: narrow})
	same(t, "files", c.Files, changed)
	same(t, "not in the second", c.NotInTo, []state.Text{"b.md"})
	same(t, "not in the first", len(c.NotInFrom), 0)
	c = p.compare(t, Options{From: narrow, To: wide})
	same(t, "files, reversed", c.Files, changed)
	same(t, "not in the second, reversed", len(c.NotInTo), 0)
	same(t, "not in the first, reversed", c.NotInFrom, []state.Text{"b.md"})
}

// TestIgnoredSince: a captured file that git ignores by now is still in the workspace.
func TestIgnoredSince(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main")
	c.Dir = dir
	must(t, c.Run())
	g, err := git.Open(t.Context(), gittest.Commander{}, dir)
	must(t, err)
	p := newPlace(t, dir, g, workspace.GitRef)
	p.write(t, "a.log", "one\n")
	p.write(t, "b.log", "one\n")
	p.write(t, "gone.log", "one\n")
	id := p.checkpoint(t, true, nil)
	p.write(t, ".gitignore", "*.log\n")
	p.write(t, "b.log", "changed\n")
	must(t, os.Remove(filepath.Join(dir, "gone.log")))
	must(t, p.x.Close())

	same(t, "files", p.compare(t, Options{From: id, To: PointWorkspace}).Files, []FileChange{
		{Path: ".gitignore", Kind: workspace.Added, ToSize: 6},
		{Path: "b.log", Kind: workspace.Modified, FromSize: 4, ToSize: 8},
		{Path: "gone.log", Kind: workspace.Deleted, FromSize: 4},
	})
}

func TestCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		c.Dir = dir
		out, err := c.Output()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	commit := func(subject string) *state.Git {
		run("commit", "-q", "--allow-empty", "-m", subject)
		return &state.Git{Branch: "main", Commit: run("rev-parse", "HEAD")}
	}
	run("init", "-q", "-b", "main")
	base := commit("base")
	g, err := git.Open(t.Context(), gittest.Commander{}, dir)
	must(t, err)
	p := newPlace(t, dir, g, workspace.GitRef)
	before := p.checkpoint(t, false, nil)
	first := p.checkpoint(t, false, base)
	one := commit("one")
	second := p.checkpoint(t, false, one)
	elsewhere := &state.Git{Branch: "main", Commit: strings.Repeat("12", 20)}
	unknown := p.checkpoint(t, false, elsewhere)
	run("reset", "-q", "--hard", base.Commit)
	two := commit("two")
	must(t, p.x.Close())

	from := func(o Options) *GitChange {
		t.Helper()
		return p.compare(t, o).Git
	}
	none := []GitCommit{}
	same(t, "forward", from(Options{From: first, To: second}),
		&GitChange{From: *base, To: *one, Commits: []GitCommit{{one.Commit, "one"}}, Gone: none})
	same(t, "back", from(Options{From: second, To: first}),
		&GitChange{From: *one, To: *base, Commits: none, Gone: []GitCommit{{one.Commit, "one"}}})
	same(t, "same", from(Options{From: first, To: first}), &GitChange{From: *base, To: *base, Commits: none, Gone: none})
	same(t, "to now", from(Options{From: second, To: PointWorkspace}),
		&GitChange{From: *one, To: *two, Commits: []GitCommit{{two.Commit, "two"}}, Gone: []GitCommit{{one.Commit, "one"}}})
	if c := from(Options{From: before, To: second}); c.From.Commit != "" || c.To != *one || len(c.Gone) > 0 || c.Note != "" {
		t.Errorf("from a checkpoint without git: %+v", c)
	}
	if c := from(Options{From: second, To: before}); c.To.Commit != "" || len(c.Commits)+len(c.Gone) > 0 || c.Note != "" {
		t.Errorf("to a checkpoint without git: %+v", c)
	}
	same(t, "a commit of another repository", from(Options{From: unknown, To: second}), &GitChange{
		From: *elsewhere, To: *one, Commits: none, Gone: none, Note: "commit " + elsewhere.Commit + " is not in this repository",
	})
}
