package begin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/process"
	"prdrunner/runner/view"
)

const prd = "PRD-001"

// place is a workspace with a pipeline of one workstream, and what a build there is told.
type place struct {
	*testing.T
	setup  *load.Setup
	s      *Starter
	stderr *bytes.Buffer
	caller *state.Caller // of the session that session begins
	hooks  int           // how often the hooks were run
	back   int           // how often the session was rolled back
}

func newPlace(t *testing.T, files map[string]string) *place {
	t.Helper()
	p := &place{T: t, stderr: &bytes.Buffer{}}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		checkpointtest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checkpointtest.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("PRD-001.hcl", "pipeline \"PRD-001\" {\n  phase \"main\" {\n    workstream \"w\" { command = [\"true\"] }\n  }\n}\n")
	for name, text := range files {
		write(name, text)
	}
	env := &cli.Environment{
		CommandLine: advice.CommandLine{Workdir: dir}, Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now,
		Stderr: show.NewScreen(p.stderr), IsTerminal: func(any) bool { return false },
	}
	cfg, err := env.LoadConfig()
	checkpointtest.Must(t, err)
	p.setup, err = load.SetUp(t.Context(), env, cfg, load.PipelineRef{PRD: prd})
	checkpointtest.Must(t, err)
	t.Cleanup(p.setup.Close)
	p.s = &Starter{
		Target: change.Target{Env: env, Store: p.setup.Store, PRD: prd, Files: p.setup.Files}, Config: cfg, Command: p.setup.Command,
		ReadOnlyOptions: func() runner.Options { return p.setup.ReadOptions(env) },
		StateOfDocument: func(d *document.File) (*state.State, error) {
			return runner.FromDocument(p.setup.Pipeline, d, time.Now())
		},
		RunHooks: func(context.Context, *checkpoint.Snapshot) error { p.hooks++; return nil },
		RollBack: func(context.Context) error { p.back++; return nil },
	}
	return p
}

// session begins a session, which ends with the given events, or is left running.
func (p *place) session(events ...state.Event) {
	p.Helper()
	x := checkpointtest.LockPRD(p, p.setup.Store, prd)
	started := checkpointtest.StartedOf(prd, "s1", 1)
	started.Caller = p.caller
	started.Shape = state.Shape{Phases: []state.PhaseShape{{Name: "main", Workstreams: []state.WorkstreamShape{{Name: "w", Batch: 1}}}}}
	checkpointtest.Must(p, x.Start(started))
	checkpointtest.Commit(p, x, events...)
	checkpointtest.Must(p, x.Close())
}

// archive archives the session.
func (p *place) archive() {
	p.Helper()
	x := checkpointtest.LockPRD(p, p.setup.Store, prd)
	_, err := x.Archive(p.Context(), checkpointtest.By, "")
	checkpointtest.Must(p, err)
	checkpointtest.Must(p, x.Close())
}

// person lets a person type at a terminal, and returns what the terminal shows.
func (p *place) person(typed string) *bytes.Buffer {
	var shown bytes.Buffer
	p.s.Person = view.NewTerminal(strings.NewReader(typed), &shown, state.Actor{}, false)
	return &shown
}

// document is a document that was written by hand.
func written(status string) map[string]string {
	completed, running, pending := "", "", `"w"`
	switch status {
	case "complete":
		completed, pending = pending, ""
	case "in_progress":
		running, pending = pending, ""
	}
	return map[string]string{".runner/PRD-001.json": `{"prd": "PRD-001", "prd_title": "T", "current_phase": 1, "status": "` + status + `", "completed_workstreams": [` + completed +
		`], "in_progress_workstreams": [` + running + `], "pending_workstreams": [` + pending + `], "artifacts": {}, "gates_passed": [], "gates_pending": [], "timestamp": "2025-12-11T10:16:00Z"}`}
}

