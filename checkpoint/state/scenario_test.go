package state_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

var update = flag.Bool("update", false, "write the files in testdata/scenarios anew")

// play is a scenario that is played: a state, the kinds of event that it has seen, and
// copies of the state at earlier moments.
type play struct {
	*fold
	kinds  map[state.Kind]bool
	copies []*state.State
	were   []string // the copies as JSON, at the time they were made
}

// begin applies the start of a session.
func (p *play) begin(e state.SessionStarted) {
	p.Helper()
	p.State = &state.State{}
	p.do(e)
}

// do applies events, one commit each.
func (p *play) do(events ...state.Event) {
	p.Helper()
	for _, e := range events {
		p.together(e)
	}
}

// together applies events in one commit.
func (p *play) together(events ...state.Event) {
	p.Helper()
	if p.Seq > 0 {
		c := p.Clone()
		p.copies, p.were = append(p.copies, c), append(p.were, indented(p.T, c))
	}
	for _, e := range events {
		p.kinds[e.Kind()] = true
	}
	checkpointtest.Must(p.T, p.try(events...))
}

func indented(t testing.TB, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	checkpointtest.Must(t, err)
	return string(data) + "\n"
}

// The pipeline of the scenarios: A has a gate, B has none, and their phase has a gate of
// its own. C must happen only once.
const (
	lint    = "lint (A)"
	approve = "approve (build)"
)

func smallShape() state.Shape {
	return state.Shape{Phases: []state.PhaseShape{
		{Name: "build", MaxIterations: 4, Gates: []string{"approve"}, Workstreams: []state.WorkstreamShape{
			{Name: "A", Batch: 1, Gates: []string{"lint"}}, {Name: "B", Batch: 2},
		}},
		{Name: "ship", Title: "Ship it", Workstreams: []state.WorkstreamShape{{Name: "C", Once: true}}},
	}}
}

func small(session string) state.SessionStarted { return checkpointtest.Started(session, smallShape()) }

func digest(definition string) state.Digest {
	return state.Digest{Definition: definition, Inputs: "in"}
}

func file(path string, change state.FileChange) state.Artifact {
	return state.Artifact{Path: state.Text(path), Size: 3, Mode: 0o644, Digest: "sha256:" + path, Change: change}
}

func start(name string, attempt int) state.WorkstreamStarted {
	return state.WorkstreamStarted{Workstream: name, Attempt: attempt, Digest: digest("d")}
}

func work(attempt int, files ...state.Artifact) state.Work {
	return state.Work{Attempt: attempt, DurationMS: 5, Digest: digest("d"), Artifacts: files}
}

// done completes a workstream that has no gates, or whose gates have passed.
func done(name string, files ...state.Artifact) state.WorkstreamCompleted {
	w := work(1, files...)
	return state.WorkstreamCompleted{Workstream: name, Work: &w}
}

func failed(message string) state.Failure {
	return state.Failure{Outcome: "exited", ExitCode: 1, Message: state.Text(message)}
}

func captured(listing string, tookMS int64) state.WorkspaceCaptured {
	return state.WorkspaceCaptured{Capture: workspace.Capture{Listing: listing, Files: 2, Bytes: 6}, TookMS: tookMS}
}

func checkpoint(id string, trigger state.Trigger) state.CheckpointCreated {
	return state.CheckpointCreated{ID: id, Trigger: trigger}
}

func note(kind, file, change string) ledger.Report {
	return ledger.Report{Type: ledger.TypeNote, Kind: kind, File: state.Text(file), Change: state.Text(change)}
}

func verdict(gate string) state.Verdict {
	return state.Verdict{Gate: gate, Definition: "def", Judged: "judged"}
}

// buildA does the work of A and passes its gate.
func (p *play) buildA() {
	p.Helper()
	p.do(state.PhaseStarted{Phase: "build"}, start("A", 1),
		state.WorkstreamSucceeded{Workstream: "A", Work: work(1, file("a", state.FileCreated))},
		state.GateStarted{Gate: lint, Attempt: 1}, state.GatePassed{Verdict: verdict(lint)},
		state.WorkstreamCompleted{Workstream: "A"})
}

// build does the work of the first phase, up to the question of its gate.
func (p *play) build() {
	p.Helper()
	p.buildA()
	p.do(start("B", 1), done("B", file("b", state.FileModified)), state.GateAsked{Verdict: verdict(approve), Message: "fine?"})
}

