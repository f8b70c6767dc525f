package runner

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

// view is which files a step looks at, and which workstreams have always ended
// by then.
type view struct {
	patterns []string
	own      *pipeline.Workstream // whose artifacts are not its inputs; nil for a gate
	ended    func(*pipeline.Workstream) bool
}

// viewOf is the view of a workstream: its inputs.
func (o *ownership) viewOf(ws *pipeline.Workstream) view {
	return view{patterns: ws.InputPatterns, own: ws, ended: func(maker *pipeline.Workstream) bool { return o.precedes(maker, ws) }}
}

// viewOfGate is the view of a gate: what it judges.
func (o *ownership) viewOfGate(g *pipeline.Gate) view {
	return view{patterns: judgedFiles(g), ended: func(maker *pipeline.Workstream) bool { return o.judgeable(maker, g) }}
}

// makes reports whether a path is an artifact of the workstream itself, which is
// none of its inputs.
func (o *ownership) makes(v view, path string) bool {
	for maker := range o.makers(path) {
		if maker == v.own {
			return true
		}
	}
	return false
}

// shared reports whether a workstream may write the path that need not have
// ended when the step looks, and whether one may that has.
func (o *ownership) shared(v view, path string) (shared, before bool) {
	for maker := range o.makers(path) {
		if v.ended(maker) {
			before = true
		} else {
			shared = true
		}
	}
	return shared, before
}

// fileSet is the files that a step sees, with their digest, which may take long
// to find out.
type fileSet struct {
	files    []checkpoint.Artifact
	patterns []string     // that they match, extended by what links stand for
	sum      string       // "": it was not found out yet
	seq      uint64       // of the state when the files were looked at
	shared   []sharedFile // those of the files that a workstream may write which need not have ended
}

// sharedFile is a file that a workstream may write which need not have ended
// when a step looks at it.
type sharedFile struct {
	checkpoint.Artifact
	before bool // a workstream may write it, too, that has ended by then
}

func (s fileSet) digest() string {
	if s.sum == "" {
		return digestFiles(s.files)
	}
	return s.sum
}

// seen is what goes on record of the set beside its digest.
func (s fileSet) seen() *checkpoint.Seen {
	seen := &checkpoint.Seen{Seq: s.seq}
	if len(s.shared) <= checkpoint.MaxSeen {
		for _, f := range s.shared {
			seen.Files = append(seen.Files, checkpoint.SeenFile{Path: f.Path, Mode: f.Mode, Digest: f.Digest})
		}
	}
	return seen
}

// asSeen is the files that are there now as a step would see them, had no
// workstream changed them since it looked. The digest of that is the one on
// record as long as nobody else has changed them either.
func (pl *planner) asSeen(v view, now fileSet, seen *checkpoint.Seen) fileSet {
	if seen == nil {
		return now.asOnceRecorded()
	}
	is := make(map[checkpoint.Text]*checkpoint.Artifact, len(now.shared))
	for i := range now.shared {
		is[now.shared[i].Path] = &now.shared[i].Artifact
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
func (pl *planner) unchanged(v view, now fileSet, seen *checkpoint.Seen, path string) bool {
	if seen == nil {
		shared, before := pl.own.shared(v, path)
		return shared && !before
	}
	var was, is *checkpoint.Artifact
	if i, ok := slices.BinarySearchFunc(now.shared, path, func(f sharedFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		is = &now.shared[i].Artifact
	}
	if i, ok := slices.BinarySearchFunc(seen.Files, path, func(f checkpoint.SeenFile, path string) int { return strings.Compare(string(f.Path), path) }); ok {
		was = &checkpoint.Artifact{Mode: seen.Files[i].Mode, Digest: seen.Files[i].Digest}
	}
	return was != nil && sameFile(was, is) || pl.writtenSince(v, seen.Seq, path, is)
}

// with is the set with other files in the place of some: nil for none.
func (s fileSet) with(others map[checkpoint.Text]*checkpoint.Artifact) fileSet {
	if len(others) == 0 {
		return s
	}
	files := slices.DeleteFunc(slices.Clone(s.files), func(a checkpoint.Artifact) bool {
		_, other := others[a.Path]
		return other
	})
	for _, other := range others {
		if other != nil {
			files = append(files, *other)
		}
	}
	return fileSet{files: sortedByPath(files), patterns: s.patterns, seq: s.seq, shared: s.shared}
}

// asOnceRecorded is the set for records that have no Seen: files that only
// workstreams make which need not have ended were left out of them.
func (s fileSet) asOnceRecorded() fileSet {
	out := make(map[checkpoint.Text]*checkpoint.Artifact)
	for _, f := range s.shared {
		if !f.before {
			out[f.Path] = nil
		}
	}
	return s.with(out)
}

// writtenSince reports whether a file, nil where there is none, is as a workstream
// left it that had not ended when a step looked, at a commit of the session: as it
// is on record, or as its partial work accounts for.
func (pl *planner) writtenSince(v view, seq uint64, path string, now *checkpoint.Artifact) bool {
	var last *checkpoint.Workstream
	ended := false
	for maker := range pl.own.makers(path) {
		rec := pl.st.Workstream(maker.Name)
		switch {
		case maker == v.own || rec == nil || rec.Status == checkpoint.Skipped:
			continue
		case !v.ended(maker) && pl.leftUnfinished(rec, seq, path, digestNow(now)):
			return true
		}
		if rec.FilesSeq > 0 && (last == nil || rec.FilesSeq > last.FilesSeq) {
			last, ended = rec, v.ended(maker)
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

// leftUnfinished reports whether a file with a digest, "" where it is gone, may be the partial work of a workstream
// that was under way at a commit of the session, or later, and is not done.
func (pl *planner) leftUnfinished(rec *checkpoint.Workstream, seq uint64, path, digest string) bool {
	switch rec.Status {
	case checkpoint.Running:
		return pl.runSeq > 0 || pl.facts.stopped.accounts(path, digest)
	case checkpoint.Failed, checkpoint.Interrupted, checkpoint.Uncertain:
		inThisRun := pl.runSeq > 0 && rec.EndedSeq > pl.runSeq
		return rec.EndedSeq >= seq && (inThisRun || pl.facts.stopped.accounts(path, digest))
	case checkpoint.Pending, checkpoint.Succeeded, checkpoint.Completed, checkpoint.Passed, checkpoint.Rejected, checkpoint.Waiting, checkpoint.Skipped:
	}
	return false
}

// digestNow is the digest of a file, "" where there is none.
func digestNow(a *checkpoint.Artifact) string {
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