// TestBegin holds for each session that there can be and each wish of the user how a build
// begins, or why it does not.
func TestBegin(t *testing.T) {
	t.Parallel()
	paused := func(p *place) { p.session(state.SessionPaused{Reason: state.PauseApproval}) }
	failed := func(p *place) {
		p.session(state.SessionFailed{Error: state.Failure{Workstream: "w", Message: "no luck"}})
	}
	killed := func(p *place) { p.session() }
	complete := func(p *place) { p.session(state.SessionCompleted{}) }
	completeBefore := func(p *place) { complete(p); p.archive() }
	failedBefore := func(p *place) { failed(p); p.archive() }
	busy := func(p *place) { // another PRD runs, so that no objects can be collected
		paused(p)
		x := checkpointtest.LockPRD(p, p.setup.Store, "PRD-002")
		p.Cleanup(func() { checkpointtest.Must(p, x.Close()) })
	}
	none := func(*place) {}
	resume := func(p *place) { p.s.Resume = ResumeCurrent }
	auto := func(p *place) { p.s.Resume = ResumeAuto }
	fresh := func(p *place) { p.s.Fresh = true }
	called := func(by string) func(p *place) {
		return func(p *place) { p.caller = &state.Caller{Call: by}; paused(p) }
	}
	call := func(p *place) { p.s.Call = "c1" }
	from := func(p *place) { p.s.Selection = plan.Selection{From: "w"} }
	both := func(one, two func(*place)) func(*place) { return func(p *place) { one(p); two(p) } }
	typing := func(text string) func(*place) { return func(p *place) { p.person(text) } }
	yes := func(p *place) { p.s.Yes = true }
	const choose = "`runner build PRD-001 --resume` resumes it, `runner build PRD-001 --fresh` archives it"
	const newSession = "--from and --invalidate run something again"
	tests := []struct {
		name       string
		files      map[string]string
		before     func(*place)
		wish       func(*place)
		want       Start
		told, hint string
		said       string
		hooks      int
	}{
		{name: "nothing, a build", before: none, wish: none, hooks: 1},
		{name: "nothing, --fresh", before: none, wish: fresh, hooks: 1},
		{name: "nothing, --resume", before: none, wish: resume, told: "there is no session of PRD-001 to resume", hint: "`runner build PRD-001` starts one", hooks: 1},
		{name: "nothing, --resume=auto", before: none, wish: auto, hooks: 1},
		{name: "nothing, --from", before: none, wish: from, told: newSession, hint: "`runner build PRD-001 --resume` with them resumes"},
		{name: "failed before, --resume", before: failedBefore, wish: resume, told: "there is no session", hint: "`runner build PRD-001` starts one", hooks: 1},
		{name: "failed before, --resume=auto", before: failedBefore, wish: auto, hooks: 1},

		{name: "paused, a build", before: paused, wish: none, told: "there is an unfinished session of PRD-001", hint: choose},
		{name: "paused, --fresh", before: paused, wish: fresh, want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "paused, --fresh --from", before: paused, wish: both(fresh, from), told: newSession, hint: "`runner build PRD-001 --resume`", hooks: 1},
		{name: "paused, --resume", before: paused, wish: resume, want: Start{resume: true}, hooks: 1},
		{name: "paused, --resume at a terminal", before: paused, wish: both(resume, typing("")), want: Start{resume: true}, hooks: 1},
		{name: "paused, resumed at the prompt", before: paused, wish: typing("r\n"), want: Start{resume: true}, hooks: 1},
		{name: "paused, begun anew at the prompt", before: paused, wish: typing("v\np\ns\n"), want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "paused, deleted at the prompt", before: paused, wish: typing("d\ny\n"), want: Start{NothingToDo: true}, said: "Deleted the session of PRD-001\n"},
		{name: "paused, deleted beside a run", before: busy, wish: typing("d\ny\n"), want: Start{NothingToDo: true}, said: "Deleted the session of PRD-001\n"},
		{name: "paused, not deleted", before: paused, wish: typing("d\nn\n"), told: runner.ErrDeclined.Error()},
		{name: "paused, nobody answers", before: paused, wish: typing(""), told: runner.ErrDeclined.Error()},

		{name: "nothing, a call", before: none, wish: call, hooks: 1},
		{name: "paused, the same call", before: called("c1"), wish: call, want: Start{resume: true}, hooks: 1},
		{name: "paused, another call", before: called("c0"), wish: call, want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "failed before, a call", before: failedBefore, wish: call, hooks: 1},

		{name: "failed, --resume", before: failed, wish: resume, want: Start{resume: true}, said: "PRD-001 failed: w: no luck; resuming\n", hooks: 1},
		{name: "failed, --resume=auto at a terminal", before: failed, wish: both(auto, typing("")), want: Start{resume: true}, said: "PRD-001 failed: w: no luck; resuming\n", hooks: 1},
		{name: "failed, --resume --yes at a terminal", before: failed, wish: both(both(resume, yes), typing("")), want: Start{resume: true}, said: "PRD-001 failed: w: no luck; resuming\n", hooks: 1},
		{name: "failed, and fixed", before: failed, wish: both(resume, typing("\n")), want: Start{resume: true}, hooks: 1},
		{name: "failed, and not fixed", before: failed, wish: both(resume, typing("n\n")), told: runner.ErrDeclined.Error(), hooks: 1},

		{name: "killed, --resume", before: killed, wish: resume, want: Start{resume: true}, said: "PRD-001 was killed: how its run ended is not on record; resuming\n", hooks: 1},
		{name: "killed, continued", before: killed, wish: both(resume, typing("c\n")), want: Start{resume: true}, hooks: 1},
		{name: "killed, started over", before: killed, wish: both(resume, typing("s\n")), want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "killed, given up", before: killed, wish: both(resume, typing("q\n")), told: runner.ErrDeclined.Error(), hooks: 1},
		{name: "killed, nobody answers", before: killed, wish: both(resume, typing("")), told: runner.ErrDeclined.Error(), hooks: 1},

		{name: "complete, a build", before: complete, wish: none, want: Start{Fresh: true}, hooks: 1},
		{name: "complete, --fresh", before: complete, wish: fresh, want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "complete, --from", before: complete, wish: from, told: newSession, hint: "`runner build PRD-001 --resume`", hooks: 1},
		{name: "complete, --resume with something to run", before: complete, wish: resume, want: Start{resume: true}, hooks: 1},
		{name: "complete, --resume --from", before: complete, wish: both(resume, from), want: Start{resume: true}, hooks: 1},
		{name: "complete before, a build", before: completeBefore, wish: none, hooks: 1},

		{name: "by hand, a build", files: written("paused"), before: none, wish: none, told: "there is a document of PRD-001 already", hint: choose},
		{name: "by hand, --fresh", files: written("paused"), before: none, wish: fresh, want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "by hand, --resume", files: written("paused"), before: none, wish: resume, want: Start{Imported: &document.File{}}, hooks: 1},
		{name: "by hand and in progress, --resume", files: written("in_progress"), before: none, wish: resume, want: Start{Imported: &document.File{}}, said: "PRD-001 is in progress, and how that ended is not on record; resuming\n", hooks: 1},
		{name: "by hand and in progress, started over", files: written("in_progress"), before: none, wish: both(resume, typing("s\n")), want: Start{Fresh: true, NoCache: true}, hooks: 1},
		{name: "by hand, agreed to", files: written("paused"), before: none, wish: typing("y\n"), want: Start{Imported: &document.File{}}, hooks: 1},
		{name: "by hand, declined", files: written("paused"), before: none, wish: typing("n\n"), told: runner.ErrDeclined.Error()},
		{name: "by hand and complete, at a terminal", files: written("complete"), before: none, wish: typing(""), want: Start{Fresh: true}, hooks: 1},
		{name: "by hand and complete, --from", files: written("complete"), before: none, wish: both(from, typing("")), told: newSession, hint: "`runner build PRD-001 --resume`"},
		{name: "by hand and mistaken", files: written("no status"), before: none, wish: resume, told: "", hooks: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, test.files)
			test.before(p)
			test.wish(p)
			got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline)
			if test.name == "by hand and mistaken" {
				if err == nil {
					t.Errorf("it begins as %+v", got)
				}
				return
			}
			if (got.Imported != nil) != (test.want.Imported != nil) {
				t.Errorf("it begins from a document: %v", got.Imported != nil)
			}
			got.Imported, test.want.Imported = nil, nil
			if err == nil && got != test.want {
				t.Errorf("it begins as %+v, want %+v", got, test.want)
			}
			told := ""
			if err != nil {
				told = err.Error()
			}
			hint := advice.Of(advice.CommandLine{}, "", err)
			if !strings.HasPrefix(told, test.told) || test.told == "" && told != "" || !strings.HasPrefix(hint, test.hint) || test.hint == "" && hint != "" {
				t.Errorf("%q, hint %q, want %q, hint %q", told, hint, test.told, test.hint)
			}
			if test.said != "" && p.stderr.String() != test.said || test.said == "" && strings.Contains(p.stderr.String(), prd+" ") && p.s.Person == nil {
				t.Errorf("it says %q, want %q", p.stderr.String(), test.said)
			}
			if p.hooks != test.hooks {
				t.Errorf("the hooks ran %d times, want %d", p.hooks, test.hooks)
			}
		})
	}
}

