package view_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// start is when every scenario begins.
func start() time.Time { return time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC) }

// scenario is a run as a view is told of it. Its golden file holds what each
// mode prints: testdata/NAME.txtar.
type scenario struct {
	begin   runner.Beginning
	commits []state.Commit
	warn    string
	end     runner.Ending
	verbose bool
	color   bool
	past    uint64 // the last commit that need not be shown
}

func cashier(resumed bool) *plan.Plan {
	step := func(name, title string) plan.Step {
		return plan.Step{Kind: plan.WorkstreamStep, Name: name, Title: title, Decision: plan.Run, Reason: "never completed"}
	}
	gate := func(label string) plan.Step {
		return plan.Step{Kind: plan.GateStep, Name: label, Decision: plan.Run, Reason: "never judged"}
	}
	planned := &plan.Plan{
		FormatVersion: "1.0", PRD: "PRD-009", Title: "Cashier Workflows", MadeAt: start(), Pipeline: "sha256:00",
		Phases: []plan.Phase{
			{Name: "database", Title: "database", Number: 1, Steps: []plan.Step{
				step("WS1", "Database Layer"), gate("schema-validation (WS1)"),
			}},
			{Name: "services", Title: "Services", Number: 2, Steps: []plan.Step{
				step("WS2", "Service Layer"), step("WS3", "Route Handlers"), gate("lint (WS3)"), gate("sign-off (services)"),
			}},
		},
		Warnings: []state.Text{}, Stale: []plan.Stale{}, Conflicts: []plan.Conflict{}, ChangedFiles: []plan.ChangedFile{},
	}
	if resumed {
		planned.Session, planned.Seq, planned.ResumeFrom = "s-1", 14, 2
		planned.Phases[0].Steps[0].Decision, planned.Phases[0].Steps[0].Reason = plan.Reuse, "unchanged"
		planned.Phases[0].Steps[1].Decision, planned.Phases[0].Steps[1].Reason = plan.Reuse, "unchanged"
		ws2 := &planned.Phases[1].Steps[0]
		ws2.Decision, ws2.Reason = plan.Rerun, "inputs changed"
		ws2.Changes = []plan.Change{
			{Component: "inputs", Name: "schema/a.sql", Old: "sha256:1111111111111111", New: "sha256:2222222222222222"},
			{Component: "inputs", Name: "schema/b.sql", New: "sha256:3333333333333333"},
		}
		planned.Phases[1].Steps[1].Decision, planned.Phases[1].Steps[1].Reason = plan.Depends, "waits"
		planned.Phases[1].Steps[1].On = []string{"WS2"}
		planned.Phases[1].Steps[2].Decision, planned.Phases[1].Steps[2].Reason = plan.Judge, "failed before"
	}
	return planned
}

// story numbers commits, one second apart.
func story(events ...[]state.Event) []state.Commit {
	commits := make([]state.Commit, len(events))
	for i, e := range events {
		commits[i] = state.Commit{Seq: uint64(i + 1), Time: start().Add(time.Duration(i+1) * time.Second), Events: e}
	}
	return commits
}

type events = []state.Event

