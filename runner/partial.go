package runner

import (
	"fmt"
	"slices"

	"prdrunner/checkpoint"
)

// begun finds out which artifacts may be partial work.
func (s *surveyor) begun(st *checkpoint.State) {
	s.partial = partialWork{left: s.left}
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			s.partial.add(s.links.Extend(ws.ArtifactPatterns), recordOf(st, ws.Name), endedUnseen(st))
		}
	}
}

// takesBack reports whether a run takes back partial work that has the given digest,
// "" for none. It must be what is on record as left, or in the checkpoint that the run
// made before anything started: an edit that came later is in none.
func (l *loop) takesBack(path, digest string) bool {
	kept := digest == "" || l.sv.partial.isLeft(path, digest) || l.isKept(path, digest) || !l.o.Store.Captures()
	return kept && l.sv.partial.accounts(path, digest)
}

// toBeTakenBack is what is there of what may be taken back, or made again, sorted:
// nobody can tell for sure whether somebody edited it.
func (l *loop) toBeTakenBack() []string {
	var paths []string
	for _, all := range l.facts.partial {
		for _, a := range all {
			if a.found != "" {
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// unkeptPartial is partial work in place of a workstream's artifacts that nothing would
// bring back if they were made again, since it is not what a checkpoint holds.
func (l *loop) unkeptPartial(name string) []Conflict {
	var unkept []Conflict
	for _, a := range l.facts.partial[name] {
		if !l.takesBack(string(a.Path), a.found) && !l.isMade(string(a.Path), a.found) {
			unkept = append(unkept, Conflict{Path: a.Path, Workstream: name, Recorded: a.Digest, Found: a.found})
		}
	}
	return unkept
}

// overwrites reports whether the plan has partial work overwritten: by taking it back,
// for which the bytes on record must be kept, or by running its workstream again.
func (l *loop) overwrites(plan *Plan, path string) (bool, error) {
	runs := make(map[string]bool)
	var patterns []string
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			ws := l.p.Workstream(s.Name)
			if s.Kind == WorkstreamStep && ws != nil && l.pl.excluded(ws) == "" && s.Decision != Reuse && s.Decision != Skipped {
				runs[ws.Name], patterns = true, append(patterns, l.sv.links.Extend(ws.ArtifactPatterns)...)
			}
		}
	}
	for owner, all := range l.facts.partial {
		i := slices.IndexFunc(all, func(a partialArtifact) bool { return string(a.Path) == path })
		if i < 0 {
			continue
		}
		kept, err := l.sv.files.Kept(all[i].Digest)
		if err != nil {
			return false, fmt.Errorf("look for the bytes of %s: %w", path, err)
		}
		if runs[owner] || kept && matchesAny(patterns, path) {
			return true, nil
		}
	}
	return false, nil
}
