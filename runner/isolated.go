package runner

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/isolate"
	"prdrunner/runner/survey"
)

// isolation runs the workstreams of a run that have an isolate block in work trees.
//
// The result of such a workstream is held until its gates have passed in the work tree. Then its
// artifacts are put into the workspace. From the moment at which the verdicts are durable, the
// result comes back even if Runner is killed: the next run does it, from objects.
type isolation struct {
	loop   *loop
	trees  *isolate.Trees
	open   map[string]*isolate.Tree // the work trees whose results are held, by workstream
	before []state.Commit           // results that came back before the run began, which the views get after Begin
}

func newIsolation(l *loop) isolation {
	return isolation{loop: l, open: make(map[string]*isolate.Tree), trees: isolate.New(isolate.Options{
		Dir: l.opts.WorkTrees, Workspace: l.opts.Workspace, StateDir: l.opts.Store.Dir(), PRD: l.opts.Pipeline.ID, Files: l.files, Commander: l.opts.Commands,
	})}
}

// begin finishes what a killed run has left: it brings results back whose gates have passed, and
// removes work trees.
func (is *isolation) begin() error {
	is.warn(is.trees.Clear())
	st := is.loop.session.State()
	if st == nil {
		return nil
	}
	for _, w := range st.Returning() {
		if err := is.finishReturn(w); err != nil {
			return err
		}
	}
	return nil
}

// end removes the work trees that are left at the end of the run.
func (is *isolation) end() { is.warn(is.trees.RemoveLeft()) }

func (is *isolation) warn(err error) {
	if err != nil {
		is.loop.warnUser(err.Error() + "; remove it yourself if it stays")
	}
}

// finishReturn brings back the result of a workstream before the run begins. If files have
// changed meanwhile, or bytes are lost, the workstream runs again instead.
func (is *isolation) finishReturn(w *state.Workstream) error {
	l := is.loop
	err := l.runUntilSignal(func(ctx context.Context) error {
		return isolate.Return(ctx, l.files, restoreID(l.session.State(), w.Name), w.Artifacts, w.Held.Before)
	})
	var missing *workspace.MissingError
	switch {
	case err == nil:
		l.session.Add(state.WorkstreamCompleted{Workstream: w.Name})
	case isChangedInWorkspace(err) || errors.As(err, &missing) || l.opts.Fresh:
		l.warnUser(fmt.Sprintf("the result of %s does not come back from its work tree: %v", w.Name, err))
		l.session.Add(state.WorkstreamInterrupted{Workstream: w.Name, Attempt: w.Attempts})
	default:
		return fmt.Errorf("bring back the result of %s, whose gates have passed: %w", w.Name, err)
	}
	commits, err := l.session.Drain(l.ctx)
	if err != nil {
		return fmt.Errorf("record what became of %s: %w", w.Name, err)
	}
	is.before = append(is.before, commits...)
	return nil
}

// isChangedInWorkspace reports whether an error says that files changed in the workspace that
// would be overwritten.
func isChangedInWorkspace(err error) bool {
	var changed *isolate.ChangedError
	return errors.As(err, &changed) || isChangedError(err)
}

// holds reports whether the result of a workstream is held in a work tree of this run.
func (is *isolation) holds(ws *pipeline.Workstream) bool { return is.open[ws.Name] != nil }

// take returns the work tree of a workstream. Its gates are not judged there any more.
func (is *isolation) take(name string) *isolate.Tree {
	tree := is.open[name]
	delete(is.open, name)
	return tree
}

// moveTo makes a task run in a work tree.
func (t *Task) moveTo(tree *isolate.Tree) {
	dir, err := tree.In(t.root, t.Dir)
	if err != nil && t.unready == nil {
		t.unready = err
	}
	t.Dir, t.root, t.files = dir, tree.Dir, tree.Files
}

// runAttempt runs a task where the workstream runs: in the workspace, or in a work tree of its
// own. Another goroutine than the loop's calls it.
func (n *node) runAttempt(ctx context.Context, task Task) attemptResult {
	l := n.loop
	if n.ws.Isolate == nil {
		return n.runTask(ctx, task, l.surveyor)
	}
	tree, err := l.isolation.trees.Make(ctx, n.ws, n.attempt)
	if err != nil {
		return n.unmadeTree(ctx, err)
	}
	task.moveTo(tree)
	in := l.surveyor.In(tree.Files)
	r := n.runTask(ctx, task, in)
	if r.failure == nil {
		r.tree, r.held = tree, &state.Held{Before: tree.Before(r.artifacts)}
		r.failure = n.unreturnable(r)
	}
	if r.failure != nil {
		r.tree, r.held = nil, nil
		if err := tree.Remove(); err != nil {
			r.note = err.Error()
		}
	}
	return r
}

// unmadeTree returns the result of an attempt whose work tree could not be made.
func (n *node) unmadeTree(ctx context.Context, err error) attemptResult {
	r := attemptResult{notExecuted: true, failure: &state.Failure{
		Workstream: n.ws.Name, Outcome: "error", Message: state.Text(shorten(n.loop.opts.Mask(err.Error()))),
	}}
	if ctx.Err() != nil {
		r.result.Outcome = Cancelled
	}
	return r
}

