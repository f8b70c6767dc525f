package plan

import (
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
)

// PartialWork tells files that stopped workstreams wrote to the artifacts of others from
// files that the user edited later. Runner captures the workspace when a run ends: a
// file that is still as captured is partial work. After a kill, or a signal before the
// capture, there is no such capture; then every change under the patterns of a
// workstream that was running counts as partial work.
type PartialWork struct {
	Patterns []string                       // of workstreams that were begun and not completed
	running  []string                       // those of them that ran when a run ended without a capture
	Left     map[string]checkpoint.Artifact // what attempts that failed left of artifacts of others, by path: that is on record
	then     map[string]string              // digests at the end of the last run, by path; nil: they are not known
}

// Accounts reports whether a recorded artifact that is not as recorded, but has
// the given digest, "" for none, is partial work.
func (p *PartialWork) Accounts(path, digest string) bool {
	return p.IsLeft(path, digest) || MatchesAny(p.running, path) || p.captured(path, digest)
}

// IsLeft reports whether an artifact is as an attempt that failed left it.
func (p *PartialWork) IsLeft(path, digest string) bool {
	a, ok := p.Left[path]
	return ok && a.Digest == digest
}

// captured reports whether it is partial work that is as it was captured.
func (p *PartialWork) captured(path, digest string) bool {
	return p.then != nil && p.then[path] == digest && MatchesAny(p.Patterns, path)
}

// Since takes the files at the end of the last run, which count as partial work as long
// as they are unchanged. If they are not known, l is nil and every change is an edit.
func (p *PartialWork) Since(l *workspace.Listing) {
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

func (p *PartialWork) Add(patterns []string, rec *checkpoint.Workstream, unseen bool) {
	if rec == nil {
		return
	}
	cut := rec.Status == checkpoint.Running || rec.Status == checkpoint.Interrupted
	if cut || rec.Status == checkpoint.Failed || rec.Status == checkpoint.Uncertain {
		p.Patterns = append(p.Patterns, patterns...)
	}
	if cut && unseen {
		p.running = append(p.running, patterns...)
	}
}

// WasKilled reports whether the end of the last run was never recorded.
func WasKilled(st *checkpoint.State) bool { return st != nil && st.RunningAt != nil }

// EndedUncaptured reports whether the files were not captured when what ran in the last
// run ended: its runner was killed, or a signal gave up the capture.
func EndedUncaptured(st *checkpoint.State) bool {
	return WasKilled(st) || st != nil && st.Interrupted != "" && OwesCheckpoint(st) && !wentBack(st)
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

// OwesCheckpoint reports whether a capture or a file of a checkpoint is to be made when
// a session is gone on with.
func OwesCheckpoint(st *checkpoint.State) bool {
	return st.Pause != nil && st.Pause.Reason == checkpoint.PauseCheckpoint
}

// PartialArtifact is a recorded artifact that a stopped workstream wrote over, or
// removed.
type PartialArtifact struct {
	checkpoint.Artifact        // as on record
	Found               string // its digest now, "" where it is gone
}

func RecordedOf(partial []PartialArtifact) []checkpoint.Artifact {
	all := make([]checkpoint.Artifact, len(partial))
	for i, a := range partial {
		all[i] = a.Artifact
	}
	return all
}
