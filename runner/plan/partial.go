package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// PartialWork tells files that stopped workstreams wrote to the artifacts of other
// workstreams from files that the user edited later. Runner captures the workspace when a
// run ends: a file that is still as captured is partial work. After a kill, or a signal
// before the capture, there is no such capture; then every change under the patterns of a
// workstream that was running counts as partial work.
type PartialWork struct {
	Patterns []string                  // artifact patterns of workstreams that were begun and not completed
	running  []string                  // the patterns of such workstreams that were running when a run ended without a capture
	Left     map[string]state.Artifact // artifacts of other workstreams as failed attempts left them on record, by path
	then     map[string]string         // digests at the end of the last run, by path; nil: not known
}

// Accounts reports whether a recorded artifact that differs from its record is partial
// work. digest is the present digest of its file, "" if the file is gone.
func (p *PartialWork) Accounts(path, digest string) bool {
	return p.IsLeft(path, digest) || tree.MatchesAny(p.running, path) || p.captured(path, digest)
}

// IsLeft reports whether an artifact is still as a failed attempt left it.
func (p *PartialWork) IsLeft(path, digest string) bool {
	a, ok := p.Left[path]
	return ok && a.Digest == digest
}

// captured reports whether a file is partial work and still as the last run captured it.
func (p *PartialWork) captured(path, digest string) bool {
	return p.then != nil && p.then[path] == digest && tree.MatchesAny(p.Patterns, path)
}

// Since takes the files at the end of the last run. They count as partial work as long as
// they are unchanged. If l is nil, these files are not known and every change counts as an
// edit.
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

// Add adds the artifact patterns of a workstream that has begun and not completed. unseen
// says that the last run ended without a capture.
func (p *PartialWork) Add(patterns []string, rec *state.Workstream, unseen bool) {
	if rec == nil {
		return
	}
	cut := rec.Status == state.Running || rec.Status == state.Interrupted
	if cut || rec.Status == state.Failed || rec.Status == state.Uncertain {
		p.Patterns = append(p.Patterns, patterns...)
	}
	if cut && unseen {
		p.running = append(p.running, patterns...)
	}
}

// PartialArtifact is a recorded artifact that a stopped workstream wrote over or removed.
type PartialArtifact struct {
	state.Artifact        // as on record
	Found          string // the present digest of the file, "" if it is gone
}