// returns checks whose held results come back.
func (p *play) returns(want ...string) {
	p.Helper()
	var got []string
	for _, w := range p.Returning() {
		got = append(got, w.Name)
	}
	if !slices.Equal(got, want) {
		p.Errorf("after commit %d, the results of %v come back, want %v", p.Seq, got, want)
	}
}

// ship starts C, in its phase.
func (p *play) ship() {
	p.Helper()
	p.do(state.PhaseStarted{Phase: "ship"}, start("C", 1))
}

// back records a rollback of everything.
func (p *play) back(id, to string, then *state.State) {
	p.Helper()
	p.do(checkpoint("safety-"+id, state.TriggerPreRollback),
		state.RollbackStarted{ID: id, To: to, ToSeq: p.Checkpoint(to).Seq, Safety: "safety-" + id, Scope: state.RollbackAll, Reason: "asked for", By: checkpointtest.By},
		state.RollbackCompleted{ID: id, State: then})
}

// scenarios returns what happens, by the names of the golden files.
func scenarios() map[string]func(p *play) {
	by := checkpointtest.By
	uncertain := state.WorkstreamUncertain{Workstream: "C", Error: state.Failure{Workstream: "C", Outcome: "unknown", Message: "its end is unknown"}}
	asks := state.SessionPaused{Reason: state.PauseUncertain, Steps: []string{"C", "other"}, Message: "decide", RanMS: 9}
	return map[string]func(p *play){
		"pass": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), captured("l1", 7))
			w := work(1, file("a", state.FileCreated), file("a2", state.FileModified), file("same", ""))
			w.Outputs, w.Summary, w.Location = map[string]state.Text{"o": "v"}, "did it", "here"
			w.Metrics = map[string]any{"coverage": 90.0, "lines": 5.0}
			p.do(state.WorkstreamSucceeded{Workstream: "A", Work: w}, state.GateStarted{Gate: lint, Attempt: 1},
				state.GatePassed{Verdict: verdict(lint), Value: 90.0, DurationMS: 3})
			p.together(checkpoint("CP-1", state.TriggerGatePassed), state.WorkstreamCompleted{Workstream: "A"}, done("B", file("b", state.FileCreated)))
			p.do(state.GateStarted{Gate: approve, Attempt: 1}, state.GatePassed{Verdict: verdict(approve)}, state.PhaseCompleted{Phase: "build", DurationMS: 8})
			p.ship()
			p.do(done("C"), state.PhaseCompleted{Phase: "ship"})
			p.together(state.SessionCompleted{RanMS: 50}, checkpoint("CP-2", state.TriggerComplete), state.HooksDue{Event: "complete", Hooks: 2, RanMS: 50})
			p.do(state.HookEnded{Event: "complete", Hook: 1})
		},
		"captures": func(p *play) {
			p.buildA()
			p.do(captured("run", 7), checkpoint("CP-1", state.TriggerManual), done("B"), checkpoint("CP-2", state.TriggerManual))
			as := checkpoint("CP-3", state.TriggerManual)
			as.AsCaptured = true
			p.do(as, done("B"))
			un := checkpoint("CP-4", state.TriggerFailure)
			un.Uncaptured = true
			p.do(un, captured("untimed", 0), state.SessionPaused{Reason: state.PauseRequested}, captured("command", 0))
		},
		"capture-aside": func(p *play) {
			p.buildA()
			aside := captured("aside", 4)
			aside.Aside = true
			p.do(captured("run", 7), aside)
		},
		"retries": func(p *play) {
			attempt := state.WorkstreamAttemptFailed{Attempt: 1, Error: failed("once"), RetryInMS: 1000, Left: []state.Artifact{file("x", state.FileCreated)}}
			a, b, c := attempt, attempt, attempt
			a.Workstream, b.Workstream, c.Workstream = "A", "B", "C"
			b.Left = nil
			other := start("C", 2)
			other.Digest = digest("another")
			p.do(state.PhaseStarted{Phase: "build"})
			p.do(start("A", 1), a, state.WorkstreamFailed{Workstream: "A", Error: failed("gave up while it waited")})
			p.do(start("B", 1), b, start("B", 2), state.WorkstreamFailed{Workstream: "B", Error: failed("at the second attempt"), Left: []state.Artifact{file("y", "")}})
			p.do(start("C", 1), c, other)
			p.do(state.SessionFailed{Error: state.Failure{Workstream: "A", Message: "two failed"}, RanMS: 20}, state.HooksDue{Event: "failed", Hooks: 1},
				state.HookEnded{Event: "failed", Hook: 1}, state.HooksDue{Event: "failed"})
		},
		"retry-runs": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1),
				state.WorkstreamAttemptFailed{Workstream: "A", Attempt: 1, Error: failed("once"), RetryInMS: 1000, Left: []state.Artifact{file("x", "")}}, start("A", 2),
				start("B", 1), state.WorkstreamAttemptFailed{Workstream: "B", Attempt: 1, Error: failed("once"), RetryInMS: 2000})
		},
		"gate-fails": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.WorkstreamSucceeded{Workstream: "A", Work: work(1)}, state.GateStarted{Gate: lint, Attempt: 1},
				state.GateFailed{Verdict: verdict(lint), Value: 70.0, DurationMS: 2, Error: failed("70 < 80")},
				state.SessionFailed{Error: state.Failure{Workstream: "A", Gate: lint, Message: "70 < 80", File: "a.go", Line: 3, Column: 4}})
		},
		"allowed-failure": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.WorkstreamSucceeded{Workstream: "A", Work: work(1)}, state.GateStarted{Gate: lint, Attempt: 1},
				state.GateFailed{Verdict: verdict(lint), DurationMS: 2, Error: failed("70 < 80")},
				state.WorkstreamFailed{Workstream: "A", Allowed: true, Error: state.Failure{Workstream: "A", Gate: lint, Message: "70 < 80"}},
				start("B", 1), done("B"))
		},
		"held": func(p *play) {
			held := &state.Held{Before: []state.Artifact{{Path: "a"}, file("old", "")}}
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.WorkstreamSucceeded{Workstream: "A", Work: work(1, file("a", state.FileCreated)), Held: held}, state.GateStarted{Gate: lint, Attempt: 1},
				state.GateFailed{Verdict: verdict(lint), DurationMS: 2, Error: failed("70 < 80")},
				state.WorkstreamFailed{Workstream: "A", Error: failed("70 < 80")})
			p.returns()
			p.do(start("A", 2), state.WorkstreamSucceeded{Workstream: "A", Work: work(2, file("a", state.FileCreated)), Held: held}, state.GateStarted{Gate: lint, Attempt: 2})
			p.returns()
			p.do(state.GatePassed{Verdict: verdict(lint), DurationMS: 2})
			p.returns("A")
			p.do(state.WorkstreamCompleted{Workstream: "A"}, start("B", 1), state.WorkstreamSucceeded{Workstream: "B", Work: work(1, file("b", state.FileCreated)), Held: held})
			p.returns("B") // it has no gate
			p.do(state.WorkstreamInterrupted{Workstream: "B", Attempt: 1})
			p.returns()
			p.do(start("B", 2), state.WorkstreamSucceeded{Workstream: "B", Work: work(2, file("b", state.FileCreated)), Held: held})
		},
		"services": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, state.ServiceStarted{Service: "db", Attempt: 1, Port: 40001}, state.ServiceReady{Service: "db", Attempt: 1, TookMS: 3},
				state.ServiceStarted{Service: "web", Attempt: 1, Port: 40002}, state.ServiceEnded{Service: "db", Attempt: 1, Error: &state.Failure{Outcome: "service", Message: "gone"}},
				state.ServiceStarted{Service: "db", Attempt: 2, Port: 40001})
		},
		"edits": func(p *play) {
			p.buildA()
			edited := file("a", "")
			edited.Digest = "sha256:edited"
			p.do(state.WorkstreamEdited{Workstream: "A", Artifacts: []state.Artifact{edited}, Edited: []state.Text{"a"}},
				state.ArtifactsRestored{Workstream: "A", Paths: []state.Text{"a"}}, state.ProcessesEnded{Workstream: "A"})
		},
		"once-uncertain": func(p *play) {
			p.ship()
			p.do(uncertain, asks)
		},
		"once-done": func(p *play) {
			p.ship()
			d, w := digest("decided"), work(1, file("c", ""))
			p.do(uncertain, asks, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedDone, By: by, Verified: true, Digest: &d, Work: &w, Reason: "looked"})
		},
		"once-done-by-hand": func(p *play) {
			p.ship()
			p.do(done("C", file("earlier", "")), start("C", 2), uncertain, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedDone, By: by})
		},
		"once-again": func(p *play) {
			p.ship()
			p.do(uncertain, asks, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedRerun, By: by})
		},
		"once-elsewhere": func(p *play) {
			elsewhere := uncertain
			elsewhere.Workstream, elsewhere.Attempt = "Old", 2
			known := uncertain
			known.Attempt, known.SameAs = 3, "Old"
			p.do(elsewhere, known, uncertain, state.ActsRemembered{Acts: []state.Act{{Workstream: "C", Session: "S0", At: time.UnixMilli(1).UTC(), Digest: digest("d")}}})
		},
		"approved": func(p *play) {
			p.build()
			expires := time.UnixMilli(9999).UTC()
			p.do(state.GateAsked{Verdict: verdict(approve), Message: "fine?", Approvers: []string{"ana"}, ExpiresAt: &expires, Inputs: []state.AskedInput{{Name: "page", Type: state.InputNumber}}},
				state.SessionPaused{Reason: state.PauseApproval, Gates: []string{approve, "other (B)"}, Message: "waits"},
				state.GateApproved{Verdict: verdict(approve), By: by, Comment: "good", Inputs: map[string]state.Text{"page": "2"}})
		},
		"asked": func(p *play) {
			p.build()
			p.do(state.SessionPaused{Reason: state.PauseApproval, Gates: []string{approve}, Message: "waits"},
				state.GateAsked{Verdict: verdict(lint), Message: "and this?"},
				state.GateApproved{Verdict: verdict(lint), By: by}) // nobody waited for this one
		},
		"rejected": func(p *play) {
			p.build()
			p.do(state.WorkstreamInvalidated{Workstream: "B", Reason: "again"}, state.SessionPaused{Reason: state.PauseApproval, Gates: []string{approve}},
				state.GateRejected{Verdict: verdict(approve), By: by, Reason: "no good"})
		},
		"rejected-earlier-work": func(p *play) {
			p.build()
			p.do(state.GateAsked{Verdict: verdict(approve), Message: "fine?", Inputs: []state.AskedInput{{Name: "page", Type: state.InputNumber}}},
				state.GateRejected{Verdict: verdict(approve), By: by, Reason: "no good", Inputs: map[string]state.Text{"page": "2"}, To: []string{"A"}},
				state.WorkstreamInvalidated{Workstream: "A", Reason: "rejected"}, start("A", 2),
				state.WorkstreamFailed{Workstream: "A", Error: failed("broke")}, start("A", 3))
		},
		"voided": func(p *play) {
			p.build()
			p.do(state.GateVoided{Gate: lint, Reason: "a file changed"}, state.GateSkipped{Gate: approve, Reason: "not today"})
		},
		"reviewed": func(p *play) {
			p.build()
			p.do(state.GatePassed{Verdict: verdict(approve), Review: true}, state.SessionPaused{Reason: state.PauseReview, Gates: []string{approve}},
				state.SessionResumed{Pipeline: state.FileRef{Path: "p"}, By: by}, state.GateReviewed{Gate: lint, By: by}, state.GateStarted{Gate: lint, Attempt: 2})
		},
		"not-reviewed": func(p *play) {
			p.build()
			p.do(state.GatePassed{Verdict: verdict(approve), Review: true}, state.SessionPaused{Reason: state.PauseRequested, Gates: []string{approve}}, state.SessionResumed{By: by})
		},
		"skips": func(p *play) {
			p.build()
			p.do(state.GateApproved{Verdict: verdict(approve), By: by}, state.WorkstreamSkipped{Workstream: "A", Reason: "not needed"}, state.PhaseSkipped{Phase: "ship", Reason: "not yet"})
		},
		"skip-of-nothing": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, state.GatePassed{Verdict: verdict(approve)}, state.WorkstreamSkipped{Workstream: "B", Reason: "not needed"})
		},
		"phase-skipped": func(p *play) {
			p.buildA()
			p.do(state.PhaseSkipped{Phase: "build", Reason: "not needed"})
		},
		"invalidated": func(p *play) {
			p.build()
			p.do(state.WorkstreamInvalidated{Workstream: "A", Reason: "asked for"})
		},
		"checkpoints": func(p *play) {
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				p.do(checkpoint(id, state.TriggerManual))
			}
			last := state.CheckpointCreated{ID: "last", Trigger: state.TriggerManual, Phase: "build", Step: 1, StepName: "A", Reason: "why", Created: 2, Modified: 1, Git: &state.Git{Branch: "main", Commit: "c1"}, Removes: []string{"a", "unknown"},
				WorkTree: &state.WorkTree{Modified: []state.ModifiedFile{{Path: "a\n\xff", Status: git.FileUntracked}}, Omitted: 2}}
			p.do(last, state.CheckpointSkipped{IDs: []string{"b"}, Error: "disk full"}, state.CheckpointPinned{ID: "c", By: by}, state.CheckpointPinned{ID: "d", By: by},
				state.CheckpointUnpinned{ID: "d", By: by}, state.CheckpointDamaged{ID: "c", Reason: "a byte differs"}, state.CheckpointDamaged{ID: "d", Reason: "gone"},
				state.CheckpointRebuilt{ID: "d"}, state.CheckpointsRemoved{IDs: []string{"e"}, Reason: "asked for"})
			p.do(captured("l1", 2))
		},
		"asked-again": func(p *play) {
			first, again := checkpoint("first", state.TriggerManual), checkpoint("again", state.TriggerManual)
			first.WorkTree, again.WorkTreeSame = &state.WorkTree{Modified: []state.ModifiedFile{}}, true
			p.do(first)
			p.build()
			p.do(again)
		},
		"emptied": func(p *play) {
			p.buildA()
			p.do(captured("l1", 2), checkpoint("a", state.TriggerManual), state.SessionCompleted{}, checkpoint("b", state.TriggerComplete),
				state.CheckpointsRemoved{IDs: []string{"a"}, Empties: true})
		},
		"reports": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), checkpoint("one", state.TriggerManual))
			one := p.Clone()
			reported := func(lines int, reports ...ledger.Report) state.ReportsReceived {
				return state.ReportsReceived{Workstream: "A", Attempt: 1, Lines: lines, Reports: reports}
			}
			p.do(reported(3, note(ledger.NoteESLintFix, "a.ts", "no any"), note(ledger.NoteKeyFix, "a.go", "checks the length"), note(ledger.NoteCleanup, "", "removed dist")),
				reported(5, ledger.Report{Type: ledger.TypeConflict, ID: "C1", Status: ledger.Start, Parties: []string{"a", "b"}},
					ledger.Report{Type: ledger.TypeMessage, ID: "M1", To: "b", Body: "look"}))
			again := p.Clone()
			p.do(reported(9, note(ledger.NoteCleanup, "tmp", "emptied"), ledger.Report{Type: ledger.TypeConflict, ID: "C1", Status: ledger.Resolved, Reason: "b is right"},
				ledger.Report{Type: ledger.TypeKnowledge, ID: "K1", Status: ledger.Captured}, ledger.Report{Type: ledger.TypeMetric, Name: "m", Value: 1.0}))
			p.do(state.ReportsReceived{Workstream: "A", Attempt: 1, Lines: 12, Refused: []state.RefusedReports{{Line: 10, More: 2, Reason: "it is not a JSON object"}}})
			p.do(start("A", 2), state.ReportsReceived{By: &by, Reports: []ledger.Report{{Type: ledger.TypeState, Key: "k", Value: "v"}}})
			p.back("R1", "one", one)
			p.back("R2", "safety-R1", again)
			p.do(state.ReportsReceived{Workstream: "A", Attempt: 1, Lines: 13, Reports: []ledger.Report{note(ledger.NoteCleanup, "", "after that")}})
		},
		"repeats": func(p *play) {
			p.build()
			p.do(state.GateFailed{Verdict: verdict(approve), Error: failed("no")}, checkpoint("one", state.TriggerManual))
			p.do(state.PhaseRepeated{Phase: "build", Iteration: 2, Reason: "approve (build) failed: no", Failures: []state.Failure{failed("no")}, Results: "sha256:r1"},
				checkpoint("two", state.TriggerIterationComplete), start("A", 2), state.WorkstreamFailed{Workstream: "A", Error: failed("broke"), Left: []state.Artifact{file("b", "")}},
				state.PhaseRepeated{Phase: "build", Iteration: 3, Reason: "A failed: broke", Failures: []state.Failure{failed("broke")}, Results: "sha256:r2"})
		},
		"expanded": func(p *play) {
			p.build()
			shape := smallShape()
			shape.Phases[1].Workstreams = []state.WorkstreamShape{{Name: `C["x"]`, Batch: 1}, {Name: `C["y"]`, Batch: 1, Gates: []string{"lint"}}}
			p.do(state.PhaseExpanded{Phase: "ship", Instances: map[string]int{"C": 2}, Shape: shape})
			p.do(start(`C["x"]`, 1), done(`C["x"]`, file("x", "")))
			shape.Phases[1].Workstreams = shape.Phases[1].Workstreams[1:]
			p.do(state.PhaseExpanded{Phase: "ship", Instances: map[string]int{"C": 1}, Shape: shape})
		},
		"protected": func(p *play) {
			made := func(attempt int, checkpoint string) state.ProtectionMade {
				return state.ProtectionMade{Workstream: "A", Attempt: attempt, Checkpoint: checkpoint, Files: 2, Savepoints: []string{"orders"}, Delete: true}
			}
			set := func(value string) state.ReportsReceived {
				return state.ReportsReceived{By: &by, Reports: []ledger.Report{{Type: ledger.TypeState, Key: "schema", Value: value}}}
			}
			due := func(want int) {
				if got := len(p.RollbacksDue()); got != want {
					p.Errorf("after commit %d, %d rollbacks are due, want %d", p.Seq, got, want)
				}
			}
			p.do(set("1"), state.PhaseStarted{Phase: "build"})
			before := p.KeyValues([]string{"schema", "none"})
			p.together(made(1, "chk_1"), start("A", 1))
			due(1)
			p.do(set("2"), state.ScopeExceeded{Workstream: "A", Attempt: 1, Paths: []state.Text{"elsewhere"}, More: 2})
			p.do(state.ProtectionRolledBack{Workstream: "A", Attempt: 1, Checkpoint: "chk_1", Reason: "it broke", Written: 1, Deleted: 1, Savepoints: []string{"orders"}, Keys: before, Left: "chk_2"},
				state.WorkstreamAttemptFailed{Workstream: "A", Attempt: 1, Error: failed("broke"), RetryInMS: 5})
			due(0)
			again := made(2, "chk_1")
			again.Again = true
			p.together(again, start("A", 2))
			p.do(done("A"))
			due(0) // its gates may pass
			p.do(state.GateFailed{Verdict: verdict(lint), Error: failed("no")})
			due(1)
			p.do(state.ProtectionRolledBack{Workstream: "A", Attempt: 2, Checkpoint: "chk_1", Reason: "lint failed"}, state.SessionFailed{Error: failed("no")}, checkpoint("one", state.TriggerFailure))
			due(0)
			p.together(made(3, "chk_3"), start("A", 3))
			p.together(state.WorkstreamFailed{Workstream: "A", Error: failed("no")}, state.ProtectionKept{Workstream: "A", Checkpoint: "chk_3", Reason: "on_failure is keep"})
			due(0)
			p.together(made(4, "chk_4"), start("A", 4))
			p.together(done("A"), state.ProtectionCommitted{Workstream: "A", Checkpoint: "chk_4"})
			of := made(1, "chk_5")
			of.Workstream = "B"
			of.Keep = true
			p.together(of, start("B", 1))
			due(1) // it may start again
			p.do(state.WorkstreamFailed{Workstream: "B", Error: failed("no")})
			due(0)
		},
		"review": func(p *play) {
			shape := smallShape()
			p.do(checkpoint("zero", state.TriggerManual))
			zero := p.Clone()
			p.do(state.ReviewStarted{Attempt: 1, Max: 2, Run: 1}, state.ReviewInterrupted{Attempt: 1}, state.ReviewStarted{Attempt: 1, Max: 2, Run: 1}, state.ReviewFailed{Attempt: 1, Error: failed("broke")}, state.ReviewStarted{Attempt: 1, Max: 2, Run: 2},
				state.ReviewJudged{Attempt: 1, Verdict: state.VerdictDoNotShip, P0: 1, Findings: []state.Finding{{Severity: state.P0, Title: "bad", File: "a.md", Line: 3}}, Definition: "d", Judged: "j"},
				state.SessionFailed{Error: failed("bad")}, checkpoint("one", state.TriggerFailure))
			p.back("R1", "zero", zero) // keeps the verdict
			p.do(state.SessionResumed{By: by, Shape: &shape}, state.ReviewOverridden{By: by, Reason: "false alarm"}, state.ReviewStarted{Attempt: 1, Max: 2, Run: 3},
				state.ReviewJudged{Attempt: 1, Verdict: state.VerdictShipWithGates, P1: 1, Findings: []state.Finding{{Severity: state.P1, Title: "limits", Command: []string{"true"}}},
					Gates: []string{"finding-1 (ship)"}, Definition: "d2", Judged: "j"},
				state.GatePassed{Verdict: verdict("finding-1 (ship)")})
		},
		"spent": func(p *play) {
			p.do(checkpoint("one", state.TriggerManual))
			one := p.Clone()
			cost := func(ws string, dollars json.Number) state.ReportsReceived {
				return state.ReportsReceived{Workstream: ws, Attempt: 1, Reports: []ledger.Report{{Type: ledger.TypeMetric, Name: ledger.MetricCostUSD, Value: dollars}}}
			}
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), cost("A", "0.25"), state.WorkstreamAttemptFailed{Workstream: "A", Attempt: 1, Error: failed("once"), RetryInMS: 5},
				start("A", 2), cost("A", "0.5"), state.WorkstreamInterrupted{Workstream: "A", Attempt: 2}, checkpoint("two", state.TriggerManual),
				state.BudgetRaised{Budget: "pipeline", From: p.Spent, By: by}, start("B", 1), cost("B", "1.25"), done("B"))
			p.back("R1", "one", one)
		},
		"rolled-back": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.GateStarted{Gate: approve, Attempt: 1}, checkpoint("one", state.TriggerManual))
			one := p.Clone()
			p.do(state.WorkstreamFailed{Workstream: "A", Error: failed("no")}, start("A", 2), state.GateStarted{Gate: lint, Attempt: 3}, checkpoint("two", state.TriggerManual), state.CheckpointDamaged{ID: "one", Reason: "gone"})
			p.back("R1", "one", one)
		},
		"rolled-back-and-forth": func(p *play) {
			p.do(checkpoint("one", state.TriggerManual))
			one := p.Clone()
			p.buildA()
			p.do(checkpoint("two", state.TriggerManual))
			p.back("R1", "one", one)
			p.do(checkpoint("three", state.TriggerManual))
			p.back("R2", "one", one)
			p.back("R3", "safety-R2", p.Clone())
		},
		"rolled-back-over-once": func(p *play) {
			p.do(checkpoint("one", state.TriggerManual))
			one := p.Clone()
			p.ship()
			p.back("R1", "one", one)
		},
		"rollback-of-files": func(p *play) {
			p.do(checkpoint("one", state.TriggerManual))
			p.buildA()
			p.do(checkpoint("two", state.TriggerManual), checkpoint("safety", state.TriggerPreRollback),
				state.RollbackStarted{ID: "R1", To: "one", ToSeq: 2, Safety: "safety", Scope: state.RollbackFiles, By: by},
				state.RollbackCompleted{ID: "R1", Skipped: []state.Text{"locked"}})
		},
		"rollback-failed": func(p *play) {
			p.do(checkpoint("one", state.TriggerManual), checkpoint("two", state.TriggerManual),
				state.RollbackStarted{ID: "R1", To: "one", ToSeq: 2, Safety: "two", Scope: state.RollbackAll, By: by}, state.RollbackFailed{ID: "R1", Error: "disk full"},
				state.RollbackStarted{ID: "R2", To: "one", ToSeq: 2, Safety: "two", Scope: state.RollbackAll, By: by})
		},
		"interrupted": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.PauseAsked{By: by, Reason: "lunch"}, state.WorkstreamInterrupted{Workstream: "A", Attempt: 1},
				state.SessionInterrupted{Signal: "SIGINT", Uncaptured: "free some space"})
		},
		"resumed": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.PauseAsked{By: by}, state.WorkstreamInterrupted{Workstream: "A", Attempt: 1}, state.SessionInterrupted{Signal: "SIGTERM", RanMS: 30},
				state.SessionResumed{Title: "A new title", Pipeline: state.FileRef{Path: "p", Digest: "sha256:p"}, Document: &state.FileRef{Path: "d"}, Git: &state.Git{Branch: "main"}, Sensitive: []string{"key"}, Variables: map[string]string{"v": "1"}, By: state.Actor{Host: "build-2"}})
		},
		"killed": func(p *play) {
			p.do(checkpoint("one", state.TriggerStart), state.SessionResumed{By: by}, state.SessionPaused{Reason: state.PauseRequested})
		},
		"adopted": func(p *play) {
			p.build()
			p.ship()
			p.do(state.HooksDue{Event: "paused", Hooks: 1}, state.GateReviewed{Gate: lint}, state.SessionAdopted{By: by})
		},
		"adopted-failure": func(p *play) {
			p.do(state.PhaseStarted{Phase: "build"}, start("A", 1), state.GateSkipped{Gate: lint, Reason: "no"}, state.SessionFailed{Error: failed("no")}, state.SessionAdopted{By: by},
				state.SessionAbandoned{By: by}, checkpoint("one", state.TriggerManual))
		},
		"adopted-rolled-back": func(p *play) {
			p.buildA()
			p.do(checkpoint("one", state.TriggerManual))
			one := p.Clone()
			p.do(state.SessionAdopted{By: by})
			p.back("R1", "one", one)
		},
		"reshaped": func(p *play) {
			p.build()
			p.ship()
			p.do(state.SessionPaused{Reason: state.PauseRequested})
			shape := smallShape()
			shape.Phases = []state.PhaseShape{{Name: "first", Workstreams: []state.WorkstreamShape{{Name: "New"}}}, shape.Phases[0]}
			shape.Phases[1].Workstreams[1].Gates = []string{"lint"}
			p.do(state.SessionResumed{Shape: &shape, By: by})
		},
		"carried-over": func(p *play) {
			p.build()
			p.do(captured("l1", 2), checkpoint("one", state.TriggerManual), state.GateApproved{Verdict: verdict(approve), By: by}, state.SessionCompleted{})
			from := p.CarryOver().WithoutHistory()
			e := small("S2")
			e.From, e.Variables = from, map[string]string{"v": "1"}
			seq := p.Seq
			p.State = &state.State{}
			p.kinds[e.Kind()] = true
			checkpointtest.Must(p.T, p.Apply(state.Commit{Seq: seq + 1, Time: time.UnixMilli(100).UTC(), Events: []state.Event{e}}))
		},
		"written": func(p *play) {
			e := small("S1")
			e.Imported = &state.Document{
				CurrentPhase: 2, Completed: []string{"A", "B", "A"}, Pending: []string{"C"}, Artifacts: map[string][]string{"A": {"a"}},
				GatesPassed: []string{"lint", approve}, Notes: state.Notes{CleanupDone: []string{"tmp"}},
			}
			p.begin(e)
		},
		"written-unjudged": func(p *play) {
			e := small("S1")
			e.Imported = &state.Document{CurrentPhase: 1, Completed: []string{"A"}, GatesPassed: []string{"lint"}, GatesPending: []string{lint}}
			p.begin(e)
		},
	}
}

