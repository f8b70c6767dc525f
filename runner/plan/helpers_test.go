package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/pipeline/files"
	"prdrunner/runner/plan"
)

// session plays a session on plain values. Its methods do what a user and a run do: they
// edit the pipeline and the files, and record events. No process starts and no file is
// read. The content of a file is its digest, too.
type session struct {
	t     *testing.T
	body  string // the pipeline file, as newSession takes it
	p     *pipeline.Pipeline
	st    *state.State      // nil before the first run
	files map[string]string // the contents of the files of the workspace, by path
	ended map[string]string // the files when the last run ended
	given map[string]string // the values of variables

	makes   map[string]map[string]string     // the artifacts that a workstream makes when it runs, by its name and by path
	gives   map[string]map[string]string     // the outputs that a workstream gives, by its name
	answers map[string]map[string]state.Text // the inputs that the user gives, by gate
	reports map[string]map[string]any        // the metrics that a workstream reports, by its name
	lost    map[string]bool                  // artifacts whose bytes Runner did not keep

	selection plan.Selection
	choice    plan.OnConflict
	adjust    func(*plan.Facts) // changes the facts that the files and the record give
}

// started is when every session starts. Each commit comes a minute after the one before.
var started = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// newSession returns a session of a pipeline that has not run yet. body is what the
// pipeline block contains. What comes before a line "---" goes before the block.
func newSession(t *testing.T, body string) *session {
	s := &session{
		t: t, files: make(map[string]string), given: make(map[string]string),
		makes: make(map[string]map[string]string), gives: make(map[string]map[string]string), reports: make(map[string]map[string]any),
		lost: make(map[string]bool), adjust: func(*plan.Facts) {},
	}
	s.rewrite(body)
	return s
}

// rewrite replaces the pipeline file.
func (s *session) rewrite(body string) {
	s.t.Helper()
	s.body = body
	file, _ := pipeline.Parse([]byte(s.file()), "PRD-001.hcl")
	in := pipeline.Inputs{Variables: make(map[string]pipeline.Input)}
	for name, value := range s.given {
		in.Variables[name] = pipeline.Input{Text: value, Origin: "--var"}
	}
	p, diags := file.Pipeline(in)
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	s.p = p
}

// file returns the pipeline file.
func (s *session) file() string {
	before, inside, found := strings.Cut(s.body, "---\n")
	if !found {
		before, inside = "", s.body
	}
	return before + "pipeline \"PRD-001\" {\n" + inside + "\n}\n"
}

// edit replaces a text everywhere in the pipeline file.
func (s *session) edit(old, by string) {
	s.t.Helper()
	if !strings.Contains(s.body, old) {
		s.t.Fatalf("the pipeline does not contain %q", old)
	}
	s.rewrite(strings.ReplaceAll(s.body, old, by))
}

// set gives a value to a variable of the pipeline.
func (s *session) set(variable, value string) {
	s.t.Helper()
	s.given[variable] = value
	s.rewrite(s.body)
}

// start begins the session, or resumes it.
func (s *session) start() {
	s.t.Helper()
	shape := plan.ShapeOf(s.p)
	file := state.FileRef{Path: "PRD-001.hcl", Digest: s.p.Digest}
	if s.st == nil {
		s.st = &state.State{}
		s.record(state.SessionStarted{FormatVersion: state.FormatVersion, Session: "S1", PRD: s.p.ID, Pipeline: file, Shape: shape, Variables: s.p.Given()})
		return
	}
	s.record(state.SessionResumed{Pipeline: file, Shape: &shape, Variables: s.p.Given()})
}

