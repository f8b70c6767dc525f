package runner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/pipeline/diagnostics"
	"prdrunner/pipeline/glob"
	"prdrunner/runner/findings"
	"prdrunner/runner/secret"
	"prdrunner/runner/survey"
)

// failures describes failed tasks and expressions to the user. It is safe for concurrent
// use.
type failures struct {
	opts   Options
	files  *workspace.Workspace
	finder func() *findings.Finder // finds errors in an output; compiled at the first failure
}

// taskFailure returns the failure of a task, made from the task's result and the end of its
// log.
func (fs *failures) taskFailure(owner, gate string, task Task, res Result) *state.Failure {
	f := &state.Failure{Workstream: owner, Gate: gate, Outcome: string(res.Outcome), Log: state.Text(filepath.Base(task.Log))}
	dir, err := filepath.Rel(task.root, task.Dir)
	if err != nil {
		dir = ""
	}
	found := fs.finder().Find(logTail(task.Log), task.root, dir)
	switch res.Outcome {
	case Exited:
		f.ExitCode = res.ExitCode
		f.File, f.Line, f.Column = state.Text(found.File), found.Line, found.Column
		f.Message = state.Text(found.Message)
		if res.ExitCode == exitNoProgram && found.File == "" {
			found = fs.missingProgram(task, dir, found)
			f.File, f.Line = state.Text(found.File), found.Line
			f.Message = state.Text("exit code 127: " + found.Message)
		} else if found.File == "" {
			f.Message = state.Text(strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", res.ExitCode, found.Message), ": "))
		}
	case Signaled:
		f.Signal = res.Signal
		f.File, f.Line, f.Column = state.Text(found.File), found.Line, found.Column
		f.Message = state.Text("ended by " + res.Signal)
	case TimedOut:
		f.Message = state.Text(fmt.Sprintf("timed out after %s", task.Timeout))
	case Cancelled:
		f.Message = "stopped with the run"
	case NotFound, NotExecutable:
		f.Message = state.Text(res.Detail)
		f.File, f.Line, f.Column = state.Text(task.Declared.File), task.Declared.Line, task.Declared.Column
	}
	f.Message = state.Text(shorten(fs.opts.Mask(string(f.Message))))
	if len(f.File) > maxMessage { // no path is that long
		f.File, f.Line, f.Column = "", 0, 0
	}
	return f
}

// executionFailure returns the failure of a task that could not be executed.
func (fs *failures) executionFailure(owner string, err error) *state.Failure {
	f := &state.Failure{Workstream: owner, Outcome: "error", Message: state.Text(fs.opts.Mask(err.Error()))}
	if file := new(pipeline.EnvFileError); errors.As(err, &file) {
		f.File, f.Line, f.Message = state.Text(file.Path), file.Line, state.Text(file.Reason)
	}
	if errors.Is(err, errNoSession) {
		f.Outcome = state.OutcomeNoSession
	}
	if unresolved := new(secret.Error); errors.As(err, &unresolved) {
		at := placeOf(unresolved.Range)
		f.File, f.Line, f.Column = state.Text(at.File), at.Line, at.Column
	}
	return f
}

// expressionFailure returns the failure for an expression that could not be evaluated.
func (fs *failures) expressionFailure(owner, gate string, diags hcl.Diagnostics) state.Failure {
	f := state.Failure{Workstream: owner, Gate: gate, Outcome: "error"}
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		f.Message = state.Text(shorten(fs.opts.Mask(d.Summary + ": " + d.Detail + fs.valuesIn(d))))
		if d.Subject != nil {
			f.File, f.Line, f.Column = state.Text(d.Subject.Filename), d.Subject.Start.Line, d.Subject.Start.Column
		}
		break
	}
	return f
}

// valuesIn names the values that an expression failed with, as an addition to the message about it:
// " (workstream.WS1.outputs.n is 5)".
func (fs *failures) valuesIn(d *hcl.Diagnostic) string {
	var all []string
	for _, v := range diagnostics.Values(d, fs.opts.Mask) {
		all = append(all, v.Traversal+" "+v.Statement)
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// exitNoProgram is the exit code of a shell that did not find the program of its last
// command.
const exitNoProgram = 127

// missingProgram explains the message of a shell that did not find a program. It adds the
// place in a file that names the program, and a similar program that the user may have
// meant.
func (fs *failures) missingProgram(task Task, dir string, found findings.Finding) findings.Finding {
	missing, ok := fs.finder().Missing(found.Message)
	if !ok {
		return found
	}
	found.File, found.Line = task.Declared.File, task.Declared.Line
	if strings.Contains(missing.Script, "/") && !filepath.IsAbs(missing.Script) { // a script in the workspace
		found.File, found.Line = findings.Relative(missing.Script, task.root, dir), missing.Line
	} else if below := found.Line + missing.Line - 1; missing.Line > 0 && below <= task.Declared.Last {
		found.Line = below
	}
	if fs.opts.SimilarProgram != nil {
		if near := fs.opts.SimilarProgram(missing.Program, task); near != "" {
			found.Message += "; did you mean " + near + "?"
		}
	}
	return found
}

// suggestPath adds a hint to the error for a missing artifact if the file exists below
// the directory in which the process ran: patterns are relative to the workspace.
func (fs *failures) suggestPath(ctx context.Context, task Task, err error) error {
	var missing *survey.UnmadeError
	dir, relErr := filepath.Rel(task.root, task.Dir)
	if !errors.As(err, &missing) || relErr != nil || dir == "." {
		return err
	}
	below := path.Join(filepath.ToSlash(dir), missing.Pattern)
	if paths, globErr := task.files.Tree().Glob(ctx, glob.Patterns([]string{below})); globErr == nil && len(paths) > 0 {
		missing.Problem += fmt.Sprintf("; did you mean %q? Patterns are relative to the workspace", below)
	}
	return err
}
