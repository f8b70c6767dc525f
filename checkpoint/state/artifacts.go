package state

import (
	"iter"
	"slices"

	"prdrunner/checkpoint/workspace"
)

// RecordedFiles returns the artifacts on record as files, but those whose bytes
// are not kept.
func RecordedFiles(s *State) []workspace.Entry { return RecordedEntries(s, 0) }

// RecordedEntries returns the artifacts that were recorded after a commit, but
// those whose bytes are not kept.
func RecordedEntries(s *State, after uint64) []workspace.Entry {
	var entries []workspace.Entry
	for path, r := range RecordedArtifacts(s) {
		if a := r.Artifact; r.Seq > after && r.Seq > s.EmptiedSeq && !a.LeftOut && a.Digest != "" {
			entries = append(entries, workspace.Entry{Path: path, Mode: a.Mode, Size: a.Size, Digest: a.Digest})
		}
	}
	return entries
}

// MakersOf returns the workstreams that the artifacts at some paths are of, each
// once.
func (s *State) MakersOf(paths []string) []string {
	recorded := RecordedArtifacts(s)
	var names []string
	for _, path := range paths {
		if r, ok := recorded[path]; ok && !slices.Contains(names, r.workstream) {
			names = append(names, r.workstream)
		}
	}
	return names
}

// recordedArtifact is an artifact, the commit that recorded it, and whose it is.
type recordedArtifact struct {
	Seq        uint64
	Artifact   Artifact
	workstream string
}

// RecordedArtifacts returns the artifacts on record, by path. A path belongs to
// the workstream that recorded it last. What an attempt that failed left of it is
// on record, too, and has no digest where that is nothing.
func RecordedArtifacts(s *State) map[string]recordedArtifact {
	newest := map[string]recordedArtifact{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Status != Completed && w.Status != Succeeded {
				continue
			}
			seq := w.RecordedSeq()
			for _, a := range w.Artifacts {
				path := string(a.Path)
				if had, ok := newest[path]; a.Digest != "" && (!ok || seq >= had.Seq) {
					newest[path] = recordedArtifact{seq, a, w.Name}
				}
			}
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			for _, a := range w.LeftFiles() {
				if had, ok := newest[string(a.Path)]; ok && w.Left.Seq > had.Seq {
					newest[string(a.Path)] = recordedArtifact{w.Left.Seq, a, had.workstream}
				}
			}
		}
	}
	return newest
}

// RecordedSeq is the commit that recorded the artifacts of a workstream.
func (w *Workstream) RecordedSeq() uint64 { return max(w.FilesSeq, w.WorkSeq) }

// ArtifactLists yields the artifacts of each workstream of a state that has any, and
// what attempts that failed left of them.
func ArtifactLists(s *State) iter.Seq[[]Artifact] {
	return func(yield func([]Artifact) bool) {
		for w := range s.Records() {
			if s.HoldsArtifacts(w) && !yield(w.Artifacts) {
				return
			}
			if left := w.LeftFiles(); len(left) > 0 && !yield(left) {
				return
			}
		}
	}
}

// HoldsArtifacts reports whether a workstream has artifacts on record whose bytes
// were not given up since.
func (s *State) HoldsArtifacts(w *Workstream) bool { return len(w.Artifacts) > 0 && !s.gaveUp(w) }

// gaveUp reports whether the bytes of a workstream's artifacts went when the
// session was emptied.
func (s *State) gaveUp(w *Workstream) bool {
	return s.EmptiedSeq > 0 && w.RecordedSeq() <= s.EmptiedSeq
}

// ArtifactsOf are the artifacts of a workstream whose bytes the state needs.
func (s *State) ArtifactsOf(name string) []Artifact {
	if w := s.Workstream(name); w != nil && !s.gaveUp(w) {
		return w.Artifacts
	}
	return nil
}