// unreturnable returns the failure of an attempt that has changed an artifact whose bytes are
// not kept, so that they could not come back. It returns nil if there is none.
func (n *node) unreturnable(r attemptResult) *state.Failure {
	differs := indexByPath(r.held.Before)
	var lost []string
	for _, path := range r.leftOut {
		if differs[path] != nil {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &state.Failure{Workstream: n.ws.Name, Outcome: state.OutcomeResult, Message: state.Text(n.loop.opts.Mask(fmt.Sprintf(
		"%s looks sensitive, so Runner keeps no copy of it and can't bring it back from the work tree; leave it out of the artifacts, or remove the isolate block", text.Enumerate(lost))))}
}

// hold records the result of an attempt in a work tree, and judges its gates there.
func (n *node) hold(work state.Work, r attemptResult) {
	l := n.loop
	l.isolation.open[n.ws.Name] = r.tree
	l.recorder.Add(nil, state.WorkstreamSucceeded{Workstream: n.ws.Name, Work: work, Held: r.held})
	n.judgeGates()
}

// bringBack puts the artifacts of a workstream into the workspace, whose gates have passed in its
// work tree, and completes it.
func (n *node) bringBack() {
	l := n.loop
	l.recorder.Drain() // the verdicts must be durable first: a run that is killed meanwhile leaves files of the result
	tree := l.isolation.take(n.ws.Name)
	if l.recorder.Err() != nil {
		n.finish(left)
		return
	}
	rec := *l.session.State().Workstream(n.ws.Name)
	id := restoreID(l.session.State(), n.ws.Name)
	l.spawnWork("bring back "+n.ws.Name, workstreamSlot, func(context.Context) func() {
		err := isolate.Return(l.grace, l.files, id, rec.Artifacts, rec.Held.Before)
		removed := tree.Remove()
		return func() {
			l.isolation.warn(removed)
			switch {
			case err == nil:
				n.broughtBack(rec.Artifacts)
			case l.grace.Err() != nil: // the next run brings it back
				n.finish(left)
			case isChangedInWorkspace(err):
				n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: state.Text(shorten(l.opts.Mask(
					err.Error() + ", so nothing of its result came back; the next attempt starts from the files as they are now")))})
			default:
				problem := "the result of " + n.ws.Name + " is not in the workspace yet: " + err.Error()
				l.warnUser(problem) // the run may end for another reason
				l.cause.restoreProblems = append(l.cause.restoreProblems, problem)
				l.stopNewWork(stopPause)
				n.finish(left)
			}
		}
	})
}

// broughtBack completes a workstream whose artifacts are in the workspace.
func (n *node) broughtBack(artifacts []state.Artifact) {
	l := n.loop
	delete(l.facts.Conflicts, n.ws.Name)
	l.recordedFiles.setArtifacts(n.ws, l.surveyor.Extend(n.ws.ArtifactPatterns), artifacts)
	for _, g := range n.ws.Gates {
		if rec := l.session.State().Gate(g.Label()); rec.Status == state.Passed {
			l.recordedFiles.setJudged(g.Label(), l.facts.Judging[g.Label()].Files)
		}
	}
	n.complete(state.WorkstreamCompleted{Workstream: n.ws.Name})
}

// discardHeld ends a workstream whose gates did not all pass in its work tree: nothing comes
// back. g is the gate that has failed, nil if the gates were interrupted.
func (n *node) discardHeld(g *state.Gate) {
	l := n.loop
	tree := l.isolation.take(n.ws.Name)
	l.spawnWork("remove the work tree of "+n.ws.Name, workstreamSlot, func(context.Context) func() {
		removed := tree.Remove()
		return func() {
			l.isolation.warn(removed)
			switch {
			case g == nil || g.Error == nil:
				n.interrupt()
			case n.allowsGate(g):
				n.recordFailure(*g.Error)
			default: // the failure of the gate has stopped the run already, if it does
				l.recorder.Add(func() { n.finish(pipeline.StatusFailed) }, state.WorkstreamFailed{Workstream: n.ws.Name, Error: *g.Error})
			}
		}
	})
}

// tree returns the work tree in which a gate is judged, nil for the workspace.
func (g *gateRun) tree() *isolate.Tree {
	if g.Workstream == nil {
		return nil
	}
	return g.loop.isolation.open[g.Workstream.Name]
}

// surveyor returns the surveyor of the files that a gate judges.
func (g *gateRun) surveyor() *survey.Surveyor {
	if tree := g.tree(); tree != nil {
		return g.loop.surveyor.In(tree.Files)
	}
	return g.loop.surveyor
}

// unstable says that what a gate judges changed while its process ran. In a work tree only that
// process can have done it, so it is not judged a second time.
func (g *gateRun) unstable() string {
	if g.tree() != nil {
		return "it changed what it judges; with an isolate block, only what the workstream itself made comes back"
	}
	return "what it judges changed while it was judged, twice"
}