func scenarios() map[string]scenario {
	begin := runner.Beginning{PRD: "PRD-009", Title: "Cashier Workflows", Session: "s-1", Plan: cashier(false), Parallel: 2}
	resumed, three := begin, state.Text("3")
	resumed.Resumed, resumed.Plan = true, cashier(true)
	git := &state.Git{Branch: "main", Commit: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2"}
	failure := state.Failure{
		Workstream: "WS3", Outcome: "exited", Message: "Property 'player_id' does not exist on type 'PlayerDTO'",
		File: "services/player/index.ts", Line: 45, ExitCode: 2, Log: "WS3.1.log",
	}
	gateFailure := state.Failure{Workstream: "WS3", Gate: "lint (WS3)", Message: "exited with 1", Log: "lint.1.log"}
	made := []state.Artifact{{Path: "a", Change: state.FileCreated}, {Path: "b", Change: state.FileCreated}, {Path: "c", Change: state.FileModified}, {Path: "d", Change: state.FileModified}, {Path: "same"}}
	first := story(
		events{
			state.SessionStarted{FormatVersion: "1.0", Session: "s-1", PRD: "PRD-009", Title: "Cashier Workflows", Version: "test"},
			state.CheckpointCreated{ID: "CP-start-20251211T100001Z-aaaa", Trigger: state.TriggerStart, Git: git},
		},
		events{state.PhaseStarted{Phase: "database"}, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1}},
		events{state.WorkstreamSucceeded{Workstream: "WS1", Work: state.Work{Attempt: 1, DurationMS: 1234, Artifacts: made}}, state.GateStarted{Gate: "schema-validation (WS1)", Attempt: 1}},
		events{
			state.GatePassed{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}, DurationMS: 300, Value: 82.5},
			state.CheckpointCreated{ID: "CP-database-1", Trigger: state.TriggerGatePassed},
			state.WorkstreamCompleted{Workstream: "WS1"},
			state.CheckpointCreated{ID: "CP-database-2", Trigger: state.TriggerWorkstreamComplete},
			state.PhaseCompleted{Phase: "database", DurationMS: 65000},
			state.CheckpointCreated{ID: "CP-database-20251211T100004Z-bbbb", Trigger: state.TriggerPhaseTransition, Created: 2, Modified: 1, Git: git},
		},
	)
	return map[string]scenario{
		"complete": {begin: begin, commits: append(first[:4:4], state.Commit{Seq: 5, Time: start().Add(9 * time.Second), Events: events{
			state.PhaseSkipped{Phase: "services", Reason: "when is false"}, state.SessionCompleted{},
		}}), warn: "the complete hook failed: exit code 1", end: runner.Ending{Status: state.StatusComplete, Duration: 9 * time.Second}},
		"verbose": {begin: begin, verbose: true, commits: first, end: runner.Ending{
			Status: state.StatusPaused, Signal: "SIGINT", Duration: 3723 * time.Second, Next: []state.Text{"runner build PRD-009 --resume"},
		}},
		"watched": {begin: begin, past: 5, commits: append(first[:4:4], state.Commit{Seq: 5, Time: start().Add(5 * time.Second), Events: events{
			state.PhaseStarted{Phase: "services"}, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1},
		}}, state.Commit{Seq: 6, Time: start().Add(8 * time.Second), Events: events{
			state.WorkstreamCompleted{Workstream: "WS2", Work: &state.Work{Attempt: 1, DurationMS: 3000}},
		}}), end: runner.Ending{Status: state.StatusInProgress, Killed: true, Duration: 8 * time.Second}},
		"failed": {begin: begin, commits: story(
			events{state.PhaseStarted{Phase: "services"}, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}, state.WorkstreamStarted{Workstream: "WS3", Attempt: 1}},
			events{state.WorkstreamAttemptFailed{Workstream: "WS3", Attempt: 1, Error: failure, RetryInMS: 1000}},
			events{state.WorkstreamFailed{Workstream: "WS3", Error: failure}, state.WorkstreamInterrupted{Workstream: "WS2", Attempt: 1}},
			events{state.ProcessesEnded{Workstream: "WS2", Processes: []state.Process{{PID: 17, Command: "sleep 100"}, {PID: 18}}}},
			events{state.GateFailed{Verdict: state.Verdict{Gate: "lint (WS3)"}, DurationMS: 5, Error: gateFailure}},
			events{state.SessionFailed{Error: failure}, state.CheckpointSkipped{IDs: []string{"CP-services-1"}, Error: "no space left on device"}},
		), end: runner.Ending{Status: state.StatusFailed, Error: &failure, Failed: []state.Failure{failure, gateFailure}, Duration: 3 * time.Second,
			Next: []state.Text{"runner logs PRD-009 WS3", "runner build PRD-009 --resume"}}},
		"resumed": {begin: resumed, commits: story(
			events{
				state.SessionResumed{}, state.WorkstreamInvalidated{Workstream: "WS2", Reason: "inputs changed"},
				state.GateVoided{Gate: "lint (WS3)", Reason: "its reason was shown with the plan"},
				state.GateVoided{Gate: "sign-off (services)", Reason: "what it approved has changed"},
			},
			events{state.PhaseStarted{Phase: "services"}},
			events{state.WorkstreamEdited{Workstream: "WS3", Edited: []state.Text{"gen/a.go"}}, state.WorkstreamInvalidated{Workstream: "WS4", Reason: "asked for"}},
			events{state.WorkstreamUncertain{Workstream: "WS2", Error: state.Failure{Message: "its end is not on record"}}},
			events{state.WorkstreamResolved{Workstream: "WS2", Resolution: state.ResolvedDone, By: state.Actor{User: "alice"}, Reason: "checked"}},
			events{state.GateAsked{Verdict: state.Verdict{Gate: "sign-off (services)"}, Message: "Ship the service layer?", Approvers: []string{"alice", "bob"}}},
			events{state.GateAsked{Verdict: state.Verdict{Gate: "direction (services)"}, Message: "Which?", Inputs: []state.AskedInput{
				{Name: "pages", Type: state.InputNumber, Description: "how many", Default: &three}, {Name: "sure", Type: state.InputBool},
			}}},
			events{state.GateApproved{Verdict: state.Verdict{Gate: "direction (services)"}, By: state.Actor{User: "bob"}, Inputs: map[string]state.Text{
				"pages": "3", "text": "a, b", "long": state.Text(strings.Repeat("x", 100)),
			}}},
			events{state.PauseAsked{By: state.Actor{User: "bob"}, Reason: "lunch"}},
			events{state.GateRejected{Verdict: state.Verdict{Gate: "sign-off (services)"}, By: state.Actor{User: "bob"}, Reason: "not yet", To: []string{"WS1", "WS2"}}},
			events{
				state.GateAsked{Verdict: state.Verdict{Gate: "words (services)"}, Message: "Are the words good?\n\nRead them all."},
				state.GateApproved{Verdict: state.Verdict{Gate: "words (services)"}, By: state.Actor{User: "bob"}, Comment: "Yes:\nthey are plain"},
				state.GateReviewed{Gate: "read (services)", By: state.Actor{User: "bob"}, Comment: "Looked at\neach one"},
				state.GateRejected{Verdict: state.Verdict{Gate: "sign-off (services)"}, By: state.Actor{User: "bob"}, Reason: "No:\n- too slow\n- too large", To: []string{"WS1"}},
			},
		), end: runner.Ending{Status: state.StatusPaused, Pause: &state.Pause{Reason: state.PauseApproval, Gates: []string{"sign-off (services)"}},
			Duration: 65 * time.Second, Next: []state.Text{"runner approve PRD-009"}}},
		"colour": {begin: begin, color: true, commits: story(
			events{state.PhaseStarted{Phase: "database"}, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1}},
			events{state.WorkstreamCompleted{Workstream: "WS1", Work: &state.Work{DurationMS: 7, Summary: "made \x1b[2J 3 files"}}},
		), end: runner.Ending{Status: state.StatusComplete, Duration: time.Second}},
	}
}

