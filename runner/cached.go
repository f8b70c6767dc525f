package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/outputs"
	"prdrunner/runner/plan"
)

// applyCached restores the artifacts of an earlier run, and returns the result of that
// run. It removes files that the workstream made before and that this result does not
// have. It returns why it does not take the result, "" if it does: because of a failure, or
// of a file that no run has made and that matches the declared artifacts, since only a run
// can show what the workstream does with such a file. It may overwrite edits of files that
// are recorded in this session, because the plan has decided about these edits.
func (n *node) applyCached(ctx context.Context, id string, recorded []state.Artifact, owners map[string]string) (r attemptResult, refusal string) {
	l := n.loop
	work, at, had := n.step.Result.Work, l.opts.Now(), slices.Clone(recorded)
	for _, r := range l.facts.EarlierRunsOf(n.ws) {
		had = append(had, r.Work.Artifacts...)
	}
	had = slices.DeleteFunc(had, func(a state.Artifact) bool { // another workstream made it last
		owner := owners[string(a.Path)]
		return owner != "" && owner != n.ws.Name
	})
	made := make(map[string]bool, len(had))
	for _, a := range had {
		made[l.files.Tree().RealPath(string(a.Path))+" "+a.Digest] = true
	}
	for _, a := range recorded {
		made[l.files.Tree().RealPath(string(a.Path))] = true
	}
	mayLose := func(path, digest string) bool { return made[path] || made[path+" "+digest] }
	removed, err := replaceArtifacts(ctx, l.files, id, had, work.Artifacts, mayLose)
	var there []state.Artifact
	if err == nil {
		there, _, err = l.surveyor.KeepArtifacts(ctx, n.ws)
	}
	var changed *workspace.ChangedError
	switch i := slices.IndexFunc(there, func(a state.Artifact) bool { return !containsArtifact(work.Artifacts, a) }); {
	case errors.As(err, &changed):
		return r, cacheRefusal(changed.Path + " is among its artifacts, and no run has made it")
	case err != nil:
		return r, cacheRefusal(err.Error())
	case i >= 0:
		return r, cacheRefusal(string(there[i].Path) + " is among its artifacts, and no run has made it")
	case len(there) < len(work.Artifacts):
		return r, cacheRefusal("not all of it was put in place")
	}
	r = attemptResult{cached: n.step.Cached, artifacts: there, result: Result{Outcome: Exited, Started: at, Ended: l.opts.Now()}}
	if len(removed) > 0 {
		r.note = fmt.Sprintf("%s made %s before, and its result now does not have it: it is removed", n.ws.Name, text.Enumerate(removed))
	}
	r.outputs = outputs.Set{Metrics: work.Metrics, Summary: string(work.Summary), Location: string(work.Location)}
	for name, value := range work.Outputs {
		if r.outputs.Values == nil {
			r.outputs.Values = make(map[string]string, len(work.Outputs))
		}
		r.outputs.Values[name] = string(value)
	}
	return r, ""
}

// runInsteadOfCached runs a workstream whose cached result could not be taken, and whose secrets
// and services nobody has needed so far. Nothing ran in the attempt that ends here.
func (n *node) runInsteadOfCached(refusal string) {
	delete(n.loop.calling, n)
	n.rollBackThen("the result of an earlier run could not be taken", func() {
		if !n.mayStart() {
			n.interrupt()
			return
		}
		n.loop.recorder.Add(nil, state.WorkstreamInterrupted{Workstream: n.ws.Name, Attempt: n.attempt, NotBegun: n.callNotBegun(), Reason: state.Text(shorten(n.loop.opts.Mask(refusal)))})
		n.step.Decision, n.step.Cached, n.step.Result = plan.Run, nil, nil
		n.startAttempt()
	})
}

func containsArtifact(all []state.Artifact, a state.Artifact) bool {
	return slices.ContainsFunc(all, func(b state.Artifact) bool {
		return a.Path == b.Path && a.Mode == b.Mode && a.Digest == b.Digest
	})
}

func cacheRefusal(why string) string { return "the result of an earlier run is not taken: " + why }
