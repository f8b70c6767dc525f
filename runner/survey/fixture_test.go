package survey_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// project is a workspace with a pipeline and a session, whose events the test records. No
// workstream runs. The state directory is in memory.
type project struct {
	*checkpointtest.Project
	store    *checkpoint.Store
	session  *checkpoint.Session
	files    *workspace.Workspace
	p        *pipeline.Pipeline
	ownFiles []string
	texts    map[string]string // the texts that the test has saved, by digest
}

// newProject returns a project without git, whose session has begun its first run. body
// is what the pipeline block contains.
func newProject(t *testing.T, body string) *project {
	t.Helper()
	p := emptyProject(t)
	p.files = p.Workspace(p.store)
	p.begin(body)
	return p
}

// newGitProject is newProject with a git work tree, which ignores the files *.log.
func newGitProject(t *testing.T, body string) *project {
	t.Helper()
	p := emptyProject(t)
	ctx := context.Background()
	must(t, gittest.Commander{}.Run(ctx, git.Command{Args: []string{"git", "init", "--quiet"}, Dir: p.Root}))
	p.save(".gitignore", "*.log\n")
	repository, err := git.Open(ctx, gittest.Commander{}, p.Root)
	must(t, err)
	p.files, err = p.store.OpenWorkspace(p.Root, repository, workspace.GitRef)
	must(t, err)
	t.Cleanup(func() { must(t, p.files.Close()) })
	p.begin(body)
	return p
}

func emptyProject(t *testing.T) *project {
	t.Helper()
	p := &project{Project: checkpointtest.NewProject(t, store.NewMemory()), texts: map[string]string{"": "missing"}}
	p.store = p.Open()
	return p
}

func (p *project) begin(body string) {
	p.T.Helper()
	p.rewrite(body)
	p.session = checkpointtest.LockPRD(p.T, p.store, "PRD-009")
	p.T.Cleanup(func() { must(p.T, p.session.Close()) })
	p.start("S1")
}

// start starts a session.
func (p *project) start(session string) {
	p.T.Helper()
	e := checkpointtest.Started(session, plan.ShapeOf(p.p))
	e.Pipeline = p.source()
	must(p.T, p.session.Start(e))
}

func (p *project) source() state.FileRef {
	return state.FileRef{Path: "PRD-009.hcl", Digest: p.p.Digest}
}

// rewrite replaces the pipeline file.
func (p *project) rewrite(body string) {
	p.T.Helper()
	source := "pipeline \"PRD-009\" {\n" + body + "\n}\n"
	p.save("PRD-009.hcl", source)
	file, diags := pipeline.Parse([]byte(source), filepath.Join(p.Root, "PRD-009.hcl"))
	if diags.HasErrors() {
		p.T.Fatal(diags)
	}
	if p.p, diags = file.Pipeline(pipeline.Inputs{Workspace: p.Root}); diags.HasErrors() {
		p.T.Fatal(diags)
	}
}

func (p *project) record(events ...state.Event) {
	p.T.Helper()
	checkpointtest.Commit(p.T, p.session, events...)
}

// save writes a file. The digests of its text can be shown afterwards.
func (p *project) save(path, text string) {
	p.T.Helper()
	p.Save(path, text)
	p.texts[checkpointtest.DigestText(text)] = text
}

func (p *project) remove(path string) {
	p.T.Helper()
	must(p.T, os.RemoveAll(filepath.Join(p.Root, filepath.FromSlash(path))))
}

// link makes a symbolic link. Its digest is shown as the target.
func (p *project) link(target, path string) {
	p.T.Helper()
	p.texts[checkpointtest.DigestText(target)] = target
	must(p.T, os.MkdirAll(filepath.Dir(filepath.Join(p.Root, path)), 0o755))
	must(p.T, os.Symlink(target, filepath.Join(p.Root, path)))
}

// keep stores the bytes of files as objects, and returns the files as artifacts.
func (p *project) keep(paths ...string) []state.Artifact {
	p.T.Helper()
	entries, _, err := p.files.Keep(context.Background(), paths)
	must(p.T, err)
	var all []state.Artifact
	for _, e := range entries {
		all = append(all, state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest})
	}
	return all
}

// complete records that a workstream has run and made artifacts.
func (p *project) complete(workstream string, artifacts ...state.Artifact) {
	p.T.Helper()
	checkpointtest.Produce(p.T, p.session, workstream, artifacts...)
}

// fail records that a workstream has run and failed, and which artifacts of other
// workstreams the attempt left behind.
func (p *project) fail(workstream string, left ...state.Artifact) {
	p.T.Helper()
	attempt := p.state().Workstream(workstream).Attempts + 1
	p.record(state.WorkstreamStarted{Workstream: workstream, Attempt: attempt}, state.WorkstreamFailed{Workstream: workstream, Left: left})
}

// pass records that a gate has passed.
func (p *project) pass(label string) {
	p.T.Helper()
	p.record(state.GateStarted{Gate: label, Attempt: 1})
	p.record(state.GatePassed{Verdict: state.Verdict{Gate: label}})
}

// capture captures the workspace as a run does.
func (p *project) capture(patterns ...string) {
	p.T.Helper()
	_, err := p.session.Capture(context.Background(), p.files, patterns)
	must(p.T, err)
	p.record()
}

// end captures the workspace and ends the run.
func (p *project) end(patterns ...string) {
	p.T.Helper()
	p.capture(patterns...)
	p.record(state.SessionFailed{})
}

func (p *project) state() *state.State { return p.session.State() }

// surveyor returns a surveyor that replaces "secret" in names.
func (p *project) surveyor() *survey.Surveyor {
	mask := func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	return survey.New(p.files, p.store.Objects(), p.p, p.ownFiles, mask)
}

// gather gathers the facts for a whole plan.
func (p *project) gather() *plan.Facts {
	p.T.Helper()
	_, f := p.gatherAs(plan.ConflictAsk, true)
	return f
}

func (p *project) gatherAs(choice plan.OnConflict, thorough bool) (*survey.Surveyor, *plan.Facts) {
	p.T.Helper()
	s, f := p.surveyor(), plan.NewFacts(p.state())
	must(p.T, s.GatherAll(context.Background(), f, p.state(), nil, choice, thorough))
	return s, f
}

// show returns artifacts as "path=text", separated by spaces.
func (p *project) show(artifacts []state.Artifact) string {
	var all []string
	for _, a := range artifacts {
		all = append(all, string(a.Path)+"="+p.text(a.Digest))
	}
	return strings.Join(all, " ")
}

// text returns the text that has a digest, or the digest of a text that was not saved.
func (p *project) text(digest string) string {
	if text, known := p.texts[digest]; known {
		return text
	}
	return digest
}

func must(t testing.TB, err error) {
	t.Helper()
	checkpointtest.Must(t, err)
}

// same fails the test if a text differs.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
