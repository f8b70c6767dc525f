package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// PartialWork tells files that stopped workstreams wrote to the artifacts of other
// workstreams from files that the user edited later. Runner captures the workspace when a
// run ends: a file that has not changed since is partial work. If Runner was stopped
// before the capture, every change that matches a pattern of a workstream that was
// running counts as partial work.
type PartialWork struct {
	Patterns           []string                  // the artifact patterns of workstreams that have begun and not completed
	uncapturedPatterns []string                  // the patterns of workstreams that were running when a run ended without a capture
	ByFailedAttempts   map[string]state.Artifact // artifacts of other workstreams that failed attempts changed, as recorded at the end of the attempt, by path
	capturedDigests    map[string]string         // digests at the end of the last run, by path; nil: not known
}

// Includes reports whether a recorded artifact that differs from its record is partial
// work. digest is the present digest of its file, "" if the file is gone.
func (p *PartialWork) Includes(path, digest string) bool {
	return p.LeftByFailure(path, digest) || tree.MatchesAny(p.uncapturedPatterns, path) || p.unchangedSinceCapture(path, digest)
}

// LeftByFailure reports whether an artifact is unchanged since a failed attempt changed
// it.
func (p *PartialWork) LeftByFailure(path, digest string) bool {
	a, ok := p.ByFailedAttempts[path]
	return ok && a.Digest == digest
}

// unchangedSinceCapture reports whether a file is partial work that has not changed since
// the last run captured it.
func (p *PartialWork) unchangedSinceCapture(path, digest string) bool {
	return p.capturedDigests != nil && p.capturedDigests[path] == digest && tree.MatchesAny(p.Patterns, path)
}

// SetCapture sets the capture that the last run made when it ended. If l is nil, no such
// capture is known, and every change counts as an edit.
func (p *PartialWork) SetCapture(l *workspace.Listing) {
	if l == nil {
		return
	}
	p.capturedDigests = make(map[string]string, len(l.Entries))
	for _, e := range l.Entries {
		p.capturedDigests[e.Path] = e.Digest
	}
	for _, path := range slices.Concat(l.LeftOut, l.Unstable, l.Special) {
		p.capturedDigests[path] = "not captured"
	}
}

// Add adds the artifact patterns of a workstream that has begun and not completed.
// uncaptured says that the last run ended without a capture.
func (p *PartialWork) Add(patterns []string, rec *state.Workstream, uncaptured bool) {
	if rec == nil {
		return
	}
	cut := rec.Status == state.Running || rec.Status == state.Interrupted
	if cut || rec.Status == state.Failed || rec.Status == state.Uncertain {
		p.Patterns = append(p.Patterns, patterns...)
	}
	if cut && uncaptured {
		p.uncapturedPatterns = append(p.uncapturedPatterns, patterns...)
	}
}

// PartialArtifact is a recorded artifact that a stopped workstream wrote over or removed.
type PartialArtifact struct {
	state.Artifact        // as on record
	Found          string // the present digest of the file, "" if it is gone
}
