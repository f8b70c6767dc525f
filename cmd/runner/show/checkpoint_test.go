package show_test

import (
	"errors"
	"io"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// differing returns files that differ from HEAD.
func differing(n int) []state.ModifiedFile {
	files := make([]state.ModifiedFile, n)
	for i, path := range paths[state.Text](n) {
		files[i] = state.ModifiedFile{Path: path, Status: git.FileModified}
	}
	return files
}

// TestCheckpointAnswers compares how checkpoints are shown and listed with a file in
// testdata.
func TestCheckpointAnswers(t *testing.T) {
	t.Parallel()
	st := session(state.StatusPaused)
	st.Metrics = map[string]state.Metric{"coverage": {Value: 80.5}}
	st.Error = &state.Failure{Workstream: "WS2", Message: "no"}
	st.BeganFrom = &state.Predecessor{Session: "s0", At: at(0)}
	st.Capture = capture(10, 3)
	st.Capture.Commit, st.Capture.Ref = "shadow", "refs/runner/x"
	first := st.Phases[0].Workstreams[0]
	first.Outputs, first.Artifacts, first.Session = map[string]state.Text{"b": "2", "a": "1"}, []state.Artifact{{Path: "out"}}, "0123456789abcdef"
	first.Gates = []*state.Gate{{Status: state.Passed}, {Status: state.Passed}}
	second := st.Phases[1].Workstreams[0]
	second.Outputs, second.Status, second.RetryAt = map[string]state.Text{"stale": "1"}, state.Running, pointer(at(9))
	st.Phases[1].Gates = []*state.Gate{{Status: state.Waiting}}
	bare := &rollback.Inspection{Inspection: validate.Inspection{
		Check: validate.CheckpointCheck{Ref: ref("C1", 0, ""), File: validate.FoundNone, Objects: validate.FoundUnknown},
		File:  &disk.CheckpointFile{ID: "C1", PRD: "PRD-009", Session: "s1", CreatedAt: at(1), Trigger: state.TriggerStart, State: &state.State{}},
	}}
	full := &rollback.Inspection{
		Inspection: validate.Inspection{
			Check: validate.CheckpointCheck{
				Ref: ref("C1", 1, "WS1"), Current: true, File: validate.FoundOK, Objects: validate.FoundBad, Checksum: "sha256:c",
				Problems: []string{"out is lost"}, Notes: []string{"git keeps it"},
			},
			File: &disk.CheckpointFile{
				ID: "C1", PRD: "PRD-009", Session: "s1", Seq: 10, Phase: "database", CreatedAt: at(1), Trigger: state.TriggerManual, Reason: "before\nlunch", State: st,
				Files: state.Files{Created: paths[state.Text](21), Modified: paths[state.Text](20)}, Git: &state.Git{Branch: "main", Commit: "abc"},
				Recovery: disk.Recovery{
					CanResume: true, ResumeFrom: "WS2", Checked: []disk.Prerequisite{{Check: "files captured", Met: true}, {Check: "no gate waits for a person", Detail: "sign-off"}}, Warnings: []string{"a gate waits"},
				},
				Modified: append([]state.ModifiedFile{{Path: "a\n\xff", Status: git.FileAdded, Staged: true}}, differing(20)...), Omitted: 3,
			},
			LeftOut: []string{"secret"}, Unstable: []string{"log"}, Special: []string{"pipe"},
		},
		Earlier: &rollback.EarlierState{Seq: 5, Again: []*state.Workstream{{Name: "WS1"}}, Reason: "a is gone"},
	}
	full.Check.Ref.Pinned, full.Check.Ref.Uncaptured = true, true
	one := func(name string, damage *state.Damage, invalidatedBy string, unread error, problems ...string) *rollback.Inspection {
		found := &rollback.Inspection{Inspection: validate.Inspection{
			Check: validate.CheckpointCheck{Ref: ref("C1", 1, name), File: validate.FoundBad, Objects: validate.FoundOK, Problems: problems, Unread: unread},
			File:  &disk.CheckpointFile{ID: "C1", PRD: "PRD-009", State: &state.State{Capture: capture(10, 1)}, Git: &state.Git{}},
		}}
		found.Check.Ref.Damage, found.Check.Ref.InvalidatedBy, found.Check.Ref.Valid = damage, invalidatedBy, damage == nil && invalidatedBy == ""
		return found
	}
	clean := one("e", nil, "", nil)
	clean.File.Modified = []state.ModifiedFile{}
	damaged := one("a", &state.Damage{At: at(3), Reason: "out is lost"}, "", nil)
	discarded := one("b", nil, "R1", nil)
	newer := one("c", nil, "", errors.New("a newer version wrote it"), "a newer version wrote it")
	refused := one("d", nil, "", nil)
	refused.EarlierGone = &rollback.EarlierGoneError{To: "C1", Seq: 5, Reason: "a is gone", Nearest: "C0", Err: errors.New("lost")}

	withCapture := ref("C5", 2, "WS2")
	withCapture.Capture, withCapture.Git = capture(20, 7), &state.Git{Commit: "abc"}
	notCaptured := info.NewNotCaptured([]string{"secret"}, []string{"log"}, []string{"pipe"})

	shown := func(name string, found *rollback.Inspection) answer {
		return answer{name, func(w io.Writer) error { return show.Checkpoint(w, cmdline, at(20), found) }}
	}
	created := func(name string, c *state.CheckpointRef, byRun bool, without info.NotCaptured, kept ...string) answer {
		return answer{name, func(w io.Writer) error { return show.Created(w, c, byRun, without, kept) }}
	}
	answers := []answer{
		shown("bare", bare), asJSON("bare", info.NewCheckpointReport(bare)), shown("full", full), asJSON("full", info.NewCheckpointReport(full)),
		shown("damaged", damaged), asJSON("damaged", info.NewCheckpointReport(damaged)), shown("discarded", discarded), shown("of a newer version", newer),
		shown("clean", clean), shown("refused", refused), asJSON("refused", info.NewCheckpointReport(refused)),
		created("created", ref("C5", 2, "WS2"), false, info.NotCaptured{}),
		created("created by a run", withCapture, true, notCaptured, "C4"), created("created with files", withCapture, false, notCaptured),
		asJSON("created", info.NewCreatedReport("PRD-009", withCapture, notCaptured, []string{"C4"})),
	}
	compareAnswers(t, "checkpoint.txt", answers)
}

// TestListAnswers compares lists of checkpoints with a file in testdata.
func TestListAnswers(t *testing.T) {
	t.Parallel()
	empty := session(state.StatusPaused)
	emptied := session(state.StatusComplete)
	emptied.EmptiedSeq = 7
	st := session(state.StatusPaused)
	st.Type, st.Current, st.Rollback = "feature", "C2", &state.RollbackStarted{To: "C1"}
	st.Checkpoints = []*state.CheckpointRef{ref("C1", 1, "WS1"), ref("C2", 2, "WS2"), ref("C3", 3, ""), ref("C4", 4, ""), ref("C5", 5, "")}
	st.Checkpoints[0].Created, st.Checkpoints[0].Pinned, st.Checkpoints[0].Capture = 2, true, capture(10, 1)
	st.Checkpoints[2].InvalidatedBy, st.Checkpoints[2].Valid, st.Checkpoints[2].Uncaptured = "R1", false, true
	st.Checkpoints[3].Damage, st.Checkpoints[3].Valid, st.Checkpoints[3].Modified = &state.Damage{}, false, 1
	st.Checkpoints[4].Behind, st.Checkpoints[4].Capture = 2, capture(10, 1)
	st.Rollbacks = []state.RollbackRecord{
		{At: at(6), FromStep: 3, ToStep: 1, To: "C1", Scope: state.RollbackAll},
		{At: at(7), FromStep: 3, ToStep: 1, To: "C1", Scope: state.RollbackFiles, Reason: "why", Error: "failed"},
	}
	archived := session(state.StatusFailed)
	archived.Checkpoints = []*state.CheckpointRef{ref("C0", 1, "WS1")}
	single := session(state.StatusPaused)
	single.Checkpoints, single.Current = []*state.CheckpointRef{ref("C1", 1, "WS1")}, "C1"
	current := func(st *state.State) reader.StoredSession {
		return reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceCurrent, Dir: "/ws/.runner/PRD-009", State: st}
	}
	old := reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceFailed, Dir: "/ws/.runner/failed/x", State: archived}
	unread := reader.StoredSession{PRD: "PRD-010", Place: disk.PlaceCurrent, Dir: "/ws/.runner/PRD-010", Err: errors.New("damaged: `runner checkpoint validate`")}
	list := func(name string, commands bool, sessions ...reader.StoredSession) answer {
		return answer{name, func(w io.Writer) error {
			return show.Checkpoints(w, cmdline, sessions, show.ListOptions{Now: at(20), Commands: commands})
		}}
	}
	compareAnswers(t, "list.txt", []answer{
		list("none", true, current(empty)), list("none any more", true, current(emptied)),
		list("one", true, current(single)), inColour(list("several", true, current(st))), {"larger than the screen", func(w io.Writer) error {
			return show.Checkpoints(w, cmdline, []reader.StoredSession{current(st)}, show.ListOptions{Now: at(20), Rows: 13})
		}}, list("several, of several sessions", true, current(st), old, unread), list("for no person", false, current(st)),
		asJSON("one", info.NewListReport(cmdline, []reader.StoredSession{current(single)})),
		asJSON("of one PRD", info.NewListReport(cmdline, []reader.StoredSession{current(empty), old})),
		asJSON("of several PRDs", info.NewListReport(cmdline, []reader.StoredSession{current(empty), unread})),
		asJSON("nothing", info.NewListReport(cmdline, nil)),
	})
}
