package runner

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// execute runs a task, unless its environment could not be read, or its directory is no
// longer in the workspace. A link that leads out of the workspace may have replaced the
// directory since the run began.
func (l *loop) execute(ctx context.Context, task Task, sink Sink) (Result, error) {
	if task.unready != nil {
		return Result{}, task.unready
	}
	dir, err := filepath.Rel(task.root, task.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("find the directory to run in: %w", err)
	}
	if link, text := task.files.Tree().LinkOut(filepath.ToSlash(dir)); link != "" {
		return Result{}, fmt.Errorf("it was not started: its directory %s is not in the workspace, since the link %s leads to %s; put a directory there, or change dir", dir, link, text)
	}
	return l.opts.Executor.Run(ctx, task, sink)
}

// hideEnvironment makes the run hide the sensitive values of a process that are known only
// now. It returns why the process can't get its environment.
func (l *loop) hideEnvironment(inv pipeline.Invocation) error {
	switch {
	case len(inv.Unresolved) > 0:
		return l.unresolvedError(inv.Unresolved[0])
	case inv.EnvFileError != nil:
		return inv.EnvFileError
	}
	return l.opts.Hide(inv.Hidden)
}

// newTask returns a task with the fields that workstreams, gates and hooks have in common.
func (l *loop) newTask(name string, attempt int, inv pipeline.Invocation) Task {
	env := make(map[string]string, len(inv.Env)+8)
	maps.Copy(env, inv.Env)
	l.joinTrace(env, inv.Env, "", 0)
	session := l.session.State().Session
	env["RUNNER_PRD"] = l.pipeline.ID
	env["RUNNER_SESSION"] = session
	env["RUNNER_STATE_DIR"] = l.opts.Store.Dir()
	return Task{
		ID:      fmt.Sprintf("%s/%s/%d", session, name, attempt),
		Session: session,
		Command: inv.Command,
		Dir:     filepath.Join(l.opts.Workspace, filepath.FromSlash(inv.Dir)),
		Env:     env,
		Log:     l.opts.Store.Layout().LogPath(l.pipeline.ID, name, attempt),
		Grace:   l.opts.Grace,
		Mask:    l.pipeline.HasSecrets(), // a task may read a secret of another task from a file

		Declared: placeOf(inv.Range),
		unready:  l.hideEnvironment(inv),
		root:     l.opts.Workspace,
		files:    l.files,
	}
}

// startSink is a Sink that remembers whether the process was started.
type startSink struct{ started bool }

// Started implements Sink.
func (b *startSink) Started(int) { b.started = true }

// recordLeftovers records that Runner ended processes that outlived their task.
func (l *loop) recordLeftovers(workstream string, left []Leftover) {
	if len(left) == 0 {
		return
	}
	ended := make([]state.Process, len(left))
	for i, p := range left {
		ended[i] = state.Process{PID: p.PID, Command: state.Text(p.Command)}
	}
	l.recordEndedProcesses(workstream, ended)
}

// recordEndedProcesses records that Runner ended processes of a workstream. workstream is
// "" if they belong to no workstream. It masks their commands.
func (l *loop) recordEndedProcesses(workstream string, ended []state.Process) {
	if len(ended) == 0 {
		return
	}
	e := state.ProcessesEnded{Workstream: workstream}
	for _, p := range ended {
		e.Processes = append(e.Processes, state.Process{PID: p.PID, Command: state.Text(l.opts.Mask(string(p.Command)))})
	}
	l.recorder.Add(nil, e)
}