// TestBeginFromPredecessor: --resume after a session that completed and was archived begins
// a new one from it.
func TestBeginFromPredecessor(t *testing.T) {
	t.Parallel()
	for _, wish := range []string{ResumeCurrent, ResumeAuto} {
		p := newPlace(t, nil)
		p.session(state.SessionCompleted{})
		p.archive()
		p.s.Resume = wish
		got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline)
		if err != nil || got.Predecessor == nil || got.Predecessor.Session != "s1" {
			t.Errorf("%s: %+v, %v", wish, got, err)
		}
	}
}

// TestBeginIdle: where nothing is left to run, --resume says so, unless the user chose what
// runs again.
func TestBeginIdle(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	executor, err := process.New(process.Options{BaseEnv: p.s.Env.Environ})
	checkpointtest.Must(t, err)
	o := p.setup.ReadOptions(p.s.Env)
	o.Session, o.Executor = checkpointtest.LockPRD(t, p.setup.Store, prd), executor
	ending, err := runner.Build(t.Context(), o)
	checkpointtest.Must(t, errors.Join(err, o.Session.Close(), executor.Close()))
	if !ending.Done() {
		t.Fatalf("%+v", ending)
	}
	for name, test := range map[string]struct {
		wish func(s *Starter)
		want Start
		err  error
		said string
	}{
		"--resume":              {func(s *Starter) { s.Resume = ResumeCurrent }, Start{}, ErrAlreadyComplete, ""},
		"--resume=auto":         {func(s *Starter) { s.Resume = ResumeAuto }, Start{NothingToDo: true}, nil, "PRD-001 already complete\n"},
		"--resume --from":       {func(s *Starter) { s.Resume, s.Selection = ResumeCurrent, plan.Selection{From: "w"} }, Start{resume: true}, nil, ""},
		"--resume with a plan":  {func(s *Starter) { s.Resume, s.Saved = ResumeCurrent, &plan.Plan{} }, Start{resume: true}, nil, ""},
		"a build":               {func(*Starter) {}, Start{Fresh: true}, nil, ""},
		"a build at a terminal": {func(s *Starter) { s.Person = &view.Terminal{} }, Start{Fresh: true}, nil, ""},
	} {
		p.stderr.Reset()
		starter := *p.s
		test.wish(&starter)
		got, _, err := starter.Begin(t.Context(), p.setup.Pipeline)
		if (got.Idle != nil) != got.NothingToDo {
			t.Errorf("%s: the plan of nothing to do is %v", name, got.Idle)
		}
		got.Idle = nil
		if !errors.Is(err, test.err) || got != test.want || p.stderr.String() != test.said {
			t.Errorf("%s: %+v, %v, it says %q", name, got, err, p.stderr.String())
		}
		if hint := advice.Of(advice.CommandLine{}, "", err); err != nil && hint != "`runner build PRD-001` starts a new session" {
			t.Errorf("%s: hint %q", name, hint)
		}
	}
}

