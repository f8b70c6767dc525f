package plan_test

import (
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// TestFactsMerge: facts about some workstreams replace those that were gathered earlier.
func TestFactsMerge(t *testing.T) {
	t.Parallel()
	f, found := plan.NewFacts(nil), plan.NewFacts(&state.State{Seq: 7})
	if f.Seq != 0 || found.Seq != 7 {
		t.Errorf("facts of the commits %d and %d", f.Seq, found.Seq)
	}
	f.Conflicts["a"] = []plan.Conflict{{Path: "old"}}
	f.Conflicts["b"] = []plan.Conflict{{Path: "kept"}}
	found.Inputs["a"] = plan.FileSet{Sum: "new"}
	found.Makers["a"] = []string{"maker"}
	f.Merge(found)
	if f.Inputs["a"].Sum != "new" || len(f.Conflicts["a"]) != 0 || len(f.Conflicts["b"]) != 1 || !slices.Equal(f.Makers["a"], []string{"maker"}) {
		t.Errorf("got %+v", f)
	}
	g := &pipeline.Gate{Name: "lint", Workstream: &pipeline.Workstream{Name: "a"}}
	found.Judging["lint (a)"] = plan.FileSet{Sum: "judged"}
	if f.MergeJudged(g, found); f.Judging["lint (a)"].Sum != "judged" {
		t.Errorf("got %+v", f.Judging)
	}
}

// TestDeclaresFiles: a gate itself or its workstreams declare the files that the gate
// judges.
func TestDeclaresFiles(t *testing.T) {
	t.Parallel()
	s := newSession(t, `
phase "one" {
  workstream "a" {
    inputs = ["in"]
    script = "a"
    gate "own" {
      inputs  = ["extra"]
      command = ["own"]
    }
    gate "of-a" { command = ["of-a"] }
  }
  workstream "b" {
    artifacts = ["out"]
    script    = "b"
  }
  gate "of-one" { command = ["of-one"] }
}
phase "two" {
  workstream "c" {
    script = "c"
    gate "of-c" { command = ["of-c"] }
  }
  workstream "d" {
    inputs = ["in"]
    script = "d"
  }
  gate "of-two" { command = ["of-two"] }
}
`)
	for label, want := range map[string]struct {
		declares bool
		files    string
	}{
		"own (a)":      {true, "extra"},
		"of-a (a)":     {true, "in"},
		"of-one (one)": {true, "in out"},
		"of-c (c)":     {false, ""},
		"of-two (two)": {false, "in"},
	} {
		g := s.p.Gate(label)
		if got := plan.DeclaresFiles(g); got != want.declares {
			t.Errorf("%s declares files: %t", label, got)
		}
		files := slices.DeleteFunc(plan.JudgedFiles(g), func(pattern string) bool { return strings.HasSuffix(pattern, "/**") })
		if got := strings.Join(files, " "); got != want.files {
			t.Errorf("%s judges %q, want %q", label, got, want.files)
		}
	}
}

// TestChangedModes: the plan names the modes of an input of which nothing else changed.
func TestChangedModes(t *testing.T) {
	t.Parallel()
	s := newSession(t, chain)
	for i := range state.MaxInline + 1 {
		s.write("src/"+strings.Repeat("x", i+1), "1")
	}
	s.build()
	s.write("src/x", "executable")
	s.adjust = func(f *plan.Facts) {
		f.ChangedFiles = []workspace.Change{{
			Path: "src/x", Kind: workspace.Modified,
			From: &workspace.Entry{Mode: 0o644, Digest: "1"}, To: &workspace.Entry{Mode: 0o755, Digest: "1"},
		}, {
			Path: "src/y", Kind: workspace.Added, To: &workspace.Entry{Digest: "2"},
		}, {
			Path: "src/z", Kind: workspace.Deleted, From: &workspace.Entry{Digest: "3"},
		}}
	}
	got := s.plan().Phases[0].Steps[0].Changes
	want := []plan.Change{
		{Component: "inputs", Name: "src/x", Old: "mode 0644", New: "mode 0755"},
		{Component: "inputs", Name: "src/y", New: "2"},
		{Component: "inputs", Name: "src/z", Old: "3"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestDescribeLinksOut(t *testing.T) {
	t.Parallel()
	links := strings.Split("abcdefghijk", "")
	for n, want := range map[int]string{
		1:  "a is a link that leads out of the workspace: what is behind it counts as not there",
		2:  "a, b are links that lead out of the workspace: what is behind them counts as not there",
		10: "a, b, c, d, e, f, g, h, i, j are links that lead out of the workspace: what is behind them counts as not there",
		11: "a, b, c, d, e, f, g, h, i, j and 1 more are links that lead out of the workspace: what is behind them counts as not there",
	} {
		if got := plan.DescribeLinksOut(links[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
