package runner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/survey"
)

// exitNoProgram is the exit code of a shell that did not find the program of its last
// command.
const exitNoProgram = 127

// missingProgram explains the message of a shell that did not find a program. It adds the
// place that names the program, and a similar program that the user may have meant.
func (l *loop) missingProgram(task Task, dir string, found findings.Finding) findings.Finding {
	missing, ok := l.finder().Missing(found.Message)
	if !ok {
		return found
	}
	found.File, found.Line = task.Declared.File, task.Declared.Line
	if strings.Contains(missing.Script, "/") && !filepath.IsAbs(missing.Script) { // a script in the workspace
		found.File, found.Line = findings.Relative(missing.Script, l.o.Workspace, dir), missing.Line
	} else if below := found.Line + missing.Line - 1; missing.Line > 0 && below <= task.Declared.Last {
		found.Line = below
	}
	if l.o.SimilarProgram != nil {
		if near := l.o.SimilarProgram(missing.Program, task); near != "" {
			found.Message += "; did you mean " + near + "?"
		}
	}
	return found
}

// meantBelow adds a hint to the error for a missing artifact if the file exists below the
// directory in which the process ran, since patterns are relative to the workspace.
func (l *loop) meantBelow(ctx context.Context, task Task, err error) error {
	var missing *survey.UnmadeError
	dir, relErr := filepath.Rel(l.o.Workspace, task.Dir)
	if !errors.As(err, &missing) || relErr != nil || dir == "." {
		return err
	}
	below := path.Join(filepath.ToSlash(dir), missing.Pattern)
	if paths, globErr := l.files.Tree().Glob(ctx, pipeline.Patterns([]string{below})); globErr == nil && len(paths) > 0 {
		missing.Problem += fmt.Sprintf("; did you mean %q? Patterns are relative to the workspace", below)
	}
	return err
}
