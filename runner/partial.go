package runner

import (
	"fmt"
	"slices"

	"prdrunner/runner/plan"
)

// takesBack reports whether a run takes back partial work with the given digest, "" for a
// missing file. The file must be recorded as left by an attempt, or be in the checkpoint that
// the run made before anything started. An edit that came later is in neither.
func (ow *overwriting) takesBack(path, digest string) bool {
	l := ow.l
	kept := digest == "" || l.sv.Partial.IsLeft(path, digest) || ow.isKept(path, digest) || !l.o.Store.Captures()
	return kept && l.sv.Partial.Accounts(path, digest)
}

// partialWork returns the sorted paths of existing files that are taken for partial work.
// Runner can't be sure that the user did not edit them.
func (ow *overwriting) partialWork() []string {
	var paths []string
	for _, all := range ow.l.facts.Partial {
		for _, a := range all {
			if a.Found != "" {
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// unkeptPartial returns the artifacts of a workstream that hold partial work which could not
// be restored if it were overwritten, since no checkpoint holds it.
func (ow *overwriting) unkeptPartial(name string) []plan.Conflict {
	var unkept []plan.Conflict
	for _, a := range ow.l.facts.Partial[name] {
		if !ow.takesBack(string(a.Path), a.Found) && !ow.isMade(string(a.Path), a.Found) {
			unkept = append(unkept, plan.Conflict{Path: a.Path, Workstream: name, Recorded: a.Digest, Found: a.Found})
		}
	}
	return unkept
}

// overwrites reports whether the plan overwrites partial work at a path. That happens if its
// workstream runs again, or if the partial work is taken back, which is possible only if the
// recorded bytes are kept.
func (ow *overwriting) overwrites(planned *plan.Plan, path string) (bool, error) {
	l := ow.l
	runs := make(map[string]bool)
	var patterns []string
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			ws := l.p.Workstream(s.Name)
			if s.Kind == plan.WorkstreamStep && ws != nil && l.pl.Excluded(ws) == "" && s.Decision != plan.Reuse && s.Decision != plan.Skipped {
				runs[ws.Name], patterns = true, append(patterns, l.sv.Extend(ws.ArtifactPatterns)...)
			}
		}
	}
	for owner, all := range l.facts.Partial {
		i := slices.IndexFunc(all, func(a plan.PartialArtifact) bool { return string(a.Path) == path })
		if i < 0 {
			continue
		}
		kept, err := l.files.Contents().HasObject(all[i].Digest)
		if err != nil {
			return false, fmt.Errorf("look for the bytes of %s: %w", path, err)
		}
		if runs[owner] || kept && plan.MatchesAny(patterns, path) {
			return true, nil
		}
	}
	return false, nil
}
