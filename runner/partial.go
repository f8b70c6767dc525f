package runner

import (
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
)

// partialWork tells what workstreams that were stopped did to the artifacts of
// others from what somebody edited since. The workspace is captured when a run
// ends: what is as it was then is partial work. Where a runner was killed, or a signal
// came before that, there is no such capture, and what was running accounts for all
// under its patterns.
type partialWork struct {
	patterns []string                       // of workstreams that were begun and not completed
	running  []string                       // those of them that ran when a run ended without a capture
	left     map[string]checkpoint.Artifact // what attempts that failed left of artifacts of others, by path: that is on record
	then     map[string]string              // digests at the end of the last run, by path; nil: they are not known
}

// accounts reports whether a recorded artifact that is not as recorded, but has
// the given digest, "" for none, is partial work.
func (p *partialWork) accounts(path, digest string) bool {
	return p.isLeft(path, digest) || matchesAny(p.running, path) || p.captured(path, digest)
}

// isLeft reports whether an artifact is as an attempt that failed left it.
func (p *partialWork) isLeft(path, digest string) bool {
	a, ok := p.left[path]
	return ok && a.Digest == digest
}

// captured reports whether it is partial work that is as it was captured.
func (p *partialWork) captured(path, digest string) bool {
	return p.then != nil && p.then[path] == digest && matchesAny(p.patterns, path)
}

// begun finds out which artifacts may be partial work.
func (s *surveyor) begun(st *checkpoint.State) {
	s.partial = partialWork{left: s.left}
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			s.partial.add(s.links.extend(ws.ArtifactPatterns), recordOf(st, ws.Name), endedUnseen(st))
		}
	}
}

// since has what is as it was when the last run ended be partial work. Without its
// files, nil, nobody is taken at less than an edit.
func (p *partialWork) since(l *workspace.Listing) {
	if l == nil {
		return
	}
	p.then = make(map[string]string, len(l.Entries))
	for _, e := range l.Entries {
		p.then[e.Path] = e.Digest
	}
	for _, path := range slices.Concat(l.LeftOut, l.Unstable, l.Special) {
		p.then[path] = "not captured"
	}
}

func (p *partialWork) add(patterns []string, rec *checkpoint.Workstream, unseen bool) {
	if rec == nil {
		return
	}
	cut := rec.Status == checkpoint.Running || rec.Status == checkpoint.Interrupted
	if cut || rec.Status == checkpoint.Failed || rec.Status == checkpoint.Uncertain {
		p.patterns = append(p.patterns, patterns...)
	}
	if cut && unseen {
		p.running = append(p.running, patterns...)
	}
}

// killed reports whether the end of the last run was never recorded.
func killed(st *checkpoint.State) bool { return st != nil && st.RunningAt != nil }

// endedUnseen reports whether the files were not captured when what ran in the last
// run ended: its runner was killed, or a signal gave up the capture.
func endedUnseen(st *checkpoint.State) bool {
	return killed(st) || st != nil && st.Interrupted != "" && unwrittenThen(st) && !wentBack(st)
}

// wentBack reports whether a rollback brought the session to where it stands, and its
// files.
func wentBack(st *checkpoint.State) bool {
	if len(st.Rollbacks) == 0 {
		return false
	}
	last := st.Rollbacks[len(st.Rollbacks)-1]
	return last.Error == "" && last.Scope == checkpoint.RollbackAll && last.To == st.Current
}

// unwrittenThen reports whether a capture or a file of a checkpoint is to be made when
// a session is gone on with.
func unwrittenThen(st *checkpoint.State) bool {
	return st.Pause != nil && st.Pause.Reason == checkpoint.PauseCheckpoint
}

// partialArtifact is a recorded artifact that a stopped workstream wrote over, or
// removed.
type partialArtifact struct {
	checkpoint.Artifact        // as on record
	found               string // its digest now, "" where it is gone
}

func recordedOf(partial []partialArtifact) []checkpoint.Artifact {
	all := make([]checkpoint.Artifact, len(partial))
	for i, a := range partial {
		all[i] = a.Artifact
	}
	return all
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
			if s.Kind == WorkstreamStep && ws != nil && l.pl.choose.excluded(ws) == "" && s.Decision != Reuse && s.Decision != Skipped {
				runs[ws.Name], patterns = true, append(patterns, l.sv.links.extend(ws.ArtifactPatterns)...)
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