// TestBeginArchived: an archiving that was cut short is finished before a build begins.
func TestBeginArchived(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.session(state.SessionCompleted{})
	layout := p.setup.Store.Layout()
	document := layout.DocumentPath(prd)
	checkpointtest.Must(t, os.Rename(document, filepath.Join(layout.PRDDir(prd), filepath.Base(document))))
	checkpointtest.Must(t, os.Rename(layout.PRDDir(prd), layout.ArchivingPath(prd)))
	p.s.Resume = ResumeCurrent
	got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline)
	if err != nil || got.Predecessor == nil || got.Predecessor.Session != "s1" {
		t.Errorf("%+v, %v", got, err)
	}
	if archiving, err := p.setup.Store.Archiving(prd); archiving || err != nil {
		t.Errorf("it is still being archived: %v", err)
	}
	checkpointtest.Must(t, checkpointtest.LockPRD(t, p.setup.Store, prd).Close())
}

// TestShowDetails: at the prompt the user can look at the current checkpoint, and learns of
// its damage.
func TestShowDetails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm func(file string) error
		want string
	}{
		"whole":   {func(string) error { return nil }, "\nCheckpoint CP-"},
		"gone":    {os.Remove, "\nCheckpoint CP-"},
		"damaged": {func(file string) error { return os.WriteFile(file, []byte("{}"), 0o600) }, "Checkpoint damaged"},
	} {
		p := newPlace(t, nil)
		p.session()
		x := checkpointtest.LockPRD(t, p.setup.Store, prd)
		id := checkpointtest.Mark(t, x, state.TriggerManual)
		checkpointtest.Commit(t, x, state.SessionPaused{})
		checkpointtest.Must(t, x.Close())
		layout := p.setup.Store.Layout()
		files, err := filepath.Glob(filepath.Join(layout.PRDDir(prd), "checkpoints", "*"+id+"*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("its files are %q: %v", files, err)
		}
		checkpointtest.Must(t, test.harm(files[0]))
		p.person("v\nr\n")
		if got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline); err != nil || got != (Start{resume: true}) || !strings.Contains(p.stderr.String(), test.want) || !strings.Contains(p.stderr.String(), id) {
			t.Errorf("%s: %+v, %v, it says %s", name, got, err, p.stderr)
		}
	}
}