// record adds events to the state, each in a commit of its own.
func (s *session) record(events ...state.Event) {
	s.t.Helper()
	for _, e := range events {
		seq := s.st.Seq + 1
		if err := s.st.Apply(state.Commit{Seq: seq, Time: started.Add(time.Duration(seq) * time.Minute), Events: []state.Event{e}}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// build runs all workstreams that are not done, and judges all gates that have not passed.
// Everything succeeds. What is not enabled is skipped.
func (s *session) build() {
	s.t.Helper()
	s.start()
	for _, phase := range s.p.Phases {
		if enabled, _ := phase.Enabled(s.planner().Results(true, 0)); !enabled {
			s.record(state.PhaseSkipped{Phase: phase.Name, Reason: "the when of its phase is false"})
			continue
		}
		for batch := range len(phase.Workstreams) {
			for _, ws := range phase.Workstreams {
				if ws.Batch == batch+1 && s.st.Workstream(ws.Name).Status != state.Completed {
					s.run(ws.Name)
				}
			}
		}
		s.judge(phase.Gates)
	}
	s.end()
}

// run runs a workstream that succeeds, and judges its gates. A workstream that is not
// enabled is skipped.
func (s *session) run(name string) {
	s.t.Helper()
	ws := s.p.Workstream(name)
	if enabled, _ := ws.Enabled(s.planner().Results(true, 0)); !enabled {
		s.record(state.WorkstreamSkipped{Workstream: name, Reason: "its when is false"})
		return
	}
	s.begin(name)
	maps.Copy(s.files, s.makes[name])
	s.record(state.WorkstreamSucceeded{Workstream: name, Work: s.work(name)})
	s.judge(ws.Gates)
	s.record(state.WorkstreamCompleted{Workstream: name})
}

// begin starts an attempt of a workstream.
func (s *session) begin(name string) {
	s.t.Helper()
	digest := s.planner().DigestOrRecorded(s.p.Workstream(name))
	s.record(state.WorkstreamStarted{Workstream: name, Attempt: s.st.Workstream(name).Attempts + 1, Digest: *digest})
}

// work returns the result of the attempt of a workstream that has started.
func (s *session) work(name string) state.Work {
	rec := s.st.Workstream(name)
	w := state.Work{Attempt: rec.Attempts, Digest: rec.Digest, Metrics: s.reports[name], Outputs: make(map[string]state.Text)}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if tree.MatchesAny(s.p.Workstream(name).ArtifactPatterns, path) {
			w.Artifacts = append(w.Artifacts, artifact(path, s.files[path]))
		}
	}
	for output, value := range s.gives[name] {
		w.Outputs[output] = state.Text(value)
	}
	return w
}

// fail starts a workstream, and records that it failed.
func (s *session) fail(name, message string) {
	s.t.Helper()
	s.begin(name)
	s.record(state.WorkstreamFailed{Workstream: name, Error: state.Failure{Message: state.Text(message)}})
}

// failAllowed starts a workstream, and records that it failed, which the pipeline allows.
func (s *session) failAllowed(name string) {
	s.t.Helper()
	s.begin(name)
	s.record(state.WorkstreamFailed{Workstream: name, Allowed: true, Error: state.Failure{Workstream: name, Outcome: "exited", Message: "exit code 1"}})
}

// judge passes the gates that have not passed. The user approves approval gates.
func (s *session) judge(gates []*pipeline.Gate) {
	s.t.Helper()
	for _, g := range gates {
		if s.st.Gate(g.Label()).Status == state.Passed {
			continue
		}
		v := s.verdict(g.Label())
		if g.Kind == pipeline.GateApproval {
			s.record(state.GateAsked{Verdict: v}, state.GateApproved{Verdict: v, Inputs: s.answers[g.Label()]})
		} else {
			s.record(state.GatePassed{Verdict: v, Review: g.Pause})
		}
	}
}

// verdict returns the verdict that a gate would reach now.
func (s *session) verdict(label string) state.Verdict {
	s.t.Helper()
	v, diags := s.planner().Verdict(s.p.Gate(label))
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	return v
}

// end ends a run: later changes of files are edits.
func (s *session) end() { s.ended = maps.Clone(s.files) }

// write writes a file of the workspace.
func (s *session) write(path, content string) { s.files[path] = content }

// remove removes a file of the workspace.
func (s *session) remove(path string) { delete(s.files, path) }

// planner returns a planner that decides from the record and the files as they are.
func (s *session) planner() *plan.Planner {
	s.t.Helper()
	chosen, err := plan.Choose(s.p, s.st, s.selection)
	if err != nil {
		s.t.Fatal(err)
	}
	return plan.New(s.p, s.st, s.facts(), s.choice, chosen)
}

// plan returns the plan of the next run.
func (s *session) plan() *plan.Plan {
	s.t.Helper()
	return s.planner().Plan(started.Add(24 * time.Hour))
}

// facts returns the facts that package survey would gather.
func (s *session) facts() *plan.Facts {
	f := plan.NewFacts(s.st)
	if s.st != nil {
		f.Acts = s.st.KnownActs()
	}
	s.findPartialWork(f)
	s.findConflicts(f)
	own := plan.NewOwnership(s.p, f.Links)
	for _, phase := range s.p.Phases {
		gates := phase.Gates
		for _, ws := range phase.Workstreams {
			scope := own.ScopeOf(ws)
			f.Inputs[ws.Name] = s.see(f, own, scope)
			f.Makers[ws.Name] = own.MakersAmong(scope.Ended, s.gone(f, scope), f.Inputs[ws.Name].Files)
			gates = slices.Concat(gates, ws.Gates)
		}
		for _, g := range gates {
			scope := own.ScopeOfGate(g)
			f.Judging[g.Label()] = s.see(f, own, scope)
			f.JudgedMakers[g.Label()] = own.MakersAmong(scope.Ended, s.gone(f, scope), f.Judging[g.Label()].Files)
		}
	}
	if s.ended != nil {
		f.ChangedFiles = workspace.Diff(listing(s.ended), listing(s.files))
	}
	s.adjust(f)
	return f
}

// findPartialWork finds the files that stopped workstreams may have written.
func (s *session) findPartialWork(f *plan.Facts) {
	if s.st == nil {
		return
	}
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			f.Stopped.Add(ws.ArtifactPatterns, s.st.Workstream(ws.Name), s.st.EndedUncaptured())
		}
	}
	if s.ended != nil {
		f.Stopped.SetCapture(listing(s.ended))
	}
}

