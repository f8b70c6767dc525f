package show_test

import (
	"errors"
	"io"
	"testing"

	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

func modified(path string) workspace.Change {
	return workspace.Change{Path: path, Kind: workspace.Modified, From: &workspace.Entry{Path: path}, To: &workspace.Entry{Path: path}}
}

// TestRollbackAnswers compares what a rollback would do, and what it did, with a file in
// testdata.
func TestRollbackAnswers(t *testing.T) {
	t.Parallel()
	plain1 := &rollback.Plan{Target: ref("C1", 1, "WS1"), Step: 2, Scope: state.RollbackAll, FilesOf: capture(10, 3)}
	full := &rollback.Plan{
		Target: ref("C1", 1, "WS1"), Current: ref("C2", 2, "WS2"), PassedOver: []string{"C3"}, Step: 2, Scope: state.RollbackAll, Undoes: "R1",
		Earlier:  &rollback.EarlierState{Seq: 5, At: at(0), Step: 0, Again: []*state.Workstream{{Name: "WS1", Title: "Database Layer"}, {Name: "WS9"}}, Reason: "a is gone"},
		Discards: []*state.Workstream{{Name: "WS2", Step: 2}}, Invalidates: []string{"C2", "C3"}, Uncertain: []string{"deploy"},
		FilesOf: capture(5, 3), Changes: []workspace.Change{
			modified(".gitignore"),
			{Path: "new", Kind: workspace.Deleted, From: &workspace.Entry{}}, {Path: "old", Kind: workspace.Added, To: &workspace.Entry{}},
		},
		Missing: []workspace.Missing{{Path: "m", Reason: "its bytes are lost"}}, Obstacles: []workspace.Obstacle{{Path: "o", Reason: "o/x is in the way"}},
		Losses:    []rollback.Loss{{PRD: "PRD-010", Status: state.StatusInProgress, Files: paths[state.Text](6)}, {PRD: "PRD-011", Status: state.StatusComplete, Files: paths[state.Text](5)}},
		Untouched: rollback.Untouched{LeftOut: []string{"secret"}, Unstable: []string{"log"}, Special: []string{"pipe"}, Sparse: []string{"apart"}},
		Git:       &rollback.GitReset{Branch: "main", From: "fromcommit12", To: "tocommit1234", Discard: []git.LogEntry{{Commit: "0123456789ab", Subject: "later"}}, Pushed: []string{"0123456789ab"}},
		Branch:    "other",
		Finish:    &rollback.FinishPlan{RollbackStarted: state.RollbackStarted{To: "C0"}, Edited: paths[string](21), Moved: &rollback.HeadMovedError{To: "C0", Branch: "main", On: "x"}},
	}
	full.Target.Capture = capture(10, 3)
	filesOnly := &rollback.Plan{Target: ref("C1", 1, ""), Step: 1, Scope: state.RollbackFiles, Git: &rollback.GitReset{To: "short", Absent: true}, Branch: "main"}
	filesOnly.Target.Git = &state.Git{}
	for range 21 {
		filesOnly.Changes = append(filesOnly.Changes, modified("same"))
	}
	stateOnly := &rollback.Plan{Target: ref("C1", 1, "WS1"), Step: 1, Scope: state.RollbackState}
	uncaptured := &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: state.RollbackAll, FilesOf: capture(5, 3)}
	uncaptured.Target.Uncaptured = true
	many := &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: state.RollbackAll, FilesOf: capture(10, 3), Git: &rollback.GitReset{From: "a", To: "b"}}
	many.Target.Capture = capture(10, 3)
	for range 21 {
		many.Git.Discard = append(many.Git.Discard, git.LogEntry{Commit: "c", Subject: "s"})
	}
	deleted := &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: state.RollbackAll, FilesOf: capture(10, 3), Changes: []workspace.Change{{Path: "new", Kind: workspace.Deleted, From: &workspace.Entry{}}}}
	rules := &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: state.RollbackAll, FilesOf: capture(10, 3), Changes: []workspace.Change{modified(".gitignore")}}

	own := &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: state.RollbackAll, FilesOf: capture(10, 3)}
	own.Target.Capture, own.FilesOf.At = own.FilesOf, at(0)

	st := session(state.StatusPaused)
	done := &rollback.Result{RollbackRecord: state.RollbackRecord{To: "C1", Safety: "C4", Scope: state.RollbackAll}, Written: 2, Deleted: 1, Invalidated: []string{"C2"}}
	more := &rollback.Result{
		RollbackRecord: state.RollbackRecord{To: "C1", Safety: "C4", Scope: state.RollbackAll, StateSeq: 5, Skipped: []state.Text{"gone"}},
		Losses:         full.Losses, Untouched: full.Untouched, Again: []string{"WS1", "WS9"}, Absent: "0123456789ab",
	}
	of := func(scope state.RollbackScope) *rollback.Result {
		return &rollback.Result{RollbackRecord: state.RollbackRecord{To: "C1", Safety: "C4", Scope: scope}}
	}
	failed := &rollback.Error{To: "C1", Undone: true, Step: 1, Err: errors.New("disk full")}
	mixed := &rollback.Error{To: "C1", Step: 1, Commit: "abc", Status: " M a\n M b\n", Err: &workspace.MissingError{}, UndoFail: errors.New("disk full")}

	preview := func(name string, plan *rollback.Plan) answer {
		return answer{name, func(w io.Writer) error { return show.RollbackPreview(w, "PRD-009", plan) }}
	}
	rolledBack := func(name string, result *rollback.Result) answer {
		return answer{name, func(w io.Writer) error { return show.RolledBack(w, cmdline, " --var a=b", st, result) }}
	}
	compareAnswers(t, "rollback.txt", []answer{
		preview("planned", plain1), asJSON("planned", info.NewRollbackPreviewReport("PRD-009", plain1)),
		preview("planned, with everything", full), asJSON("planned, with everything", info.NewRollbackPreviewReport("PRD-009", full)),
		preview("planned, files only", filesOnly), asJSON("planned, files only", info.NewRollbackPreviewReport("PRD-009", filesOnly)),
		preview("planned, state only", stateOnly),
		preview("planned, its files could not be captured", uncaptured),
		preview("planned, many commits", many), preview("planned, its own files", own),
		preview("planned, deletes only", deleted), preview("planned, rules only", rules),
		rolledBack("done", done), asJSON("done", info.NewRollbackReport("PRD-009", st, done)),
		rolledBack("done, with everything", more), asJSON("done, with everything", info.NewRollbackReport("PRD-009", st, more)),
		rolledBack("done, files only", of(state.RollbackFiles)), rolledBack("done, state only", of(state.RollbackState)),
		{"failed", func(w io.Writer) error { return show.RollbackFailed(w, cmdline, "", st, failed) }},
		{"failed, and could not be undone", func(w io.Writer) error { return show.RollbackFailed(w, cmdline, "", st, mixed) }},
	})
}
