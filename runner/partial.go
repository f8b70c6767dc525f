package runner

import (
	"fmt"
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
	return matchesAny(p.running, path) || p.captured(path, digest)
}

// captured reports whether it is partial work that is as it was captured.
func (p *partialWork) captured(path, digest string) bool {
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
	return killed(st) || st != nil && st.Interrupted != "" && unwrittenThen(st) && !wentBack(st)
}

// wentBack reports whether a rollback brought the session to where it stands, and its
// files.
func wentBack(st *checkpoint.State) bool {
	return len(st.Rollbacks) > 0 && st.Rollbacks[len(st.Rollbacks)-1].To == st.Current
}

// unwrittenThen reports whether a capture or a file of a checkpoint is to be made when
// a session is gone on with.
func unwrittenThen(st *checkpoint.State) bool {
	return st.Pause != nil && st.Pause.Reason == checkpoint.PauseCheckpoint
}

// takesBack reports whether a run takes back partial work that has the given digest,
// "" for none. What no capture tells from an edit must be in the checkpoint that the
// run made before anything started: an edit that came later is in none.
func (l *loop) takesBack(path, digest string) bool {
	known := digest == "" || l.isKept(path, digest) || !l.o.Store.Captures()
	return known && matchesAny(l.sv.partial.running, path) || l.sv.partial.captured(path, digest)
}

// toBeTakenBack is what is there of what is about to be taken back, or made again,
// after a run ended without a capture, sorted: nobody can tell whether somebody edited
// it since.
func (l *loop) toBeTakenBack(plan *Plan) ([]string, error) {
	var patterns []string // of what may run
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			switch ws := l.p.Workstream(s.Name); {
			case s.Kind != WorkstreamStep || ws == nil || l.pl.choose.excluded(ws) != "":
			case s.Decision != Reuse && s.Decision != Skipped:
				patterns = append(patterns, ws.Artifacts...)
			}
		}
	}
	var paths []string
	for _, all := range l.facts.partial {
		for _, a := range all {
			if !matchesAny(patterns, string(a.Path)) {
				continue
			}
			kept, err := l.sv.files.Kept(a.Digest)
			if err == nil && kept {
				_, err = l.sv.files.Lstat(string(a.Path))
			}
			switch {
			case workspace.IsAbsent(err):
			case err != nil:
				return nil, fmt.Errorf("look at partial work: %w", err)
			case kept: // else it stays
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}
