package runner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"prdrunner/pipeline"
)

// exitNoProgram is how a shell ends that does not find the program of its last
// command.
const exitNoProgram = 127

// missingProgram explains what a shell says of a program that it did not find:
// where the pipeline names it, and which one may have been meant.
func (l *loop) missingProgram(task Task, dir string, found finding) finding {
	m := match(l.shapes().missing, found.message)
	if m == nil {
		return found
	}
	name, who := m["name"]+m["zsh"], m["who"]
	line, _ := strconv.Atoi(m["line"])
	found.file, found.line = task.Declared.File, task.Declared.Line
	if strings.Contains(who, "/") && !filepath.IsAbs(who) { // a script that the workspace has
		found.file, found.line = relative(who, l.o.Workspace, dir), line
	} else if below := found.line + line - 1; line > 0 && below <= task.Declared.Last {
		found.line = below
	}
	if l.o.SimilarProgram != nil {
		if near := l.o.SimilarProgram(name, task); near != "" {
			found.message += "; did you mean " + near + "?"
		}
	}
	return found
}

// meantBelow adds to what is wrong with an artifact that there is one below the
// directory in which the process ran: patterns are relative to the workspace.
func (l *loop) meantBelow(ctx context.Context, task Task, err error) error {
	var missing *unmadeError
	dir, relErr := filepath.Rel(l.o.Workspace, task.Dir)
	if !errors.As(err, &missing) || relErr != nil || dir == "." {
		return err
	}
	below := path.Join(filepath.ToSlash(dir), missing.pattern)
	if paths, globErr := l.sv.files.Glob(ctx, pipeline.Patterns([]string{below})); globErr == nil && len(paths) > 0 {
		missing.problem += fmt.Sprintf("; did you mean %q? Patterns are relative to the workspace", below)
	}
	return err
}
