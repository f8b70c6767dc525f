package runner

import (
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// partialWork tells what workstreams that were stopped did to the artifacts of
// others from what somebody edited since. The workspace is captured when a run
// ends: what is as it was then is partial work. Where a runner was killed, or a signal
// came before that, there is no such capture, and what was running accounts for all
// under its patterns.
type partialWork struct {
	patterns []string          // of workstreams that were begun and not completed
	running  []string          // those of them that ran when a run ended without a capture
	then     map[string]string // digests at the end of the last run, by path; nil: they are not known
}

// accounts reports whether a recorded artifact that is not as recorded, but has
// the given digest, "" for none, is partial work.
func (p *partialWork) accounts(path, digest string) bool {
	if matchesAny(p.running, path) {
		return true
	}
	return p.then != nil && p.then[path] == digest && matchesAny(p.patterns, path)
}

// begun finds out which artifacts may be partial work.
func (s *surveyor) begun(st *checkpoint.State) {
	s.partial = partialWork{}
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			s.partial.add(ws, recordOf(st, ws.Name), endedUnseen(st))
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

func (p *partialWork) add(ws *pipeline.Workstream, rec *checkpoint.Workstream, unseen bool) {
	if rec == nil {
		return
	}
	cut := rec.Status == checkpoint.Running || rec.Status == checkpoint.Interrupted
	if cut || rec.Status == checkpoint.Failed || rec.Status == checkpoint.Uncertain {
		p.patterns = append(p.patterns, ws.Artifacts...)
	}
	if cut && unseen {
		p.running = append(p.running, ws.Artifacts...)
	}
}

// killed reports whether the end of the last run was never recorded.
func killed(st *checkpoint.State) bool { return st != nil && st.RunningAt != nil }

// endedUnseen reports whether the files were not captured when what ran in the last
// run ended: its runner was killed, or a signal gave up the capture.
func endedUnseen(st *checkpoint.State) bool {
	return killed(st) || st != nil && st.Interrupted != "" && unwrittenThen(st)
}

// unwrittenThen reports whether a capture or a file of a checkpoint is to be made when
// a session is gone on with.
func unwrittenThen(st *checkpoint.State) bool {
	return st.Pause != nil && st.Pause.Reason == checkpoint.PauseCheckpoint
}

// keepPartial keeps what is about to be taken back after a run ended without a
// capture: nobody can tell whether somebody edited it since.
func (l *loop) keepPartial() {
	var paths []string
	for _, all := range l.facts.partial {
		for _, a := range all {
			paths = append(paths, string(a.Path))
		}
	}
	if len(paths) == 0 {
		return
	}
	slices.Sort(paths)
	if l.capture(); l.uncaptured {
		return // nothing is taken back in this run
	}
	l.checkpoint(checkpoint.TriggerManual, "before partial work is taken back: "+list(paths))
	l.warn(list(paths) + " is taken for partial work of the run that was cut short; how it was found is in a checkpoint")
}
