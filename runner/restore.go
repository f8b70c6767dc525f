package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/plan"
	"prdrunner/runner/recorded"
	"prdrunner/runner/survey"
)

// restorePlanned restores the artifacts that the plan says to restore, before anything
// starts. It returns the events to record.
func (l *loop) restorePlanned(planned *plan.Plan) ([]state.Event, error) {
	var wanted []state.Artifact
	var events []state.Event
	for _, phase := range planned.Phases {
		for i := range phase.Steps {
			s := &phase.Steps[i]
			if s.Kind != plan.WorkstreamStep || len(s.Restores) == 0 {
				continue
			}
			found, event := l.artifactsToRestore(*s)
			wanted, events = append(wanted, found...), append(events, event)
			l.updateRestoredFacts(s.Name, found)
			l.surveyor.GiveTo(s.Name, found)
			s.Restores = nil
			l.planner.SetStep(*s)
		}
	}
	l.surveyor.MarkRestored()
	if len(wanted) == 0 {
		return nil, nil
	}
	l.facts.SetJudged(wanted)
	return events, l.runUntilSignal(func(ctx context.Context) error {
		return restoreArtifacts(ctx, l.files, l.session.State().Session, wanted, l.overwriting.isKept)
	})
}

// restoreThen restores artifacts of a workstream whose work is reused, and then calls
// then.
func (n *node) restoreThen(then func()) {
	l := n.loop
	wanted, event := l.artifactsToRestore(*n.step)
	n.step.Restores = nil
	id := l.session.State().RestoreID(n.ws.Name)
	l.spawnWork("restore "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := restoreArtifacts(within, l.files, id, wanted, l.overwriting.isKept)
		return func() {
			switch {
			case l.tasksCancelled():
				n.finish(left)
			case workspace.IsChanged(err):
				l.cause.editedWorkstreams = append(l.cause.editedWorkstreams, n.ws.Name)
				l.stopNewWork(stopPause)
				n.finish(left)
			case err != nil:
				// The workstream stays done, although its artifacts can't be restored.
				l.cause.restoreProblems = append(l.cause.restoreProblems, "the artifacts of "+n.ws.Name+" are not put back: "+err.Error())
				l.stopNewWork(stopPause)
				n.finish(left)
			default:
				l.phase.recordStarted()
				l.recorder.Add(nil, event)
				l.updateRestoredFacts(n.ws.Name, wanted)
				then()
			}
		}
	})
}

// artifactsToRestore returns the artifacts that a step restores, as recorded, and the
// event that records the restore.
func (l *loop) artifactsToRestore(s plan.Step) ([]state.Artifact, state.Event) {
	event := state.ArtifactsRestored{Workstream: s.Name, Reason: s.Reason}
	var wanted []state.Artifact
	for _, a := range l.session.State().Workstream(s.Name).Artifacts {
		if slices.Contains(s.Restores, a.Path) {
			wanted = append(wanted, *l.surveyor.Recorded(l.session.State(), s.Name, a.Path))
			event.Paths = append(event.Paths, a.Path)
		}
	}
	return wanted, event
}

// updateRestoredFacts updates the facts after artifacts were restored: they are no longer
// conflicts, and the current files are the recorded ones.
func (l *loop) updateRestoredFacts(workstream string, artifacts []state.Artifact) {
	back := recorded.ByPath(artifacts)
	l.facts.Conflicts[workstream] = slices.DeleteFunc(slices.Clone(l.facts.Conflicts[workstream]), func(c plan.Conflict) bool {
		return back[string(c.Path)] != nil
	})
	as := slices.DeleteFunc(slices.Clone(l.facts.Current[workstream]), func(a state.Artifact) bool {
		return back[string(a.Path)] != nil
	})
	l.facts.Current[workstream] = append(as, artifacts...)
}