// hostileLog is what a process may print: colours, a title, a NUL, a line that
// overwrites itself, a text direction override, bytes that are no text.
const hostileLog = "first line, too long ago to be shown\n" +
	"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" +
	"\x1b[31mred\x1b[0m and \x1b]0;owned\x07title\n" +
	"nul \x00 bell \x07 back \b\n" +
	"progress 10%\rprogress 100%\r\n" +
	"turned \u202e round\n" +
	"bytes \xff\xfe and é\n" +
	"open \x1b]52;c;payload that never ends\n" +
	"\x9b31m c1 \u009b31m\n" +
	"tab\tstays\n" +
	"last"

func (s scenario) show(t *testing.T, mode view.Mode, logs string) string {
	t.Helper()
	var out bytes.Buffer
	v := view.New(mode, view.Options{
		Out: &out, Logs: view.Logs{Dir: logs, Name: "logs"}, Now: start, Color: s.color, Verbose: s.verbose, Past: s.past,
	})
	v.Begin(s.begin)
	for _, c := range s.commits {
		v.Commit(c)
	}
	if s.warn != "" {
		v.Warn(s.warn)
	}
	v.End(s.end)
	if err := v.Err(); err != nil {
		t.Fatalf("view failed: %v", err)
	}
	return out.String()
}

var update = flag.Bool("update", false, "write the golden files")

func TestViews(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "WS3.1.log"), []byte(hostileLog), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "lint.1.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := &txtar.Archive{}
			for _, m := range []struct {
				name string
				mode view.Mode
			}{{"plain", view.Plain}, {"quiet", view.Quiet}, {"json", view.JSON}} {
				shown := s.show(t, m.mode, logs)
				// Control characters are spelled out, so that the golden files are text.
				shown = strings.NewReplacer("\x1b", "<ESC>", "\r", "<CR>").Replace(shown)
				if shown != "" && !strings.HasSuffix(shown, "\n") {
					shown += "<no newline>\n"
				}
				got.Files = append(got.Files, txtar.File{Name: m.name, Data: []byte(shown)})
			}
			compare(t, filepath.Join("testdata", name+".txtar"), txtar.Format(got))
		})
	}
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", path, diff)
	}
}

// TestNothingSteersTheTerminal holds for every scenario without colours and
// without a status line: no control character but the newline is printed.
func TestNothingSteersTheTerminal(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "WS3.1.log"), []byte(hostileLog), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range scenarios() {
		if s.color {
			continue
		}
		shown := s.show(t, view.Plain, logs)
		for i, r := range shown {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
				t.Errorf("%s: control character %U at byte %d", name, r, i)
			}
		}
	}
}

func TestPlanForPeople(t *testing.T) {
	t.Parallel()
	planned := cashier(true)
	planned.Conflicts = []plan.Conflict{{Path: "gen/a.go", Workstream: "WS1", Recorded: "sha256:aaaaaaaaaaaaaaaa"}}
	planned.Stale = []plan.Stale{{What: "document", Path: "docs/PRD-009.md", Old: "sha256:aaaaaaaaaaaaaaaa", New: "sha256:bbbbbbbbbbbbbbbb"}}
	planned.Warnings = []state.Text{"the workspace is no git work tree"}
	var out bytes.Buffer
	if err := view.WritePlan(&out, planned, view.PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join("testdata", "plan.txt"), out.Bytes())
}

