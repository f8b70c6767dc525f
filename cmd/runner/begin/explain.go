package begin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// decideConflict returns the command that resumes with a decision about edited artifacts.
func decideConflict(resume, choice string) string {
	return "`runner " + resume + " --on-conflict " + choice + "`"
}

// Explain converts an error of the engine for the command line. It prints diagnostics
// about expressions that can't be evaluated. To an error that waits for a decision it adds
// the flag that makes the decision.
func Explain(env *cli.Environment, st *state.State, prd string, command func(flags string) string, err error) error {
	var missing *workspace.MissingError
	var diags hcl.Diagnostics
	var selection *plan.SelectionError
	var conflict *runner.ConflictError
	var gone *runner.BranchGoneError
	var stale *runner.StaleError
	var differs *runner.PlanDiffersError
	resume := command(" --resume")
	switch {
	case errors.As(err, &diags):
		return errors.Join(env.PrintDiagnostics(nil, diags), load.ErrDiagnosed)
	case errors.As(err, &selection) && selection.Uncertain:
		return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner resolve %[1]s %[2]s --done` or `runner resolve %[1]s %[2]s --rerun`", prd, text.ShellWord(selection.Name)))
	case errors.As(err, &selection):
		if near := words.Nearest(selection.Name, selection.Known); near != "" { // the shell may have removed quotes
			return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("did you mean %s %s?", selection.Option, text.ShellWord(near)))
		}
		return &advice.UsageError{Err: err}
	case advice.IsA[*runner.ImportError](err):
		return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("correct %s.json, or `runner %s` starts without it", prd, command(" --fresh")))
	case errors.As(err, &gone):
		return advice.With(err, fmt.Sprintf("`git branch %s %s` brings it back; `runner %s --on-stale proceed` continues without it, `runner %s` starts over",
			text.ShellWord(gone.Branch), gone.Commit, resume, command(" --fresh")))
	case errors.As(err, &stale):
		if stale.Stale.Difference != "" {
			err = errors.Join(err, view.WriteStale(env.Stderr.Raw, stale.Stale, view.NewPage(env.Color(env.Stderr), env.Neutral)))
		}
		if st == nil {
			resume = command("")
		}
		return advice.With(err, fmt.Sprintf("`runner %s --on-stale proceed` continues anyway", resume))
	case advice.IsA[*runner.UnkeptError](err):
		return advice.With(err, "move it away; what is missing is restored, or made again")
	case errors.As(err, &conflict) && conflict.Rerun:
		err = errors.Join(err, view.WriteConflicts(env.Stderr.Raw, conflict.Conflicts, view.NewPage(env.Color(env.Stderr), env.Neutral)))
		return advice.With(err, decideConflict(resume, "restore")+" makes its files again, and a checkpoint keeps the edit")
	case errors.As(err, &conflict):
		err = errors.Join(err, view.WriteConflicts(env.Stderr.Raw, conflict.Conflicts, view.NewPage(env.Color(env.Stderr), env.Neutral)))
		return advice.With(err, decideConflict(resume, "keep")+" takes the files as they are, "+decideConflict(resume, "restore")+" puts them back as they were")
	case errors.As(err, &missing):
		return makeAgain(st, missing, resume, err)
	case advice.IsA[*workspace.ObstructedError](err):
		return advice.With(err, fmt.Sprintf("move away what is in the way, or unmount it, then `runner %s`", resume))
	case errors.Is(err, runner.ErrPlanOutdated):
		if st == nil || errors.As(err, &differs) && !differs.Resumes {
			resume = command("")
		}
		return advice.With(err, fmt.Sprintf("`runner %s` shows what there is now", "plan"+strings.TrimPrefix(resume, "build")))
	}
	return err
}

// makeAgain adds to the error about files that can't be restored the command that runs the
// workstreams which made them.
func makeAgain(st *state.State, missing *workspace.MissingError, resume string, err error) error {
	if st == nil {
		return err
	}
	var paths []string
	for _, m := range missing.Missing {
		paths = append(paths, m.Path)
	}
	makers := st.MakersOf(paths)
	if len(makers) == 0 {
		return advice.With(err, fmt.Sprintf("`runner checkpoint validate %s --deep` names the checkpoints that have it", st.PRD))
	}
	command := resume
	for _, name := range makers {
		command += " --invalidate " + text.ShellWord(name)
	}
	return advice.With(err, fmt.Sprintf("`runner %s` makes it again", command))
}
