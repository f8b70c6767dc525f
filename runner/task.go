package runner

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// execute runs a task, unless its directory is no longer in the workspace. A link that
// leads out of the workspace may have replaced the directory since the run began.
func (l *loop) execute(ctx context.Context, task Task, sink Sink) (Result, error) {
	dir, err := filepath.Rel(l.o.Workspace, task.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("find the directory to run in: %w", err)
	}
	if link, text := l.files.Tree().LinkOut(filepath.ToSlash(dir)); link != "" {
		return Result{}, fmt.Errorf("it was not started: its directory %s is not in the workspace, since the link %s leads to %s; put a directory there, or change dir", dir, link, text)
	}
	return l.o.Executor.Run(ctx, task, sink)
}

// task returns a task with the fields that workstreams, gates and hooks have in common.
func (l *loop) task(name string, attempt int, inv pipeline.Invocation) Task {
	env := make(map[string]string, len(inv.Env)+8)
	maps.Copy(env, inv.Env)
	session := l.session.State().Session
	env["RUNNER_PRD"] = l.pipeline.ID
	env["RUNNER_SESSION"] = session
	return Task{
		ID:      fmt.Sprintf("%s/%s/%d", session, name, attempt),
		Session: session,
		Command: inv.Command,
		Dir:     filepath.Join(l.o.Workspace, filepath.FromSlash(inv.Dir)),
		Env:     env,
		Log:     l.o.Store.Layout().LogPath(l.pipeline.ID, name, attempt),
		Grace:   l.o.Grace,
		Mask:    len(l.pipeline.Secrets) > 0, // a task may read from a file a secret that another task was given

		Declared: placeOf(inv.Range),
	}
}

// began is a Sink that remembers whether the process was started.
type began struct{ yes bool }

// Started implements Sink.
func (b *began) Started(int) { b.yes = true }

// reportLeftovers records that processes which outlived their task were ended.
func (l *loop) reportLeftovers(workstream string, left []Leftover) {
	if len(left) == 0 {
		return
	}
	ended := make([]state.Process, len(left))
	for i, p := range left {
		ended[i] = state.Process{PID: p.PID, Command: state.Text(p.Command)}
	}
	l.reportEnded(workstream, ended)
}

// reportEnded records that processes of a workstream were ended; "": of no workstream in
// particular. It masks their commands.
func (l *loop) reportEnded(workstream string, ended []state.Process) {
	if len(ended) == 0 {
		return
	}
	e := state.ProcessesEnded{Workstream: workstream}
	for _, p := range ended {
		e.Processes = append(e.Processes, state.Process{PID: p.PID, Command: state.Text(l.o.Mask(string(p.Command)))})
	}
	l.recorder.Add(nil, e)
}
