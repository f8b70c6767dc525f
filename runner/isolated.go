package runner

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/isolate"
	"prdrunner/runner/recorded"
	"prdrunner/runner/survey"
)

// isolation runs the workstreams of a run that have an isolate block in work trees.
//
// The result of such a workstream is held until its gates have passed in the work tree. Then its
// artifacts are put into the workspace. From the moment at which the verdicts are durable, the
// result comes back even if Runner is killed: the next run does it, from objects.
type isolation struct {
	loop           *loop
	trees          *isolate.Trees
	open           map[string]*isolate.Tree // the work trees whose results are held, by workstream
	earlierCommits []state.Commit           // what became of results before the run began, which the views get after Begin
}

func newIsolation(l *loop) isolation {
	return isolation{loop: l, open: make(map[string]*isolate.Tree), trees: isolate.New(isolate.Options{
		Dir: l.opts.WorkTrees, Workspace: l.opts.Workspace, StateDir: l.opts.Store.Dir(), PRD: l.opts.Pipeline.ID, Files: l.files, Commander: l.opts.Commands,
	})}
}

// begin finishes what a killed run has left: it removes work trees, and brings results back
// whose gates have passed. A run that begins a new session takes them back instead.
func (is *isolation) begin() error {
	is.warn(is.trees.Clear())
	l := is.loop
	if st := l.session.State(); len(st.Returning()) == 0 {
		return nil
	}
	return l.runUntilSignal(func(ctx context.Context) error {
		return isolate.Finish(ctx, l.session, l.files, l.opts.Fresh, is.finished)
	})
}

// finished keeps the commits of a result that came back, or does not, before the run began, for
// the views.
func (is *isolation) finished(f isolate.Finished) {
	is.earlierCommits = append(is.earlierCommits, f.Commits...)
	if f.Why != "" {
		is.loop.warnUser(f.String())
	}
}

// end removes the work trees that are left at the end of the run.
func (is *isolation) end() { is.warn(is.trees.RemoveLeft()) }

func (is *isolation) warn(err error) {
	if err != nil {
		is.loop.warnUser(err.Error() + "; remove it yourself if it stays")
	}
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
		r.failure = n.keepReplaced(&r)
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

// keepReplaced keeps the files of the workspace that the result of an attempt replaces, so that
// a return that is cut short can be taken back. It returns the failure of an attempt whose result
// can't come back, nil if it can.
func (n *node) keepReplaced(r *attemptResult) *state.Failure {
	lost, err := isolate.KeepReplaced(n.loop.grace, n.loop.files, r.held.Before)
	switch {
	case workspace.IsChanged(err):
		return n.changedMeanwhile(err.Error())
	case err != nil:
		if n.loop.grace.Err() != nil {
			r.result.Outcome = Cancelled
		}
		return &state.Failure{Workstream: n.ws.Name, Outcome: state.OutcomeResult, Message: state.Text(n.loop.opts.Mask("keep the files that its artifacts replace: " + err.Error()))}
	}
	return n.unreturnable(r, lost)
}

// changedMeanwhile returns the failure of an attempt after which files of the workspace differ
// from those with which its work tree was made.
func (n *node) changedMeanwhile(which string) *state.Failure {
	return &state.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: state.Text(shorten(n.loop.opts.Mask(
		which + ", so nothing of its result came back; the next attempt starts from the files as they are now")))}
}

// unreturnable returns the failure of an attempt that has changed or deleted files whose bytes are
// not kept, nil if there is none. lost are those of the workspace.
func (n *node) unreturnable(r *attemptResult, lost []string) *state.Failure {
	differs := recorded.ByPath(r.held.Before)
	for _, path := range r.leftOut {
		if differs[path] != nil {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	lost = slices.Compact(lost)
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
	id := l.session.State().RestoreID(n.ws.Name)
	l.spawnWork("bring back "+n.ws.Name, workstreamSlot, func(context.Context) func() {
		settled, err := isolate.Settle(l.grace, l.files, id, &rec, false)
		removed := tree.Remove()
		return func() {
			l.isolation.warn(removed)
			switch {
			case err == nil && settled.Refused == nil:
				n.broughtBack(rec.Artifacts)
			case l.grace.Err() != nil: // the next run brings it back
				n.finish(left)
			case err == nil:
				for _, m := range settled.Stay {
					l.warnUser(isolate.Unreturned([]string{m.Path}))
				}
				n.recordFailure(*n.changedMeanwhile(settled.Refused.Error()))
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
	l.recordedFiles.SetArtifacts(n.ws.Name, l.surveyor.Extend(n.ws.ArtifactPatterns), artifacts)
	for _, g := range n.ws.Gates {
		if rec := l.session.State().Gate(g.Label()); rec.Status == state.Passed {
			l.recordedFiles.SetJudged(g.Label(), l.facts.Judging[g.Label()].Files)
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