// findConflicts compares the recorded artifacts with the files. It also finds those that
// several workstreams have recorded, and those that Runner restores.
func (s *session) findConflicts(f *plan.Facts) {
	f.Sharers, f.Restored, f.Layers = make(map[string][]string), make(files.Contents), make(map[string]plan.Layers)
	if s.st == nil {
		return
	}
	last := make(map[string]*state.Workstream)
	for w := range s.st.Records() {
		for _, a := range w.Artifacts {
			if path := string(a.Path); w.Done() {
				if f.Sharers[path] = append(f.Sharers[path], w.Name); last[path] == nil || last[path].WorkSeq <= w.WorkSeq {
					last[path] = w
				}
			}
		}
	}
	maps.DeleteFunc(f.Sharers, func(_ string, names []string) bool { return len(names) == 1 })
	for w := range s.st.Records() {
		for _, a := range w.Artifacts {
			path := string(a.Path)
			found, there := s.files[path]
			if last[path] != w || there && found == a.Digest || f.Stopped.Includes(path, found) {
				continue
			}
			kept := !s.lost[path]
			f.Conflicts[w.Name] = append(f.Conflicts[w.Name], plan.Conflict{Path: a.Path, Workstream: w.Name, Recorded: a.Digest, Found: found, Kept: kept})
			for _, name := range f.Sharers[path] { // in the order of the file, which is that of their dependencies in the tests
				f.Layers[path] = append(f.Layers[path], plan.Conflict{Path: a.Path, Workstream: name, Found: found, Kept: kept})
			}
			if kept && (!there || s.choice == plan.ConflictRestore) {
				f.Restored[path] = nil
			}
		}
	}
}

// see returns the files in a scope, as if Runner had restored artifacts already.
func (s *session) see(f *plan.Facts, own *plan.Ownership, scope plan.Scope) plan.FileSet {
	files := maps.Clone(s.files)
	for _, conflicts := range f.Conflicts {
		for _, c := range conflicts {
			if _, restored := f.Restored[string(c.Path)]; restored {
				files[string(c.Path)] = c.Recorded
			}
		}
	}
	set := plan.FileSet{Patterns: scope.Patterns, Seq: f.Seq}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !tree.MatchesAny(scope.Patterns, path) || scope.Self != nil && own.Makes(scope, path) {
			continue
		}
		a := artifact(path, files[path])
		set.Files = append(set.Files, a)
		if shared, before := own.Shared(scope, path); shared {
			set.Shared = append(set.Shared, plan.SharedFile{Artifact: a, Before: before})
		}
	}
	return set
}

// gone returns the missing artifacts in a scope that Runner can't restore.
func (s *session) gone(f *plan.Facts, scope plan.Scope) []state.Artifact {
	var all []state.Artifact
	for _, conflicts := range f.Conflicts {
		for _, c := range conflicts {
			if c.Found == "" && !c.Kept && tree.MatchesAny(scope.Patterns, string(c.Path)) {
				all = append(all, artifact(string(c.Path), c.Recorded))
			}
		}
	}
	return all
}

func artifact(path, content string) state.Artifact {
	return state.Artifact{Path: state.Text(path), Mode: 0o644, Digest: content}
}

func listing(files map[string]string) *workspace.Listing {
	l := &workspace.Listing{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		l.Entries = append(l.Entries, workspace.Entry{Path: path, Mode: 0o644, Digest: files[path]})
	}
	return l
}

// story is a test of a plan: what the user and earlier runs did, and the plan after that.
type story struct {
	name     string
	pipeline string
	play     func(s *session)
	plan     string // the steps of the plan, in the form of show
}

// tell checks the plans of stories.
func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, tt := range stories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, tt.pipeline)
			tt.play(s)
			expect(t, show(s.plan()), tt.plan)
		})
	}
}

// expect compares two texts without regard to the indentation of want.
func expect(t *testing.T, got, want string) {
	t.Helper()
	if want = outdented(want); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func outdented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// show writes each step of a plan on a line: its name, its decision and the reason.
func show(p *plan.Plan) string {
	var lines []string
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			lines = append(lines, showStep(step))
		}
	}
	return strings.Join(lines, "\n")
}

func showStep(s plan.Step) string {
	line := fmt.Sprintf("%s: %s: %s", s.Name, s.Decision, s.Reason)
	if len(s.Restores) > 0 {
		line += fmt.Sprintf(" [restores %v]", s.Restores)
	}
	if s.Refused != "" {
		line += fmt.Sprintf(" [refused: %s]", s.Refused)
	}
	if s.Cached != nil {
		line += fmt.Sprintf(" [attempt %d of %s]", s.Cached.Attempt, s.Cached.Session)
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"repeats", s.Repeats}, {"review", s.Review}, {"verify", s.Verify}} {
		if flag.set {
			line += " [" + flag.name + "]"
		}
	}
	return line
}