// failing is a file system on which writing a file fails a few times.
type failing struct {
	store.FS
	path  string
	times int
}

// Rename implements store.FS.
func (f *failing) Rename(from, to string) error {
	if to == f.path && f.times > 0 {
		f.times--
		return faults.ErrDisk
	}
	return f.FS.Rename(from, to)
}

// TestBeginUnwritten: what the files of a complete session lack is written before another
// begins, or given up as the configuration says.
func TestBeginUnwritten(t *testing.T) {
	t.Parallel()
	const again = "Warning: a checkpoint could not be written at first ("
	for name, test := range map[string]struct {
		config string
		times  int // how often writing fails
		want   error
		said   string
	}{
		"written":                    {"", 0, nil, ""},
		"written the second time":    {"", 1, nil, again},
		"written by closing it":      {"", 3, nil, again},
		"not written":                {"", 100, ErrUnwritten, ""},
		"skipped":                    {"on_checkpoint_error: skip\n", 100, nil, "Warning: a checkpoint could not be written, and is skipped: "},
		"written, not to be skipped": {"on_checkpoint_error: skip\n", 1, nil, again},
	} {
		p := newPlace(t, map[string]string{"runner.yaml": test.config})
		p.session(state.SessionCompleted{})
		layout := p.setup.Store.Layout()
		checkpointtest.Must(t, os.Remove(layout.DocumentPath(prd)))
		var err error
		p.s.Store, err = checkpoint.OpenStore(layout.Path, checkpoint.Options{FS: &failing{FS: store.OS(), path: layout.DocumentPath(prd), times: test.times}})
		checkpointtest.Must(t, err)
		got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline)
		if !errors.Is(err, test.want) || err == nil && got != (Start{Fresh: true}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if said := p.stderr.String(); !strings.HasPrefix(said, test.said) || test.said == "" && said != "" || strings.Count(said, "Warning: ") > 1 {
			t.Errorf("%s: it says %q", name, said)
		}
		if hint := advice.Of(advice.CommandLine{}, "", err); err != nil && hint != "once that can be written, `runner build PRD-001 --resume` does it; with on_checkpoint_error = \"skip\" it is passed over" {
			t.Errorf("%s: hint %q", name, hint)
		}
		checkpointtest.Must(t, checkpointtest.LockPRD(t, p.setup.Store, prd).Close())
	}
}

// TestPrintState: a build that resumes without asking says what it found.
func TestPrintState(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	of := func(status state.Status, gate string) *state.State {
		return &state.State{Status: status, LastGate: gate, Phases: []*state.Phase{{Gates: []*state.Gate{{Label: "lint (main)", Status: state.Passed}}}}}
	}
	for name, test := range map[string]struct {
		st   *state.State
		want string
	}{
		"paused":            {of(state.StatusPaused, ""), ""},
		"paused at a gate":  {of(state.StatusPaused, "lint (main)"), "Last gate passed: lint (main)\n"},
		"new":               {of(state.StatusInitialized, "lint (main)"), ""},
		"failed, untold":    {of(state.StatusFailed, "lint (main)"), ""},
		"a gate of another": {of(state.StatusPaused, "gone"), ""},
	} {
		p.stderr.Reset()
		if p.s.printState(test.st); p.stderr.String() != test.want {
			t.Errorf("%s: %q, want %q", name, p.stderr.String(), test.want)
		}
	}
}

