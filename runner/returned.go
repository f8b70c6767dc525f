package runner

import (
	"context"
	"fmt"

	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// An element that was gone may come back into the collection of a for_each. Its record
// comes back, too. If the collection is known only when a phase begins, the plan has not
// compared the artifacts of such a record with the files, and the user has not decided about
// edits that were made before the run. So the run treats these edits as a plan would, when
// it comes to them.

// findReturned notes the instances of the phase whose records have come back in this run. If
// the user has decided that edits are undone, it makes a checkpoint of the edited artifacts
// first.
func (p *phaseRun) findReturned(before *pipeline.Pipeline) error {
	l := p.loop
	var edits []string
	err := l.runUntilSignal(func(ctx context.Context) error {
		for _, ws := range p.phase.Workstreams {
			rec := l.session.State().Workstream(ws.Name)
			if before.Workstream(ws.Name) != nil || !rec.Done() {
				continue
			}
			l.returned[ws.Name] = true
			found := plan.NewFacts(l.session.State())
			if err := l.surveyor.Workstream(ctx, found, ws, rec); err != nil {
				return fmt.Errorf("compare the artifacts of %s, which has come back: %w", ws.Name, err)
			}
			for _, c := range plan.EditedArtifacts(found.Conflicts[ws.Name]) {
				edits = append(edits, string(c.Path))
			}
		}
		return nil
	})
	if err != nil || len(edits) == 0 || l.opts.OnConflict != plan.ConflictRestore {
		return err
	}
	return l.overwriting.keepReturned(edits)
}

// stopForUndecided stops the run if the workstream has edits about which the user can't have
// decided before the run: its record has come back in this run, or the edits were to be kept,
// and only now it is known that the workstream runs again. It reports whether that is so.
func (n *node) stopForUndecided() bool {
	l := n.loop
	conflicts := l.planner.UndecidedConflicts(*n.step)
	again := n.step.Decision == plan.Rerun || n.step.Decision == plan.Cached
	if len(conflicts) == 0 || !l.returned[n.ws.Name] && (!again || l.planner.ConflictChoice(n.ws.Name) != plan.ConflictKeep) {
		return false
	}
	edits := conflictEdits(n.ws.Name, conflicts)
	for i := range edits {
		edits[i].BeforeRun, edits[i].MadeAnew = true, again
	}
	l.stopForEdits(edits)
	n.finish(left)
	return true
}
