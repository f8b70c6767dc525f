// Package query runs the processes that Runner itself asks for a text: the one that prints
// the issue of a pipeline, and those that print secrets.
//
// Such a process is no task: it has no log, and nothing of it is recorded. What its output
// means is decided by the caller. Begin with Querier.Output.
package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/pipeline"
)

// Querier runs processes of a pipeline.
type Querier struct {
	PRD       string
	Files     *workspace.Workspace
	Workspace string                        // absolute
	Commander git.Commander                 // runs the processes
	Hide      func([]pipeline.Secret) error // hides sensitive values from now on
}

// Output returns what a process prints on standard output, also if it fails. More bytes than
// limit are an error. Callers must mask the error, which has the end of standard error.
func (q Querier) Output(ctx context.Context, inv pipeline.Invocation, timeout time.Duration, limit int) ([]byte, error) {
	program := inv.Command[0]
	if inv.EnvFileError != nil {
		return nil, fmt.Errorf("%s was not run: %w", program, inv.EnvFileError)
	}
	if err := q.Hide(inv.Hidden); err != nil {
		return nil, err
	}
	if link, to := q.Files.Tree().LinkOut(filepath.ToSlash(inv.Dir)); link != "" {
		return nil, fmt.Errorf("%s was not run: its directory %s is not in the workspace, since the link %s leads to %s", program, inv.Dir, link, to)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	env := make([]string, 0, len(inv.Env)+1)
	for name, value := range inv.Env {
		env = append(env, name+"="+value)
	}
	out := &limited{limit: limit}
	err := q.Commander.Run(ctx, git.Command{
		Args: inv.Command, Dir: filepath.Join(q.Workspace, filepath.FromSlash(inv.Dir)), Env: append(env, "RUNNER_PRD="+q.PRD), Stdout: out,
	})
	var exit *git.ExitError
	switch {
	case out.full:
		err = fmt.Errorf("%s prints more than %d KiB", program, limit>>10)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s did not end within its timeout of %s", program, timeout)
	case errors.As(err, &exit):
		err = exit
	}
	return out.data.Bytes(), err
}

// limited keeps what is written, up to a limit.
type limited struct {
	limit int
	data  bytes.Buffer
	full  bool
}

// Write implements io.Writer. It fails when it is full, which ends the process.
func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.full || l.data.Len()+len(p) > l.limit; l.full {
		return 0, errors.New("too much output")
	}
	return l.data.Write(p)
}
