package plan

import (
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// The result of a workstream holds for the input files that it saw when it started, and a
// verdict holds for the files that the gate judged. Both stay valid as long as these
// files count as unchanged. A file counts as unchanged in two cases: it is the same, or
// it was changed by a workstream that had not necessarily ended when the step saw the
// file. Such a change is known from the artifacts that this workstream recorded, or from
// its partial work. Any other change is an edit.

// Scope says which files a step sees, and which workstreams have always ended when it sees
// them.
type Scope struct {
	Patterns []string
	Self     *pipeline.Workstream // the workstream itself, whose artifacts are not its inputs; nil for a gate
	Ended    func(*pipeline.Workstream) bool
}

// ScopeOf returns the scope of a workstream: its inputs.
func (o *Ownership) ScopeOf(ws *pipeline.Workstream) Scope {
	return Scope{Patterns: ws.InputPatterns, Self: ws, Ended: func(maker *pipeline.Workstream) bool { return o.endsBefore(maker, ws) }}
}

// ScopeOfGate returns the scope of a gate: the files that it judges.
func (o *Ownership) ScopeOfGate(g *pipeline.Gate) Scope {
	return Scope{Patterns: JudgedFiles(g), Ended: func(maker *pipeline.Workstream) bool { return o.endsBeforeGate(maker, g) }}
}

// Makes reports whether a path is an artifact of the scope's own workstream. Such a file
// is not one of its inputs.
func (o *Ownership) Makes(v Scope, path string) bool {
	for maker := range o.makers(path) {
		if maker == v.Self {
			return true
		}
	}
	return false
}

// Shared reports whether the path may be written by a workstream that has not necessarily
// ended when the step sees it, and whether it may be written by one that has.
func (o *Ownership) Shared(v Scope, path string) (shared, before bool) {
	for maker := range o.makers(path) {
		if v.Ended(maker) {
			before = true
		} else {
			shared = true
		}
	}
	return shared, before
}

// FileSet holds the files that a step sees, and their digest.
type FileSet struct {
	Files    []state.Artifact
	Patterns []string     // the patterns that the files match, extended for links
	Sum      string       // the digest of Files; "": not computed
	Seq      uint64       // the commit of the state when the files were read
	Shared   []SharedFile // the files that a workstream may write which has not necessarily ended
}

// SharedFile is a file that a workstream may write which has not necessarily ended when a
// step sees the file.
type SharedFile struct {
	state.Artifact
	Before bool // a workstream that has ended by then may write it, too
}

func (s FileSet) digest() string {
	if s.Sum == "" {
		return DigestFiles(s.Files)
	}
	return s.Sum
}

// recordSeen returns what Runner records about the set in addition to its digest.
func (s FileSet) recordSeen() *state.Seen {
	seen := &state.Seen{Seq: s.Seq}
	if len(s.Shared) <= state.MaxSeen {
		for _, f := range s.Shared {
			seen.Files = append(seen.Files, state.SeenFile{Path: f.Path, Mode: f.Mode, Digest: f.Digest})
		}
	}
	return seen
}

// withoutMakerChanges returns the files that the step would see if no workstream had
// changed them since. The set has the recorded digest unless something else changed the
// files.
func (pl *Planner) withoutMakerChanges(v Scope, now FileSet, seen *state.Seen) FileSet {
	if seen == nil {
		return now.withoutSharedFiles()
	}
	is := make(map[state.Text]*state.Artifact, len(now.Shared))
	for i := range now.Shared {
		is[now.Shared[i].Path] = &now.Shared[i].Artifact
	}
	then := make(map[state.Text]*state.Artifact)
	for _, f := range seen.Files {
		was := &state.Artifact{Path: f.Path, Mode: f.Mode, Digest: f.Digest}
		if !sameFile(was, is[f.Path]) && pl.writtenSince(v, seen.Seq, string(f.Path), is[f.Path]) {
			then[f.Path] = was
		}
		delete(is, f.Path)
	}
	for path, file := range is { // these files did not exist then
		if pl.writtenSince(v, seen.Seq, string(path), file) {
			then[path] = nil
		}
	}
	return now.replaceFiles(then)
}

// unchangedSince reports whether a file is the same that the step saw, or was changed
// since only by a workstream.
func (pl *Planner) unchangedSince(v Scope, now FileSet, seen *state.Seen, path string) bool {
	if seen == nil {
		shared, before := pl.ownership.Shared(v, path)
		return shared && !before
	}
	var was, is *state.Artifact
	if i, ok := slices.BinarySearchFunc(now.Shared, path, func(f SharedFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		is = &now.Shared[i].Artifact
	}
	if i, ok := slices.BinarySearchFunc(seen.Files, path, func(f state.SeenFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		was = &state.Artifact{Mode: seen.Files[i].Mode, Digest: seen.Files[i].Digest}
	}
	return was != nil && sameFile(was, is) || pl.writtenSince(v, seen.Seq, path, is)
}

// replaceFiles returns the set with some files replaced, or removed where others has nil.
func (s FileSet) replaceFiles(others map[state.Text]*state.Artifact) FileSet {
	if len(others) == 0 {
		return s
	}
	files := slices.DeleteFunc(slices.Clone(s.Files), func(a state.Artifact) bool {
		_, other := others[a.Path]
		return other
	})
	for _, other := range others {
		if other != nil {
			files = append(files, *other)
		}
	}
	return FileSet{Files: state.SortByPath(files), Patterns: s.Patterns, Seq: s.Seq, Shared: s.Shared}
}

// withoutSharedFiles returns the set to compare with records that have no Seen. The
// digests of such records leave out files whose makers had not necessarily ended.
func (s FileSet) withoutSharedFiles() FileSet {
	out := make(map[state.Text]*state.Artifact)
	for _, f := range s.Shared {
		if !f.Before {
			out[f.Path] = nil
		}
	}
	return s.replaceFiles(out)
}

// writtenSince reports whether a file was made by a workstream that had not necessarily
// ended when the step saw the file at commit seq: the workstream recorded it like this,
// or it is partial work of the workstream. now is nil if the file does not exist.
func (pl *Planner) writtenSince(v Scope, seq uint64, path string, now *state.Artifact) bool {
	var last *state.Workstream
	ended := false
	for maker := range pl.ownership.makers(path) {
		rec := pl.st.Workstream(maker.Name)
		switch {
		case rec == nil || rec.Status == state.Skipped:
			continue
		case !v.Ended(maker) && pl.maybePartial(rec, seq, path, DigestOrEmpty(now)):
			return true
		}
		if last == nil || rec.FilesSeq > last.FilesSeq {
			last, ended = rec, v.Ended(maker)
		}
	}
	if last == nil || ended || last.FilesSeq < seq || slices.Contains(last.Edited, state.Text(path)) {
		return false
	}
	i, recorded := slices.BinarySearchFunc(last.Artifacts, path, func(a state.Artifact, path string) int { return strings.Compare(string(a.Path), path) })
	if !recorded {
		return now == nil // it was deleted
	}
	return sameFile(&last.Artifacts[i], now)
}

// IsPartialWork reports whether a file is the work of a workstream that has begun and is
// not done. digest is "" if the file is gone.
func (pl *Planner) IsPartialWork(path, digest string) bool {
	for maker := range pl.ownership.makers(path) {
		if pl.maybePartial(pl.st.Workstream(maker.Name), 0, path, digest) {
			return true
		}
	}
	return false
}

// Makes reports whether a path is an artifact of the workstream.
func (pl *Planner) Makes(ws *pipeline.Workstream, path string) bool {
	return pl.ownership.Makes(pl.ownership.ScopeOf(ws), path)
}

// maybePartial reports whether a file may be the partial work of a workstream that runs,
// or that ended without success at commit seq or later. digest is "" if the file is gone.
func (pl *Planner) maybePartial(rec *state.Workstream, seq uint64, path, digest string) bool {
	switch rec.Status {
	case state.Running:
		return pl.runSeq > 0 || pl.facts.Stopped.Includes(path, digest)
	case state.Failed, state.Interrupted, state.Uncertain:
		inThisRun := pl.runSeq > 0 && rec.EndedSeq > pl.runSeq
		return rec.EndedSeq >= seq && (inThisRun || pl.facts.Stopped.Includes(path, digest))
	case state.Pending, state.Succeeded, state.Completed, state.Passed, state.Rejected, state.Waiting, state.Skipped:
	}
	return false
}

// DigestOrEmpty returns the digest of a file, "" for nil.
func DigestOrEmpty(a *state.Artifact) string {
	if a == nil {
		return ""
	}
	return a.Digest
}

// sameFile reports whether two files, nil for none, have the same digest and mode.
func sameFile(a, b *state.Artifact) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Digest == b.Digest && digestedMode(*a) == digestedMode(*b)
}
