package plan

import (
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// A workstream is bound to its input files as they were when it started, and a
// verdict to the files that the gate judged, whoever writes them. Both stay
// valid for as long as these files are unchanged, which a file is in two cases:
// it is as the step saw it, or a workstream of the pipeline that need not have
// ended by then has changed it since. Only what that workstream has on record,
// or its partial work, counts as its change; anything else is an edit.

// Scope is which files a step looks at, and which workstreams have always ended
// by then.
type Scope struct {
	Patterns []string
	Self     *pipeline.Workstream // whose artifacts are not its inputs; nil for a gate
	Ended    func(*pipeline.Workstream) bool
}

// ScopeOf is the view of a workstream: its inputs.
func (o *Ownership) ScopeOf(ws *pipeline.Workstream) Scope {
	return Scope{Patterns: ws.InputPatterns, Self: ws, Ended: func(maker *pipeline.Workstream) bool { return o.precedes(maker, ws) }}
}

// ScopeOfGate is the view of a gate: what it judges.
func (o *Ownership) ScopeOfGate(g *pipeline.Gate) Scope {
	return Scope{Patterns: JudgedFiles(g), Ended: func(maker *pipeline.Workstream) bool { return o.judgeable(maker, g) }}
}

// Makes reports whether a path is an artifact of the workstream itself, which is
// none of its inputs.
func (o *Ownership) Makes(v Scope, path string) bool {
	for maker := range o.Makers(path) {
		if maker == v.Self {
			return true
		}
	}
	return false
}

// Shared reports whether a workstream may write the path that need not have
// ended when the step looks, and whether one may that has.
func (o *Ownership) Shared(v Scope, path string) (shared, before bool) {
	for maker := range o.Makers(path) {
		if v.Ended(maker) {
			before = true
		} else {
			shared = true
		}
	}
	return shared, before
}

// FileSet is the files that a step sees, with their digest, which may take long
// to find out.
type FileSet struct {
	Files    []checkpoint.Artifact
	Patterns []string     // that they match, extended by what links stand for
	Sum      string       // "": it was not found out yet
	Seq      uint64       // of the state when the files were looked at
	Shared   []SharedFile // those of the files that a workstream may write which need not have ended
}

// SharedFile is a file that a workstream may write which need not have ended
// when a step looks at it.
type SharedFile struct {
	checkpoint.Artifact
	Before bool // a workstream may write it, too, that has ended by then
}

func (s FileSet) digest() string {
	if s.Sum == "" {
		return DigestFiles(s.Files)
	}
	return s.Sum
}

// seen returns what is recorded of the set in addition to its digest.
func (s FileSet) seen() *checkpoint.Seen {
	seen := &checkpoint.Seen{Seq: s.Seq}
	if len(s.Shared) <= checkpoint.MaxSeen {
		for _, f := range s.Shared {
			seen.Files = append(seen.Files, checkpoint.SeenFile{Path: f.Path, Mode: f.Mode, Digest: f.Digest})
		}
	}
	return seen
}

// asSeen returns the files as a step would see them if no workstream had changed them
// since it looked. Their digest is the one on record unless something else has changed
// them.
func (pl *Planner) asSeen(v Scope, now FileSet, seen *checkpoint.Seen) FileSet {
	if seen == nil {
		return now.asOnceRecorded()
	}
	is := make(map[checkpoint.Text]*checkpoint.Artifact, len(now.Shared))
	for i := range now.Shared {
		is[now.Shared[i].Path] = &now.Shared[i].Artifact
	}
	then := make(map[checkpoint.Text]*checkpoint.Artifact)
	for _, f := range seen.Files {
		was := &checkpoint.Artifact{Path: f.Path, Mode: f.Mode, Digest: f.Digest}
		if !sameFile(was, is[f.Path]) && pl.writtenSince(v, seen.Seq, string(f.Path), is[f.Path]) {
			then[f.Path] = was
		}
		delete(is, f.Path)
	}
	for path, file := range is { // these were not there
		if pl.writtenSince(v, seen.Seq, string(path), file) {
			then[path] = nil
		}
	}
	return now.with(then)
}

// unchanged reports whether a file is as a step saw it, or as a workstream has
// left it since.
func (pl *Planner) unchanged(v Scope, now FileSet, seen *checkpoint.Seen, path string) bool {
	if seen == nil {
		shared, before := pl.own.Shared(v, path)
		return shared && !before
	}
	var was, is *checkpoint.Artifact
	if i, ok := slices.BinarySearchFunc(now.Shared, path, func(f SharedFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		is = &now.Shared[i].Artifact
	}
	if i, ok := slices.BinarySearchFunc(seen.Files, path, func(f checkpoint.SeenFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		was = &checkpoint.Artifact{Mode: seen.Files[i].Mode, Digest: seen.Files[i].Digest}
	}
	return was != nil && sameFile(was, is) || pl.writtenSince(v, seen.Seq, path, is)
}

// with is the set with other files in the place of some: nil for none.
func (s FileSet) with(others map[checkpoint.Text]*checkpoint.Artifact) FileSet {
	if len(others) == 0 {
		return s
	}
	files := slices.DeleteFunc(slices.Clone(s.Files), func(a checkpoint.Artifact) bool {
		_, other := others[a.Path]
		return other
	})
	for _, other := range others {
		if other != nil {
			files = append(files, *other)
		}
	}
	return FileSet{Files: SortedByPath(files), Patterns: s.Patterns, Seq: s.Seq, Shared: s.Shared}
}

// asOnceRecorded is the set for records that have no Seen: files that only
// workstreams make which need not have ended were left out of them.
func (s FileSet) asOnceRecorded() FileSet {
	out := make(map[checkpoint.Text]*checkpoint.Artifact)
	for _, f := range s.Shared {
		if !f.Before {
			out[f.Path] = nil
		}
	}
	return s.with(out)
}

// writtenSince reports whether a file, nil if there is none, is as a workstream left it
// that had not ended when the step looked, at a commit of the session: as that
// workstream recorded it, or as its partial work.
func (pl *Planner) writtenSince(v Scope, seq uint64, path string, now *checkpoint.Artifact) bool {
	var last *checkpoint.Workstream
	ended := false
	for maker := range pl.own.Makers(path) {
		rec := pl.st.Workstream(maker.Name)
		switch {
		case maker == v.Self || rec == nil || rec.Status == checkpoint.Skipped:
			continue
		case !v.Ended(maker) && pl.leftUnfinished(rec, seq, path, DigestNow(now)):
			return true
		}
		if rec.FilesSeq > 0 && (last == nil || rec.FilesSeq > last.FilesSeq) {
			last, ended = rec, v.Ended(maker)
		}
	}
	if last == nil || ended || last.FilesSeq < seq || slices.Contains(last.Edited, checkpoint.Text(path)) {
		return false
	}
	i, recorded := slices.BinarySearchFunc(last.Artifacts, path, func(a checkpoint.Artifact, path string) int { return strings.Compare(string(a.Path), path) })
	if !recorded {
		return now == nil // it was deleted
	}
	return sameFile(&last.Artifacts[i], now)
}

// UnderWay reports whether a file with a digest, "" where it is gone, is the work of a
// workstream that has begun and is not done.
func (pl *Planner) UnderWay(path, digest string) bool {
	for maker := range pl.own.Makers(path) {
		if pl.leftUnfinished(pl.st.Workstream(maker.Name), 0, path, digest) {
			return true
		}
	}
	return false
}

// Makes reports whether a path is among the artifacts of a workstream.
func (pl *Planner) Makes(ws *pipeline.Workstream, path string) bool {
	return pl.own.Makes(pl.own.ScopeOf(ws), path)
}

// leftUnfinished reports whether a file with a digest, "" where it is gone, may be the partial work of a workstream
// that was under way at a commit of the session, or later, and is not done.
func (pl *Planner) leftUnfinished(rec *checkpoint.Workstream, seq uint64, path, digest string) bool {
	switch rec.Status {
	case checkpoint.Running:
		return pl.runSeq > 0 || pl.facts.Stopped.Accounts(path, digest)
	case checkpoint.Failed, checkpoint.Interrupted, checkpoint.Uncertain:
		inThisRun := pl.runSeq > 0 && rec.EndedSeq > pl.runSeq
		return rec.EndedSeq >= seq && (inThisRun || pl.facts.Stopped.Accounts(path, digest))
	case checkpoint.Pending, checkpoint.Succeeded, checkpoint.Completed, checkpoint.Passed, checkpoint.Rejected, checkpoint.Waiting, checkpoint.Skipped:
	}
	return false
}

// DigestNow is the digest of a file, "" where there is none.
func DigestNow(a *checkpoint.Artifact) string {
	if a == nil {
		return ""
	}
	return a.Digest
}

// sameFile reports whether two files, nil for none, have the same digest and mode.
func sameFile(a, b *checkpoint.Artifact) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Digest == b.Digest && digestedMode(*a) == digestedMode(*b)
}