// takeBackPartial undoes partial work: it restores the artifacts whose recorded bytes are
// stored, and returns them. It skips a file for which mine returns false, since the user
// edited it. It passes the id to restoreArtifacts.
func takeBackPartial(ctx context.Context, w *workspace.Workspace, id string, all []state.Artifact, mine func(path, digest string) bool) (changed []state.Artifact, err error) {
	for _, a := range all {
		now, err := survey.Describe(ctx, w, string(a.Path))
		if err != nil && !tree.IsAbsent(err) {
			return nil, fmt.Errorf("look at partial work: %w", err)
		}
		if now.Digest == a.Digest {
			continue
		}
		if !mine(string(a.Path), now.Digest) {
			continue
		}
		kept := a.Digest == "" // without a digest the artifact did not exist, and the file is removed
		if !kept {
			if kept, err = w.Contents().HasObject(a.Digest); err != nil {
				return nil, fmt.Errorf("look for the bytes of %s: %w", a.Path, err)
			}
		}
		if kept {
			changed = append(changed, a)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if err := restoreArtifacts(ctx, w, id, changed, mine); err != nil {
		return nil, err
	}
	return changed, nil
}

// takenBackEvents returns the events that record, for each owner, which artifacts were
// restored before the named workstream runs again.
func takenBackEvents(name string, owners map[string]string, back []state.Artifact) []state.Event {
	paths := make(map[string][]state.Text)
	for _, a := range back {
		owner := owners[string(a.Path)]
		paths[owner] = append(paths[owner], a.Path)
	}
	var events []state.Event
	for _, owner := range slices.Sorted(maps.Keys(paths)) {
		slices.Sort(paths[owner])
		events = append(events, state.ArtifactsRestored{
			Workstream: owner, Paths: paths[owner], Reason: state.Text("it was the partial work of " + name),
		})
	}
	return events
}

// keepBytes stores the current bytes of artifacts as objects, except for artifacts that
// are recorded without their bytes. It returns an error if a file no longer has its
// digest.
func keepBytes(ctx context.Context, w *workspace.Workspace, all []state.Artifact) error {
	all = slices.DeleteFunc(slices.Clone(all), func(a state.Artifact) bool { return a.LeftOut })
	paths := make([]string, len(all))
	for i, a := range all {
		paths[i] = string(a.Path)
	}
	entries, _, err := w.Keep(ctx, paths)
	if err != nil {
		return fmt.Errorf("keep the artifacts: %w", err)
	}
	for i, e := range entries {
		if e.Path != paths[i] || e.Digest != all[i].Digest {
			return fmt.Errorf("keep the artifacts: %s: %w", paths[i], workspace.ErrUnstable)
		}
	}
	return nil
}

// restoreArtifacts restores artifacts to their recorded content, and removes those
// without a digest. It returns an error if a file changes meanwhile, or if it would
// replace a file for which mayLose returns false. The id names the temporary files: a
// call removes the temporary files of an earlier, interrupted call with the same id.
func restoreArtifacts(ctx context.Context, w *workspace.Workspace, id string, recorded []state.Artifact, mayLose func(path, digest string) bool) error {
	_, err := replaceArtifacts(ctx, w, id, nil, recorded, mayLose)
	return err
}

// replaceArtifacts is like restoreArtifacts. It also removes the files in had that are
// unchanged and not in recorded, and returns their paths.
func replaceArtifacts(ctx context.Context, w *workspace.Workspace, id string, had, recorded []state.Artifact, mayLose func(path, digest string) bool) (removed []string, err error) {
	var found, wanted []workspace.Entry
	seen := make(map[string]bool, len(recorded))
	for _, a := range recorded {
		a.Path = state.Text(w.Tree().RealPath(string(a.Path))) // files are not restored through links
		seen[string(a.Path)] = true
		if a.Digest != "" {
			wanted = append(wanted, survey.EntryOf(a))
		}
		e, err := w.Describe(ctx, string(a.Path))
		switch {
		case err == nil && e.Digest != a.Digest && !mayLose(e.Path, e.Digest):
			return nil, fmt.Errorf("restore an artifact: %w", &workspace.ChangedError{Path: e.Path})
		case err == nil:
			found = append(found, e)
		case !tree.IsAbsent(err):
			return nil, fmt.Errorf("restore an artifact: %w", err)
		}
	}
	for _, a := range had {
		path := w.Tree().RealPath(string(a.Path))
		if seen[path] || a.Digest == "" || a.LeftOut {
			continue
		}
		if e, err := w.Describe(ctx, path); err == nil && e.Digest == a.Digest {
			seen[path] = true
			found, removed = append(found, e), append(removed, path)
		}
	}
	now, to := (&workspace.Listing{}).With(found), (&workspace.Listing{}).With(wanted)
	if _, err := w.Restore(ctx, workspace.Diff(now, to), workspace.RestoreOptions{ID: id}); err != nil {
		return nil, fmt.Errorf("restore artifacts: %w", err)
	}
	return removed, nil
}
