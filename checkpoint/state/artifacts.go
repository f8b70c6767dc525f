package state

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace"
)

// RecordedFiles returns the recorded artifacts whose bytes are kept.
func RecordedFiles(s *State) []workspace.Entry { return RecordedEntries(s, 0) }

// RecordedEntries returns the artifacts that were recorded after a commit and whose bytes
// are kept.
func RecordedEntries(s *State, after uint64) []workspace.Entry {
	var entries []workspace.Entry
	for path, r := range RecordedArtifacts(s) {
		if a := r.Artifact; r.Seq > after && r.Seq > s.EmptiedSeq && !a.LeftOut && a.Digest != "" {
			entries = append(entries, workspace.Entry{Path: path, Mode: a.Mode, Size: a.Size, Digest: a.Digest})
		}
	}
	return entries
}

// MakersOf returns the workstreams that made the artifacts at these paths, each once.
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

// recordedArtifact is an artifact, the commit that recorded it, and the workstream that
// made it.
type recordedArtifact struct {
	Seq        uint64
	Artifact   Artifact
	workstream string
}

// RecordedArtifacts returns the recorded artifacts by path. A path belongs to the
// workstream that recorded it last. Where a failed attempt changed it later, the artifact
// is as that attempt left it; one without a digest was removed.
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

// RecordedSeq returns the commit that recorded the artifacts of a workstream.
func (w *Workstream) RecordedSeq() uint64 { return max(w.FilesSeq, w.WorkSeq) }

// ArtifactLists yields the artifacts of each workstream that has any, the artifacts that failed
// attempts changed, and the files that held results replace.
func ArtifactLists(s *State) iter.Seq[[]Artifact] {
	return func(yield func([]Artifact) bool) {
		for w := range s.Records() {
			if s.HoldsArtifacts(w) && !yield(w.Artifacts) {
				return
			}
			for _, list := range [][]Artifact{w.LeftFiles(), w.HeldFiles()} {
				if len(list) > 0 && !yield(list) {
					return
				}
			}
		}
	}
}

// HoldsArtifacts reports whether a workstream has artifacts whose bytes are kept.
func (s *State) HoldsArtifacts(w *Workstream) bool { return len(w.Artifacts) > 0 && !s.gaveUp(w) }

// gaveUp reports whether the bytes of a workstream's artifacts were removed when its
// session was emptied.
func (s *State) gaveUp(w *Workstream) bool {
	return s.EmptiedSeq > 0 && w.RecordedSeq() <= s.EmptiedSeq
}

// ArtifactsOf returns the artifacts of a workstream whose bytes the state needs.
func (s *State) ArtifactsOf(name string) []Artifact {
	if w := s.Workstream(name); w != nil && !s.gaveUp(w) {
		return w.Artifacts
	}
	return nil
}

// RestoreID returns the id for restoring files of a workstream of a session. It is the same in
// each run, so that a restore removes the temporary files of one that was killed.
func (s *State) RestoreID(workstream string) string {
	const enough = 8
	sum := sha256.Sum256([]byte(workstream))
	return s.Session + "-" + hex.EncodeToString(sum[:enough])
}

// SortByPath sorts artifacts by path, in place, and returns them.
func SortByPath(all []Artifact) []Artifact {
	slices.SortFunc(all, func(a, b Artifact) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return all
}
