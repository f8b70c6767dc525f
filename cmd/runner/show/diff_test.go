package show_test

import (
	"io"
	"testing"
	"time"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestDiffAnswers compares how differences are shown with a file in testdata.
func TestDiffAnswers(t *testing.T) {
	t.Parallel()
	from := compare.Point{Name: "C1", Step: 1, StepName: "WS1", At: at(1), FilesAt: pointer(at(0))}
	to := compare.Point{Name: "now", Step: 2, At: at(2), FilesAt: pointer(at(2).Add(-time.Second))}
	same := &compare.Comparison{From: from, To: compare.Point{Name: compare.PointWorkspace}}
	full := &compare.Comparison{
		From: from, To: to,
		State:  []compare.ValueChange{{Name: "status", From: "paused", To: "failed"}, {Name: "error", To: "no\nmore"}},
		Phases: []compare.StepChange{{Name: "database", To: state.Running}},
		Workstreams: []compare.StepChange{
			{Name: "WS1", From: state.Completed, To: state.Completed, Changed: []string{"inputs", "env"}},
			{Name: "WS2", From: state.Pending, ToAttempts: 1, FromAttempts: 2},
		},
		Gates:   []compare.StepChange{{Name: "lint (WS1)", From: state.Passed, To: state.Failed}},
		Metrics: []compare.ValueChange{{Name: "coverage", From: 80, To: nil}},
		Outputs: []compare.ValueChange{{Name: "WS1.url", From: "a", To: "b"}},
		Artifacts: []compare.ArtifactChange{
			{Workstream: "WS2", Kind: workspace.Added}, {Workstream: "WS1", Kind: workspace.Deleted}, {Workstream: "WS1", Kind: workspace.Modified}, {Workstream: "WS2", Kind: workspace.Added},
		},
		Files: []compare.FileChange{
			{Path: "a", Kind: workspace.Added, Added: 3, Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-x\x1b\n+y\n z\n"},
			{Path: "d", Kind: workspace.Deleted, Deleted: 4}, {Path: "m", Kind: workspace.Modified, Mode: "0644 → 0755", Note: "binary"},
		},
		NotInFrom: paths[state.Text](11), NotInTo: paths[state.Text](10), OnlyArtifacts: true,
		Git: &compare.GitChange{Commits: []compare.GitCommit{{Commit: "0123456789ab", Subject: "one"}}, Gone: []compare.GitCommit{{Commit: "short", Subject: "two"}, {Commit: "s", Subject: "three"}}},
	}
	gone := &compare.Comparison{From: from, To: to, Metrics: full.Metrics, Git: &compare.GitChange{Gone: full.Git.Gone}}
	noted := &compare.Comparison{From: from, To: to, Metrics: full.Metrics, OnlyArtifacts: true, Git: &compare.GitChange{Note: "the commit is gone"}}
	noCommits := &compare.Comparison{From: from, To: to, Artifacts: full.Artifacts, OnlyArtifacts: true, Git: &compare.GitChange{}}
	noGit := &compare.Comparison{From: from, To: to, State: full.State}
	diff := func(name string, c *compare.Comparison, stat, color bool) answer {
		a := answer{name, func(w io.Writer) error { return show.Diff(w, c, stat) }}
		if color {
			return inColour(a)
		}
		return a
	}
	compareAnswers(t, "diff.txt", []answer{
		diff("same", same, false, false), asJSON("same", info.NewDiffReport(same)), diff("everything", full, false, false), diff("in colour", full, false, true),
		diff("commits gone", gone, false, false), diff("a note on git", noted, false, false), diff("without commits", noCommits, false, false), diff("counted", gone, true, false),
		diff("counted without git", noGit, true, false),
	})
}
