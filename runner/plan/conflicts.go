package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// Conflict is an artifact whose file differs from what its workstream recorded.
type Conflict struct {
	Path       state.Text `json:"path"`
	Workstream string     `json:"workstream"`
	Recorded   string     `json:"recorded"`
	Found      string     `json:"found"`                // "" when the file is missing
	Kept       bool       `json:"restorable,omitempty"` // its recorded bytes are stored as an object, so Runner can restore it
	// Difference shows the edit line by line, or describes it if the file is not text.
	// It is set only if the user has to decide.
	Difference state.Text `json:"difference,omitempty"`
}

// OnConflict says what to do with artifacts that the user edited, including artifacts of
// work that is not judged yet. The empty value means ConflictAsk, except that Runner
// keeps the edits if a gate of the workstream has failed: such an edit usually repairs
// the fault that the gate found.
type OnConflict string

// The choices for edited artifacts.
const (
	ConflictAsk     OnConflict = "ask"
	ConflictRestore OnConflict = "restore"
	ConflictKeep    OnConflict = "keep"
	ConflictFail    OnConflict = "fail"
)

// ConflictChoice returns the choice for edited artifacts of a workstream. If the user has
// not chosen and a gate of the workstream has failed, it returns ConflictKeep: such an
// edit usually repairs the fault that the gate found.
func (pl *Planner) ConflictChoice(workstream string) OnConflict {
	if pl.onConflict == "" && firstFailedGate(pl.st.Workstream(workstream)) != "" {
		return ConflictKeep
	}
	return pl.onConflict
}

// UndecidedConflicts returns the edits that the user has not decided about. An edit can
// be kept only if its workstream does not run again, because a run makes its files anew.
func (pl *Planner) UndecidedConflicts(s Step) []Conflict {
	found, choice := EditedArtifacts(pl.facts.Conflicts[s.Name]), pl.ConflictChoice(s.Name)
	switch s.Decision {
	case Rerun, Cached:
		if choice != ConflictRestore {
			return found
		}
	case Reuse, Judge, Depends, Blocked: // a later run may unblock the step
		if choice != ConflictRestore && choice != ConflictKeep {
			return found
		}
	case Run, Uncertain, Skipped:
	}
	return nil
}

// refusalReason returns why a build does not start with edits that the user has not
// decided about. It returns "" if conflicts is empty.
func (pl *Planner) refusalReason(conflicts []Conflict) state.Text {
	if len(conflicts) == 0 {
		return ""
	}
	edits := make([]state.Text, len(conflicts))
	for i, c := range conflicts {
		edits[i] = c.Path
	}
	why := "nobody has decided about the edit of " + text.Enumerate(edits)
	if pl.onConflict == ConflictKeep {
		why = "the edit of " + text.Enumerate(edits) + " can't be kept where it is made anew"
	}
	return state.Text(why)
}

// decideConflicts decides a workstream whose only changes are artifacts that are missing
// and can be restored, or that were edited.
func decideConflicts(s subject, step Step) Step {
	changed := EditedArtifacts(s.conflicts)
	step.Changes = conflictChanges(s.conflicts)
	step.Restores = restorable(s.conflicts, s.onConflict)
	switch {
	case len(changed) == 0:
		is := "is"
		if len(step.Restores) > 1 {
			is = "are"
		}
		return step.withDecision(Reuse, "%s %s missing, and %[2]s restored", text.Enumerate(step.Restores), is)
	case s.onConflict == ConflictKeep:
		return decideKept(s, step, changed[0].Path)
	case s.onConflict == ConflictRestore && allKept(changed):
		return step.withDecision(Reuse, "%s was edited, and is restored", changed[0].Path)
	case s.onConflict == ConflictRestore:
		return decideRerun(s, step, "%s was edited, and is made again", changed[0].Path)
	}
	return step.withDecision(Reuse, "proved done, but %s was edited since", changed[0].Path)
}

// decideKept keeps an edit. The reason names the gate that failed before the edit, because
// Runner may keep such an edit without asking the user.
func decideKept(s subject, step Step, path state.Text) Step {
	if label := firstFailedGate(s.record); label != "" {
		return step.withDecision(Judge, "%s was edited since %s failed; the edit is kept, and judged", path, label)
	}
	return step.withDecision(Judge, "%s was edited, and the edit is kept", path)
}

// restorable returns the artifacts that Runner restores if the workstream does not run
// again: the missing ones, and the edited ones if the user chose that.
func restorable(conflicts []Conflict, choice OnConflict) []state.Text {
	var paths []state.Text
	for _, c := range conflicts {
		if c.Kept && (c.Found == "" || choice == ConflictRestore) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// allKept reports whether Runner can restore all of the artifacts.
func allKept(conflicts []Conflict) bool {
	return !slices.ContainsFunc(conflicts, func(c Conflict) bool { return !c.Kept })
}

// missingArtifacts returns the conflicts of artifacts whose file is gone.
func missingArtifacts(conflicts []Conflict) []Conflict {
	return filterConflicts(conflicts, func(c Conflict) bool { return c.Found == "" })
}

// EditedArtifacts returns the conflicts of artifacts whose file was changed.
func EditedArtifacts(conflicts []Conflict) []Conflict {
	return filterConflicts(conflicts, func(c Conflict) bool { return c.Found != "" })
}

// filterConflicts returns the conflicts for which keep returns true.
func filterConflicts(conflicts []Conflict, keep func(Conflict) bool) []Conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), func(c Conflict) bool { return !keep(c) })
}

func conflictChanges(conflicts []Conflict) []Change {
	c := make([]Change, len(conflicts))
	for i, k := range conflicts {
		c[i] = Change{Component: "artifacts", Name: k.Path, Old: k.Recorded, New: k.Found}
	}
	return c
}
