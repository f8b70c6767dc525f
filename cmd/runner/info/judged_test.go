package info

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/mask"
)

// TestFilesSince: counts are only claimed of what was compared.
func TestFilesSince(t *testing.T) {
	t.Parallel()
	point := compare.Point{ID: "CP-1"}
	change := func(kind workspace.ChangeKind, added, deleted int) compare.FileChange {
		return compare.FileChange{Path: "f", Kind: kind, Added: added, Deleted: deleted}
	}
	for _, tt := range []struct {
		files FilesSince
		want  string
	}{
		{FilesSince{}, "not known what changed: there is nothing to compare with"},
		{FilesSince{Unknown: "it is damaged"}, "not known what changed: it is damaged"},
		{NewFilesSince(&compare.Comparison{From: point}, "before two began"), "no changes since CP-1 (before two began)"},
		{NewFilesSince(&compare.Comparison{From: point, Files: []compare.FileChange{
			change(workspace.Added, 2, 0), change(workspace.Modified, 1, 1), change(workspace.Modified, 0, 0), change(workspace.Deleted, 0, 7),
		}}, "before two began"), "1 added, 2 modified, 1 deleted, +3 −8 lines since CP-1 (before two began)"},
		{NewFilesSince(&compare.Comparison{From: point, Files: []compare.FileChange{change(workspace.Modified, 0, 0)}}, "before two began"), "1 modified since CP-1 (before two began)"},
		{NewFilesSince(&compare.Comparison{From: point, OnlyArtifacts: true, NotInFrom: []state.Text{"a"}, NotInTo: []state.Text{"b"}}, "before two began"),
			"no changes since CP-1 (before two began), which has no capture: only recorded artifacts are compared; 2 files not captured there or here, and not compared"},
	} {
		if got := tt.files.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestJudgedOfAPhase: a gate of a phase judges all its workstreams; one of a workstream, only that.
func TestJudgedOfAPhase(t *testing.T) {
	t.Parallel()
	st := &state.State{
		Metrics: map[string]state.Metric{
			"coverage": {Value: json.Number("91"), Workstream: "WS2"}, "key": {Value: "a" + mask.Replacement, Workstream: "WS2"},
			"taken": {Value: true, Workstream: "elsewhere"},
		},
		Baseline: map[string]state.Metric{"coverage": {Value: json.Number("84.5")}},
		Phases: []*state.Phase{{Name: "two", Workstreams: []*state.Workstream{
			{Name: "WS1", Status: state.Completed, Gates: []*state.Gate{{Label: "lint (WS1)", Status: state.Passed}, {Label: "style (WS1)", Status: state.Failed}}},
			{Name: "WS2", Status: state.Completed, Metrics: []string{"coverage", "key", "taken"}, Gates: []*state.Gate{{Label: "look (WS2)", Status: state.Waiting}}},
		}, Gates: []*state.Gate{{Label: "sign-off (two)", Status: state.Waiting}, {Label: "smoke (two)", Status: state.Skipped}}}},
	}
	const metrics = "coverage 91 (84.5 in the last complete session), key (sensitive)"
	for gate, want := range map[string][2]string{
		"sign-off (two)": {metrics, "style (WS1) failed, look (WS2) waiting, smoke (two) skipped, lint (WS1) passed"},
		"look (WS2)":     {metrics, ""},
		"lint (WS1)":     {"", "style (WS1) failed"},
	} {
		j := NewJudged(st, st.Gate(gate), FilesSince{})
		gates, _ := j.gatesText()
		if diff := cmp.Diff(want, [2]string{j.metricsText(), gates}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", gate, diff)
		}
	}
}
