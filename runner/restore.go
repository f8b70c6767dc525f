package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/plan"
)

// restorePlanned puts back, before anything starts, the artifacts that the
// plan says are restored, and returns what is to go on record of it.
func (l *loop) restorePlanned(planned *plan.Plan) ([]checkpoint.Event, error) {
	var wanted []checkpoint.Artifact
	var events []checkpoint.Event
	for _, phase := range planned.Phases {
		for i := range phase.Steps {
			s := &phase.Steps[i]
			if s.Kind != plan.WorkstreamStep || len(s.Restores) == 0 {
				continue
			}
			found, event := l.recorded(*s)
			wanted, events = append(wanted, found...), append(events, event)
			l.restored(s.Name, found)
			s.Restores = nil
			l.pl.Set(*s)
		}
	}
	l.sv.restores, l.sv.restoredLinks = nil, nil
	if len(wanted) == 0 {
		return nil, nil
	}
	return events, l.untilSignal(func(ctx context.Context) error {
		return putBack(ctx, l.sv.files, l.x.State().Session, wanted, l.isKept)
	})
}

// restoreThen puts back artifacts of a workstream that is reused, and goes on.
func (l *loop) restoreThen(n *node, then func()) {
	wanted, event := l.recorded(*n.step)
	n.step.Restores = nil
	id := restoreID(l.x.State(), n.ws.Name)
	l.spawn("restore "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := putBack(within, l.sv.files, id, wanted, l.isKept)
		return func() {
			switch {
			case l.cut():
				l.end(n, false)
			case isChanged(err):
				l.cause.meanwhile = append(l.cause.meanwhile, n.ws.Name)
				l.halt(stopPause)
				l.end(n, false)
			case err != nil:
				// Its work is done, and what is in the way does not undo it.
				l.cause.stuck = append(l.cause.stuck, "the artifacts of "+n.ws.Name+" are not put back: "+err.Error())
				l.halt(stopPause)
				l.end(n, false)
			default:
				l.enter()
				l.add(nil, event)
				l.restored(n.ws.Name, wanted)
				then()
			}
		}
	})
}

// isChanged reports whether an error says that a file was edited meanwhile. What
// it is an artifact of is done all the same.
func isChanged(err error) bool {
	var changed *workspace.ChangedError
	return errors.As(err, &changed)
}

// recorded are the artifacts that a step restores, as they are on record.
func (l *loop) recorded(s plan.Step) ([]checkpoint.Artifact, checkpoint.Event) {
	event := checkpoint.ArtifactsRestored{Workstream: s.Name, Reason: s.Reason}
	var wanted []checkpoint.Artifact
	for _, a := range l.x.State().Workstream(s.Name).Artifacts {
		if slices.Contains(s.Restores, a.Path) {
			wanted = append(wanted, *l.sv.recorded(l.x.State(), s.Name, a.Path))
			event.Paths = append(event.Paths, a.Path)
		}
	}
	return wanted, event
}

// restored takes out of the facts what is no conflict any more, but is there as
// it is on record.
func (l *loop) restored(workstream string, artifacts []checkpoint.Artifact) {
	back := byPathOf(artifacts)
	l.facts.Conflicts[workstream] = slices.DeleteFunc(slices.Clone(l.facts.Conflicts[workstream]), func(c plan.Conflict) bool {
		return back[string(c.Path)] != nil
	})
	as := slices.DeleteFunc(slices.Clone(l.facts.Current[workstream]), func(a checkpoint.Artifact) bool {
		return back[string(a.Path)] != nil
	})
	l.facts.Current[workstream] = append(as, artifacts...)
}

// overwritten are the artifacts of completed workstreams that lie under the
// patterns of one that was stopped while it ran, as the last attempt that failed left
// them: what it did to them since is partial work, and is taken back before it runs again.
func (s *surveyor) overwritten(st *checkpoint.State, owners map[string]string, name string, patterns []string) []checkpoint.Artifact {
	var all []checkpoint.Artifact
	behind := s.leftBehind(st, owners)
	for path, owner := range owners {
		if owner == name || !plan.MatchesAny(patterns, path) {
			continue
		}
		for _, a := range st.Workstream(owner).Artifacts {
			if string(a.Path) != path || a.Digest == "" {
				continue
			}
			if left, ok := behind[path]; ok {
				a = left
			}
			all = append(all, a)
		}
	}
	return all
}

// takeBackPartial restores those of the artifacts that are partial work and
// whose bytes are kept, and returns them. What is not as recorded for another
// reason is somebody's edit, and stays. The id is that of putBack.
func takeBackPartial(ctx context.Context, w *workspace.Workspace, id string, all []checkpoint.Artifact, mine func(path, digest string) bool) (changed []checkpoint.Artifact, err error) {
	for _, a := range all {
		now, err := describe(ctx, w, string(a.Path))
		if err != nil && !workspace.IsAbsent(err) {
			return nil, fmt.Errorf("look at partial work: %w", err)
		}
		if now.Digest == a.Digest {
			continue
		}
		if !mine(string(a.Path), now.Digest) {
			continue
		}
		kept := a.Digest == "" // it is removed
		if !kept {
			if kept, err = w.Kept(a.Digest); err != nil {
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
	if err := putBack(ctx, w, id, changed, mine); err != nil {
		return nil, err
	}
	return changed, nil
}

// takenBack says whose artifacts were restored before a workstream ran again.
func (l *loop) takenBack(name string, owners map[string]string, back []checkpoint.Artifact) []checkpoint.Event {
	paths := make(map[string][]checkpoint.Text)
	for _, a := range back {
		owner := owners[string(a.Path)]
		paths[owner] = append(paths[owner], a.Path)
	}
	var events []checkpoint.Event
	for _, owner := range slices.Sorted(maps.Keys(paths)) {
		slices.Sort(paths[owner])
		events = append(events, checkpoint.ArtifactsRestored{
			Workstream: owner, Paths: paths[owner], Reason: checkpoint.Text("it was the partial work of " + name),
		})
	}
	return events
}
