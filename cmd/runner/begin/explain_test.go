package begin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// TestExplain holds for each refusal of the engine what to type, and whether it is a
// mistake in the command line.
func TestExplain(t *testing.T) {
	t.Parallel()
	st := &state.State{PRD: prd, Phases: []*state.Phase{{Workstreams: []*state.Workstream{{Name: "it's w", Status: state.Completed, FilesSeq: 1, Artifacts: []state.Artifact{{Path: "out", Digest: "sha256:a"}}}}}}}
	selection := func(name string, uncertain bool) error {
		return &plan.SelectionError{Option: "--from", Name: name, Known: []string{`s["a"]`}, Uncertain: uncertain}
	}
	conflicts := []plan.Conflict{{Path: "out", Workstream: "w", Recorded: "sha256:a", Found: "sha256:b"}}
	lost := &workspace.MissingError{Missing: []workspace.Missing{{Path: "out"}}}
	other := &workspace.MissingError{Missing: []workspace.Missing{{Path: "other"}}}
	for name, test := range map[string]struct {
		err   error
		st    *state.State
		want  string // the hint
		usage bool
		said  string
	}{
		"another":                        {errors.New("no"), st, "", false, ""},
		"a selection":                    {selection("other", false), st, "", true, ""},
		"a selection without its quotes": {selection("s[a]", false), st, `did you mean --from 's["a"]'?`, true, ""},
		"a selection to resolve":         {selection("w", true), st, "`runner resolve PRD-001 w --done` or `runner resolve PRD-001 w --rerun`", true, ""},
		"a document":                     {&runner.ImportError{Err: errors.New("no")}, nil, "correct PRD-001.json, or `runner build PRD-001 --fresh` starts without it", true, ""},
		"a branch":                       {&runner.BranchGoneError{Branch: "b", Commit: "abc"}, st, "`git branch b abc` brings it back; `runner build PRD-001 --resume --on-stale proceed`", false, ""},
		"stale":                          {&runner.StaleError{Stale: plan.Stale{What: "document", Path: "doc.md"}}, st, "`runner build PRD-001 --resume --on-stale proceed` continues anyway", false, ""},
		"unkept":                         {&runner.UnkeptError{}, st, "move it away", false, ""},
		"conflicts":                      {&runner.ConflictError{Conflicts: conflicts}, st, "`runner build PRD-001 --resume --on-conflict keep` takes the files", false, "out"},
		"conflicts of a rerun":           {&runner.ConflictError{Conflicts: conflicts, Rerun: true}, st, "`runner build PRD-001 --resume --on-conflict restore` makes its files again", false, "out"},
		"lost":                           {lost, st, `runner build PRD-001 --resume --invalidate 'it'\''s w'`, false, ""},
		"lost, made by none":             {other, st, "`runner checkpoint validate PRD-001 --deep` names", false, ""},
		"lost, no session":               {lost, nil, "", false, ""},
		"obstructed":                     {&workspace.ObstructedError{}, st, "move away what is in the way, or unmount it, then `runner build PRD-001 --resume`", false, ""},
		"outdated":                       {runner.ErrPlanOutdated, st, "`runner plan PRD-001 --resume` shows what there is now", false, ""},
		"outdated, no session":           {runner.ErrPlanOutdated, nil, "`runner plan PRD-001` shows what there is now", false, ""},
		"another plan":                   {&runner.PlanDiffersError{}, st, "`runner plan PRD-001` shows what there is now", false, ""},
		"another plan to resume":         {&runner.PlanDiffersError{Resumes: true}, st, "`runner plan PRD-001 --resume` shows what there is now", false, ""},
	} {
		var stderr bytes.Buffer
		env := &cli.Environment{Stderr: show.NewScreen(&stderr), IsTerminal: func(any) bool { return false }}
		err := Explain(env, test.st, prd, func(flags string) string { return "build PRD-001" + flags }, fmt.Errorf("plan: %w", test.err))
		got := advice.Of(advice.CommandLine{}, "", err)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: hint %q, want %q", name, got, test.want)
		}
		if advice.IsA[*advice.UsageError](err) != test.usage || !errors.Is(err, test.err) || !strings.Contains(stderr.String(), test.said) || test.said == "" && stderr.Len() > 0 {
			t.Errorf("%s: it became %v, and says %q", name, err, stderr.String())
		}
	}
	var stderr bytes.Buffer
	env := &cli.Environment{Stderr: show.NewScreen(&stderr), IsTerminal: func(any) bool { return false }}
	diags := hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Bad thing", Detail: "No."}}
	if err := Explain(env, st, prd, func(string) string { return "" }, fmt.Errorf("plan: %w", diags)); !errors.Is(err, load.ErrDiagnosed) || !strings.HasPrefix(stderr.String(), "Error: Bad thing") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}
