package runner

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// recordedFiles holds the files on which steps may rely, by path: the artifacts that
// workstreams recorded, and the files that gates judged. If another workstream declares
// such a file, too, and has written it since, the file is recorded for that workstream,
// and its change is no edit.
type recordedFiles struct {
	made        index                       // artifacts, by the workstream that recorded them last
	judged      index                       // by the gate that judged them last
	filesByGate map[string][]state.Artifact // the files to which each valid verdict is bound, by the label of its gate
}

// recordedFile is a file that a workstream made or a gate judged.
type recordedFile struct {
	file  state.Artifact
	owner string
}

func newRecordedFiles() *recordedFiles {
	return &recordedFiles{made: index{}, judged: index{}, filesByGate: make(map[string][]state.Artifact)}
}

// setArtifacts records the artifacts of a workstream. It first forgets all files that
// match the workstream's patterns, because the workstream may have rewritten or deleted
// these files.
func (s *recordedFiles) setArtifacts(ws *pipeline.Workstream, patterns []string, artifacts []state.Artifact) {
	for _, of := range []index{s.made, s.judged} {
		for p := range of.matching(patterns) {
			of.remove(p)
		}
	}
	s.addArtifacts(ws.Name, artifacts)
}

// addArtifacts records artifacts of a workstream, and forgets none.
func (s *recordedFiles) addArtifacts(workstream string, artifacts []state.Artifact) {
	for _, a := range artifacts {
		s.made.store(string(a.Path), recordedFile{a, workstream})
	}
}

// anyMatch reports whether some recorded file matches the patterns.
func (s *recordedFiles) anyMatch(patterns []string) bool {
	for _, of := range []index{s.made, s.judged} {
		for range of.matching(patterns) {
			return true
		}
	}
	return false
}

// forgetArtifacts forgets the artifacts of a skipped workstream: no step relies on them
// any longer.
func (s *recordedFiles) forgetArtifacts(w *state.Workstream) {
	for _, a := range w.Artifacts {
		if m, ok := s.made.lookup(string(a.Path)); ok && m.owner == w.Name {
			s.made.remove(string(a.Path))
		}
	}
}

// setJudged records the files for which a gate has passed.
func (s *recordedFiles) setJudged(label string, files []state.Artifact) {
	s.forgetJudged(label)
	s.filesByGate[label] = files
	for _, a := range files {
		s.judged.store(string(a.Path), recordedFile{a, label})
	}
}

// forgetJudged forgets the files of a gate's verdict, because the gate judges again.
func (s *recordedFiles) forgetJudged(label string) {
	for _, a := range s.filesByGate[label] {
		if j, ok := s.judged.lookup(string(a.Path)); ok && j.owner == label {
			s.judged.remove(string(a.Path))
		}
	}
	delete(s.filesByGate, label)
}

// edit is a file that differs from its record.
type edit struct {
	path   string
	gate   string // the gate that judged it, "" if none did
	maker  string // the workstream that made it, "" if none did
	change string
	digest string // the digest of the file, "" if it was deleted

	beforeRun bool // it was made before the run, which could not know of it at its start
	madeAnew  bool // the maker must run again, so that the edit can't be kept
}

// compareFile compares a file with its record, and reports whether they differ. now is
// nil if the file does not exist.
func (s *recordedFiles) compareFile(p string, now *state.Artifact) (edit, bool) {
	e := edit{path: p, change: howDiffers(now), digest: plan.DigestOrEmpty(now)}
	if j, ok := s.judged.lookup(p); ok && (now == nil || plan.DigestFiles([]state.Artifact{j.file}) != plan.DigestFiles([]state.Artifact{*now})) {
		e.gate = j.owner
	}
	if m, ok := s.made.lookup(p); ok && m.file.Digest != "" && (now == nil || now.Digest != m.file.Digest) {
		e.maker = m.owner
	}
	return e, e.gate != "" || e.maker != ""
}

func howDiffers(now *state.Artifact) string {
	if now == nil {
		return "deleted"
	}
	return "changed"
}

// editsAmong compares the files that match patterns with their records, and returns the
// edits. It ignores deleted files for which leaveOut returns true. leaveOut may be nil.
func (s *recordedFiles) editsAmong(patterns []string, found []state.Artifact, leaveOut func(string) bool) []edit {
	var edits []edit
	there := make(map[string]bool, len(found))
	for i, a := range found {
		there[string(a.Path)] = true
		if e, ok := s.compareFile(string(a.Path), &found[i]); ok {
			edits = append(edits, e)
		}
	}
	for _, of := range []index{s.made, s.judged} {
		for p := range of.matching(patterns) {
			if there[p] || leaveOut != nil && leaveOut(p) {
				continue
			}
			if e, ok := s.compareFile(p, nil); ok {
				there[p] = true
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// editsSinceJudged compares the files that a gate would judge now with those for which it
// has passed.
func (s *recordedFiles) editsSinceJudged(label string, now []state.Artifact) []edit {
	files := indexByPath(now)
	var edits []edit
	was := indexByPath(s.filesByGate[label])
	for _, a := range s.filesByGate[label] {
		if e, ok := s.compareFile(string(a.Path), files[string(a.Path)]); ok {
			edits = append(edits, e)
		}
	}
	for _, a := range now {
		if _, made := s.made.lookup(string(a.Path)); was[string(a.Path)] == nil && !made {
			edits = append(edits, edit{path: string(a.Path), gate: label, change: "added", digest: a.Digest})
		}
	}
	return edits
}

func indexByPath(files []state.Artifact) map[string]*state.Artifact {
	m := make(map[string]*state.Artifact, len(files))
	for i := range files {
		m[string(files[i].Path)] = &files[i]
	}
	return m
}

// index holds files by directory and name, so that a search for a pattern need not read
// through all files.
type index map[string]map[string]recordedFile

func (x index) lookup(p string) (recordedFile, bool) {
	s, ok := x[path.Dir(p)][path.Base(p)]
	return s, ok
}

func (x index) store(p string, s recordedFile) {
	dir := path.Dir(p)
	if x[dir] == nil {
		x[dir] = make(map[string]recordedFile)
	}
	x[dir][path.Base(p)] = s
}

func (x index) remove(p string) {
	dir := path.Dir(p)
	if delete(x[dir], path.Base(p)); len(x[dir]) == 0 {
		delete(x, dir)
	}
}

// matching yields the paths that match one of the patterns, some of them more than once.
// The caller may remove a path when it is yielded.
func (x index) matching(patterns []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, pattern := range patterns {
			if p, _, excepts := strings.Cut(path.Clean(pattern), tree.Except); !excepts && !strings.ContainsAny(p, `*?[{\`) {
				if _, ok := x.lookup(p); ok && !yield(p) {
					return
				}
				continue
			}
			for dir := range x.candidateDirs(pattern) {
				for name := range x[dir] {
					p := path.Join(dir, name)
					if tree.Matches(pattern, p) && !yield(p) {
						return
					}
				}
			}
		}
	}
}

// candidateDirs yields the directories in which files may match the pattern.
func (x index) candidateDirs(pattern string) iter.Seq[string] {
	glob, _, _ := strings.Cut(pattern, tree.Except)
	base, rest := doublestar.SplitPattern(path.Clean(glob))
	if !strings.Contains(rest, "/") && rest != "**" {
		return slices.Values([]string{base})
	}
	return func(yield func(string) bool) {
		for dir := range x {
			if (base == "." || dir == base || strings.HasPrefix(dir, base+"/")) && !yield(dir) {
				return
			}
		}
	}
}
