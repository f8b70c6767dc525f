package runner

import (
	"context"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/recorded"
)

// A verdict holds only for the files that the gate judged, and a record only for the
// files that the workstream made. Users and processes can edit files at any moment of a
// run. Runner therefore compares the files again before a step uses them, before it
// leaves a phase, and before the session is complete. An edit that it finds stops the run
// and changes nothing else: the resumed run judges the edited file, or asks the user.

// rememberReused adds the files of reused verdicts and of workstreams that are done to
// the recorded files.
func (l *loop) rememberReused(planned *plan.Plan) {
	st := l.session.State()
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			switch {
			case s.Kind == plan.GateStep && s.Decision == plan.Reuse && st.Gate(s.Name).Status == state.Passed: // a gate of an allowed failure need not have passed
				l.recordedFiles.SetJudged(s.Name, l.facts.Judging[s.Name].Files)
			case s.Kind == plan.WorkstreamStep && st.Workstream(s.Name).Done():
				l.recordedFiles.AddArtifacts(s.Name, l.surveyor.CurrentArtifacts(st.Workstream(s.Name)))
				l.recordedFiles.AddArtifacts(s.Name, l.keptEdits(s.Name))
			}
		}
	}
}

// keptEdits returns the edited artifacts of a workstream, if their edits are to be kept.
func (l *loop) keptEdits(name string) []state.Artifact {
	if l.planner.ConflictChoice(name) != plan.ConflictKeep {
		return nil
	}
	now := recorded.ByPath(l.facts.Current[name])
	var kept []state.Artifact
	for _, c := range plan.EditedArtifacts(l.facts.Conflicts[name]) {
		if a := now[string(c.Path)]; a != nil {
			kept = append(kept, *a)
		}
	}
	return kept
}

// editsBefore returns the edits of files that a workstream is about to read, and of files
// that it is about to write and that other steps rely on. After the workstream has run,
// Runner could not tell such an edit from the work of the workstream.
func (n *node) editsBefore() []recorded.Edit {
	l := n.loop
	inputs := l.facts.Inputs[n.ws.Name]
	read := l.recordedFiles.EditsAmong(inputs.Patterns, inputs.Files, func(path string) bool { return l.planner.Makes(n.ws, path) })
	under := l.facts.ArtifactFiles[n.ws.Name]
	written := l.recordedFiles.EditsAmong(under.Patterns, under.Files, nil)
	return append(read, slices.DeleteFunc(written, func(e recorded.Edit) bool { return e.Gate == "" && e.Maker == n.ws.Name })...)
}

// stopForEdits stops the run if there are edits, and reports whether there are. It
// ignores the partial work of workstreams.
func (l *loop) stopForEdits(edits []recorded.Edit) bool {
	edits = slices.DeleteFunc(edits, func(e recorded.Edit) bool { return l.planner.IsPartialWork(e.Path, e.Digest) })
	for _, e := range edits {
		if !slices.Contains(l.cause.edits, e) {
			l.cause.edits = append(l.cause.edits, e)
		}
	}
	if len(edits) > 0 {
		l.stopNewWork(stopPause)
	}
	return len(edits) > 0
}

// recheck compares the files that were judged and made in the phase with their records.
// After the last phase it does so for all phases. It reports whether all files are
// unchanged.
func (p *phaseRun) recheck() bool {
	l, phase := p.loop, p.phase
	phases := []*pipeline.Phase{phase}
	if phase.Number == len(l.pipeline.Phases) {
		phases = l.pipeline.Phases
	}
	gates, artifacts := l.reliedFiles(phases)
	if len(gates)+len(artifacts) == 0 {
		return true
	}
	ended, same := false, false
	l.slots.Urgent(func() {
		found := plan.NewFacts(l.session.State())
		l.spawnWork("survey "+phase.Name, gateSlot, func(within context.Context) func() {
			now, err := l.surveyor.Resurvey(within, found, gates, artifacts)
			return func() {
				ended = true
				switch {
				case l.tasksCancelled():
				case err != nil:
					l.addFailure(state.Failure{Workstream: phase.Name, Outcome: "error", Message: state.Text(l.opts.Mask(err.Error()))}, true)
				default:
					same = !l.stopForEdits(l.editsSinceRecorded(gates, found, artifacts, now))
				}
			}
		})
	})
	l.runUntil(func() bool { return ended })
	return same
}

// reliedFiles returns the passed gates that judge files, and the paths of the recorded
// artifacts, of some phases.
func (l *loop) reliedFiles(phases []*pipeline.Phase) (gates []*pipeline.Gate, artifacts []string) {
	passed := func(all []*pipeline.Gate) {
		for _, g := range all {
			if l.recordedFiles.HasJudged(g.Label()) && len(plan.JudgedFiles(g)) > 0 {
				gates = append(gates, g)
			}
		}
	}
	for _, phase := range phases {
		passed(phase.Gates)
		for _, ws := range phase.Workstreams {
			passed(ws.Gates)
			for _, a := range l.session.State().Workstream(ws.Name).Artifacts {
				if _, maker, ok := l.recordedFiles.Artifact(string(a.Path)); ok && maker == ws.Name {
					artifacts = append(artifacts, string(a.Path))
				}
			}
		}
	}
	return gates, artifacts
}

// editsSinceRecorded compares the files that gates judged and workstreams made with their
// records.
func (l *loop) editsSinceRecorded(gates []*pipeline.Gate, found *plan.Facts, artifacts []string, now map[string]*state.Artifact) []recorded.Edit {
	var edits []recorded.Edit
	for _, path := range artifacts {
		if e, differs := l.recordedFiles.CompareFile(path, now[path]); differs {
			edits = append(edits, e)
		}
	}
	for _, g := range gates {
		edits = append(edits, l.recordedFiles.EditsSinceJudged(g.Label(), found.Judging[g.Label()].Files)...)
	}
	return edits
}

// conflictEdits converts conflicts to edits.
func conflictEdits(workstream string, conflicts []plan.Conflict) []recorded.Edit {
	edits := make([]recorded.Edit, len(conflicts))
	for i, c := range conflicts {
		edits[i] = recorded.Edit{Path: string(c.Path), Maker: workstream, Change: "changed", Digest: c.Found}
	}
	return edits
}