// TestScenarios compares the state after each scenario, and its document, with a golden
// file. No event changes an earlier copy of the state, and the scenarios together have
// every kind of event.
func TestScenarios(t *testing.T) {
	t.Parallel()
	seen := map[state.Kind]bool{}
	for name, happens := range scenarios() {
		t.Run(name, func(t *testing.T) {
			p := &play{fold: &fold{T: t}, kinds: seen}
			p.begin(small("S1"))
			happens(p)
			got := indented(t, struct {
				State    *state.State  `json:"state"`
				Document document.File `json:"document"`
			}{p.State, document.New(p.State)})
			compareGolden(t, filepath.Join("testdata", "scenarios", name+".json"), got)
			for i, c := range p.copies {
				if diff := cmp.Diff(p.were[i], indented(t, c)); diff != "" {
					t.Errorf("the copy of commit %d has changed (-was +is):\n%s", c.Seq, diff)
				}
			}
			var whole bytes.Buffer
			checkpointtest.Must(t, state.Encode(&whole, p.State))
			plain, err := state.EncodeJSON(p.State)
			checkpointtest.Must(t, err)
			if diff := cmp.Diff(string(plain), whole.String()); diff != "" {
				t.Errorf("encoded in parts (-whole +parts):\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob("*.go")
	checkpointtest.Must(t, err)
	var kinds [][]string
	for _, file := range files {
		source, err := os.ReadFile(file)
		checkpointtest.Must(t, err)
		kinds = append(kinds, regexp.MustCompile(`(?m)^(?:const )?\s*Kind\w+ +Kind += "(.*)"`).FindAllStringSubmatch(string(source), -1)...)
	}
	if len(kinds) == 0 {
		t.Error("found no kinds of event")
	}
	for _, kind := range kinds {
		if !seen[state.Kind(kind[1])] {
			t.Errorf("no scenario has the event %s", kind[1])
		}
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		checkpointtest.Must(t, os.WriteFile(path, []byte(got), 0o644)) //nolint:gosec // a golden file
		return
	}
	want, err := os.ReadFile(path)
	checkpointtest.Must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", path, diff)
	}
}