// TestBeginOwned: what another process runs is not begun.
func TestBeginOwned(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.session(state.SessionPaused{})
	x := checkpointtest.LockPRD(t, p.setup.Store, prd)
	p.s.Resume = ResumeAuto
	_, snap, err := p.s.Begin(t.Context(), p.setup.Pipeline)
	if !advice.IsA[*checkpoint.LockedError](err) || !strings.HasPrefix(advice.Of(advice.CommandLine{}, "", err), "`runner status PRD-001`") {
		t.Errorf("%v", err)
	}
	if _, err := p.s.LockDecided(t.Context(), Start{}, snap); !advice.IsA[*checkpoint.LockedError](err) {
		t.Errorf("%v", err)
	}
	checkpointtest.Must(t, x.Close())
}

// TestLockDecided: a build begins only what it was decided for.
func TestLockDecided(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	read := func() *checkpoint.Snapshot {
		snap, err := change.ReadSession(p.setup.Store, prd)
		checkpointtest.Must(t, err)
		return snap
	}
	decided := func(snap *checkpoint.Snapshot, want bool) {
		t.Helper()
		x, err := p.s.LockDecided(t.Context(), Start{}, snap)
		if errors.Is(err, runner.ErrPlanOutdated) == want || want && err != nil {
			t.Errorf("%v", err)
		}
		if x != nil {
			checkpointtest.Must(t, x.Close())
		}
	}
	before := read()
	decided(before, true)
	p.session(state.SessionPaused{})
	decided(before, false)
	paused := read()
	decided(paused, true)
	x := checkpointtest.LockPRD(t, p.setup.Store, prd)
	checkpointtest.Commit(t, x, state.SessionFailed{})
	checkpointtest.Must(t, x.Close())
	decided(paused, false)
	p.archive()
	decided(paused, false)
	p.session(state.SessionPaused{})
	another := read()
	another.State.Session = "s2"
	decided(another, false)
}

// TestRollBackFirst: --resume with a checkpoint goes back to it, and resumes without
// asking again.
func TestRollBackFirst(t *testing.T) {
	t.Parallel()
	for resume, want := range map[string]bool{"": false, ResumeCurrent: false, ResumeAuto: false, "latest~1": true} {
		if got := NamesCheckpoint(resume); got != want {
			t.Errorf("%q names a checkpoint: %v", resume, got)
		}
	}
	p := newPlace(t, nil)
	p.session(state.SessionFailed{Error: state.Failure{Message: "no"}})
	p.person("")
	p.s.Resume = "latest~1"
	if got, _, err := p.s.Begin(t.Context(), p.setup.Pipeline); err != nil || p.back != 1 || got != (Start{resume: true}) {
		t.Errorf("%+v, %v, rolled back %d times", got, err, p.back)
	}
	no := errors.New("no")
	p.s.Resume, p.s.RollBack = "latest~1", func(context.Context) error { return no }
	if _, _, err := p.s.Begin(t.Context(), p.setup.Pipeline); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
}

