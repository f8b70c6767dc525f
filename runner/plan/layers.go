package plan

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
)

// Several workstreams may write the same file, one after the other: the first creates it, and
// each later one changes it. Each of them records the file, whose content is that of the last
// record. A workstream that runs again starts from the file as it is. But the file may be
// missing, or the user may want an edit of it undone. Then Runner restores the file from the
// record before that of the first workstream that runs again, and the later workstreams run
// again, too.

// Layers are the records of one such file, in the order in which their workstreams run.
// Each is a conflict: the file differs from the record of the last of them that completed.
type Layers []Conflict

// restoreBeneath gives each file that is made again in part to the workstream before the
// first one that runs again: that one restores it, or runs again, too. The workstreams
// after it all run again. restoreBeneath reports whether the plan must be made anew.
func (pl *Planner) restoreBeneath() bool {
	found := false
	for _, path := range slices.Sorted(maps.Keys(pl.facts.Layers)) { // in this order, so that each plan of the same facts is the same
		layers := pl.facts.Layers[path]
		if layers[0].Found != "" && pl.onConflict != ConflictRestore {
			continue // the user has not decided that the edit is undone
		}
		layers = slices.DeleteFunc(slices.Clone(layers), func(c Conflict) bool { return pl.steps[c.Workstream].Decision == Skipped })
		first := slices.IndexFunc(layers, pl.isMadeAgain)
		if first < 0 {
			continue
		}
		for _, later := range layers[first:] {
			found = pl.remake(later) || found
		}
		if first > 0 {
			found = pl.addConflict(path, layers[first-1]) || found
		}
	}
	return found
}

// isMadeAgain reports whether the workstream of a layer certainly runs again.
func (pl *Planner) isMadeAgain(c Conflict) bool {
	switch d := pl.steps[c.Workstream].Decision; d {
	case Rerun, Cached:
		return true
	default:
		return d == Depends && !c.Kept && containsConflict(pl.facts.Conflicts[c.Workstream], c.Path)
	}
}

// remake makes the workstream of a layer run again, whatever the workstreams before it come
// to. It reports whether that is new.
func (pl *Planner) remake(c Conflict) bool {
	if pl.remade[c.Workstream] != "" {
		return false
	}
	if pl.remade == nil {
		pl.remade = make(map[string]string)
	}
	if pl.remade[c.Workstream] = fmt.Sprintf("its artifact %s is missing", c.Path); c.Found != "" {
		pl.remade[c.Workstream] = fmt.Sprintf("its artifact %s was edited, and is made again", c.Path)
	}
	return true
}

// Remade returns why a run takes a workstream's result back whether or not the workstream may run
// in it: an artifact of it is made again from an earlier layer. It returns "" if none is.
func (pl *Planner) Remade(workstream string) string { return pl.remade[workstream] }

// addConflict adds the conflict of a layer to those of its workstream. It reports whether
// that is new.
func (pl *Planner) addConflict(path string, c Conflict) bool {
	had := pl.facts.Conflicts[c.Workstream]
	if containsConflict(had, state.Text(path)) {
		return false
	}
	pl.facts.Conflicts[c.Workstream] = append(slices.Clone(had), c)
	return true
}

// layeredConflicts returns the conflicts of a workstream that have layers.
func (pl *Planner) layeredConflicts(workstream string) []Conflict {
	return filterConflicts(pl.facts.Conflicts[workstream], func(c Conflict) bool { return len(pl.facts.Layers[string(c.Path)]) > 0 })
}

func containsConflict(conflicts []Conflict, path state.Text) bool {
	return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Path == path })
}
