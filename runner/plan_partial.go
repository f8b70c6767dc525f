package runner

import (
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