// TestPlanSaysWhereItBegins: the first line of a plan names the session that it continues
// or begins from, and the phase only if the plan begins at one.
func TestPlanSaysWhereItBegins(t *testing.T) {
	t.Parallel()
	before := &state.Predecessor{Session: "s-0", At: start()}
	for want, planned := range map[string]plan.Plan{
		"a first run":                                                                                    {},
		"continues session 01234567":                                                                     {Session: "01234567-89ab", Seq: 14},
		"continues session s-1 from Phase 2":                                                             {Session: "s-1", Seq: 14, ResumeFrom: 2},
		"a new session that begins from the document PRD-009.json":                                       {Imported: true},
		"a new session that begins from the document PRD-009.json, from Phase 2":                         {Imported: true, ResumeFrom: 2},
		"a new session that begins from session s-0, complete since 2025-12-11 10:00 UTC":                {Session: "s-0", BeginsFrom: before},
		"a new session that begins from session s-0, complete since 2025-12-11 10:00 UTC, from Phase 2":  {Session: "s-0", BeginsFrom: before, ResumeFrom: 2},
		"a new session, from the beginning; --resume continues from session s-0 of 2025-12-11 10:00 UTC": {Follows: before},
	} {
		planned.PRD = "PRD-009"
		var out bytes.Buffer
		if err := view.WritePlan(&out, &planned, view.PlanOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n"); got != "PRD-009  "+want {
			t.Errorf("the plan begins with %q, want %q", got, want)
		}
	}
}

// TestPlanSaysWhatABuildDoes: of a plan that a build refuses, and of a step that it
// refuses, the plan says whether the build asks first.
func TestPlanSaysWhatABuildDoes(t *testing.T) {
	t.Parallel()
	for choice, want := range map[plan.OnConflict]string{
		"": "asks, or refuses", plan.ConflictAsk: "asks, or refuses", plan.ConflictKeep: "refuses", plan.ConflictRestore: "refuses",
	} {
		planned := cashier(true)
		planned.OnConflict, planned.Refused, planned.Phases[1].Steps[0].Refused = choice, "WS2 may have happened", "it may have happened"
		var out bytes.Buffer
		if err := view.WritePlan(&out, planned, view.PlanOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, "\n! A build "+want+" to begin: WS2 may have happened\n") || !strings.Contains(got, "inputs changed; a build "+want+"\n") {
			t.Errorf("with %q a build %s, and the plan says:\n%s", choice, want, got)
		}
	}
}

// TestBeginningNamesTheFirstStepThatRuns: a plan in which nothing runs has only counts.
func TestBeginningNamesTheFirstStepThatRuns(t *testing.T) {
	t.Parallel()
	planned := cashier(true)
	planned.Phases[0].Steps[1].Decision = plan.Skipped
	if got, want := view.Beginning(planned), "WS2 in Phase 2: services: Services (3 workstreams: 1 reuse, 1 rerun, 1 depends)"; got != want {
		t.Errorf("the plan begins with %q, want %q", got, want)
	}
	planned.Phases = planned.Phases[:1]
	if got, want := view.Beginning(planned), "1 workstream: 1 reuse"; got != want {
		t.Errorf("nothing runs, and the plan begins with %q, want %q", got, want)
	}
}

// TestDifferenceShortensTexts: a text of more than 80 characters is cut.
func TestDifferenceShortensTexts(t *testing.T) {
	t.Parallel()
	fits := state.Text(strings.Repeat("é", 80))
	got := view.Difference(plan.Change{Component: "variable", Name: "v", OldText: fits, NewText: fits + "x"})
	if want := "variable v: " + string(fits) + " → " + string(fits) + "…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type closedPipe struct{ writes int }

func (c *closedPipe) Write([]byte) (int, error) {
	c.writes++
	return 0, errors.New("broken pipe")
}

func TestWriterThatFails(t *testing.T) {
	t.Parallel()
	for _, mode := range []view.Mode{view.Auto, view.Plain, view.JSON, view.Quiet} {
		out := &closedPipe{}
		v := view.New(mode, view.Options{Out: out, Now: start})
		s := scenarios()["failed"]
		v.Begin(s.begin)
		for _, c := range s.commits {
			v.Commit(c)
		}
		v.End(s.end)
		if v.Err() == nil {
			t.Errorf("%s: the failure to write was swallowed", mode)
		}
		if out.writes != 1 {
			t.Errorf("%s: wrote %d times, want 1", mode, out.writes)
		}
	}
}