// TestRefuseUnfinished: a build that would be refused after a rollback is finished does not
// finish it.
func TestRefuseUnfinished(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.session(state.SessionPaused{}, state.RollbackStarted{ID: "R1", To: "C1", Scope: state.RollbackState, By: checkpointtest.By})
	for name, test := range map[string]struct {
		wish func(s *Starter)
		told string
	}{
		"a build":         {func(*Starter) {}, "a rollback of PRD-001 was cut short"},
		"a saved plan":    {func(s *Starter) { s.Saved = &plan.Plan{} }, "PRD-001: "},
		"--only mistaken": {func(s *Starter) { s.Resume, s.Selection = ResumeCurrent, plan.Selection{Only: []string{"x"}} }, "--only: the pipeline has no workstream \"x\""},
	} {
		starter := *p.s
		test.wish(&starter)
		if _, _, err := starter.Begin(t.Context(), p.setup.Pipeline); err == nil || !strings.HasPrefix(err.Error(), test.told) {
			t.Errorf("%s: %v, want %s", name, err, test.told)
		}
	}
	snap, err := change.ReadSession(p.setup.Store, prd)
	checkpointtest.Must(t, err)
	if snap.State.Rollback == nil {
		t.Error("it was finished")
	}
	for name, wish := range map[string]func(s *Starter){"--resume": func(s *Starter) { s.Resume = ResumeCurrent }, "--fresh": func(s *Starter) { s.Fresh = true }, "a terminal": func(s *Starter) { s.Person = &view.Terminal{} }} {
		starter := *p.s
		wish(&starter)
		if err := starter.refuseUnfinished(p.setup.Pipeline, snap); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCallAfterARollback: a call decides before a rollback that was cut short is finished, too.
func TestCallAfterARollback(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.caller = &state.Caller{Call: "c1"}
	p.session(state.SessionPaused{}, state.RollbackStarted{ID: "R1", To: "C1", Scope: state.RollbackState, By: checkpointtest.By})
	p.s.Call = "c1"
	if _, _, err := p.s.Begin(t.Context(), p.setup.Pipeline); err != nil && strings.Contains(err.Error(), "was cut short") {
		t.Errorf("it is refused: %v", err)
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	for _, s := range []plan.Selection{{From: "w"}, {Only: []string{"w"}}, {Invalidate: []string{"w"}}, {Repeat: []string{"w"}}} {
		if !Chosen(s) {
			t.Errorf("%+v chooses nothing", s)
		}
	}
	if Chosen(plan.Selection{}) {
		t.Error("nothing chooses something")
	}
}

// TestNothingToResume: the error names the sessions that there are.
func TestNothingToResume(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.session()
	if hint := advice.Of(advice.CommandLine{}, "", NothingToResume(p.s.Env, p.setup.Store, "PRD-002", "build PRD-002")); hint != "there are sessions of PRD-001; `runner build PRD-002` starts one" {
		t.Error(hint)
	}
}

// TestResumePrompt: the user sees which session it is, and where it stands.
func TestResumePrompt(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	bare := &state.State{PRD: prd, Status: state.StatusPaused, CreatedAt: now, Phases: []*state.Phase{{}}}
	full := &state.State{
		PRD: prd, Title: "Cashier", Status: state.StatusFailed, CreatedAt: now, Error: &state.Failure{Message: "no luck"}, Phases: []*state.Phase{{}},
		Checkpoints: []*state.CheckpointRef{{ID: "C1", Trigger: state.TriggerManual, CreatedAt: now, Valid: true}}, Current: "C1",
	}
	unknown := &state.State{PRD: prd, Status: state.StatusFailed, CreatedAt: now}
	paused := &state.State{PRD: prd, Status: state.StatusPaused, CreatedAt: now, Error: &state.Failure{Message: "of an earlier run"}}
	const failed, found = "Failed: ", "Checkpoint: C1 (manual, "
	for _, test := range []struct {
		st      *state.State
		planned *plan.Plan
		says    []string
		not     []string
	}{
		{bare, nil, []string{"Found existing checkpoint for \"PRD-001\"\nCreated: 2025-12-11 10:00:00 (", "(r)esume - Continue\n"}, []string{failed, found}},
		{full, &plan.Plan{}, []string{`for "Cashier"`, found, "Failed: no luck\n", "(r)esume - Continue from "}, nil},
		{unknown, nil, nil, []string{failed}},
		{paused, nil, nil, []string{failed}},
	} {
		got := resumePrompt(test.st, test.planned, now)
		for _, part := range test.says {
			if !strings.Contains(got, part) {
				t.Errorf("no %q in %s", part, got)
			}
		}
		for _, part := range test.not {
			if strings.Contains(got, part) {
				t.Errorf("%q in %s", part, got)
			}
		}
	}
}

// TestAskFixed: the user sees why the session failed, as far as that is on record.
func TestAskFixed(t *testing.T) {
	t.Parallel()
	for want, failure := range map[string]*state.Failure{"PRD-001 failed: the reason is not on record\n": nil, "PRD-001 failed: no luck\n": {Message: "no luck"}} {
		p := newPlace(t, nil)
		shown := p.person("\n")
		if err := askFixed(t.Context(), p.s.Person, &state.State{PRD: prd, Error: failure}); err != nil || !strings.Contains(shown.String(), want) {
			t.Errorf("%v, it shows %q, want %q", err, shown.String(), want)
		}
	}
}
