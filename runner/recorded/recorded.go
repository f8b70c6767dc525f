// Package recorded says which files are on record of which workstream or gate, and which files
// differ from their record.
//
// It compares values that it is given: which files there are now, package survey reads, and when
// they are compared, and what an edit means for the run, the engine decides. Begin with Files and
// Edit.
package recorded

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/plan"
)

// Files holds the files on which steps may rely, by path: the artifacts that
// workstreams recorded, and the files that gates judged. If another workstream declares
// such a file, too, and has written it since, the file is recorded for that workstream,
// and its change is no edit.
type Files struct {
	made        index                       // artifacts, by the workstream that recorded them last
	judged      index                       // by the gate that judged them last
	filesByGate map[string][]state.Artifact // the files to which each valid verdict is bound, by the label of its gate
}

// record is a file that a workstream made or a gate judged.
type record struct {
	file  state.Artifact
	owner string
}

// New returns no recorded files.
func New() *Files {
	return &Files{made: index{}, judged: index{}, filesByGate: make(map[string][]state.Artifact)}
}

// SetArtifacts records the artifacts of a workstream. It first forgets all files that
// match the workstream's patterns, because the workstream may have rewritten or deleted
// these files.
func (fs *Files) SetArtifacts(workstream string, patterns []string, artifacts []state.Artifact) {
	for _, of := range []index{fs.made, fs.judged} {
		for p := range of.matching(patterns) {
			of.remove(p)
		}
	}
	fs.AddArtifacts(workstream, artifacts)
}

// AddArtifacts records artifacts of a workstream, and forgets none.
func (fs *Files) AddArtifacts(workstream string, artifacts []state.Artifact) {
	for _, a := range artifacts {
		fs.made.store(string(a.Path), record{a, workstream})
	}
}

// AnyMatch reports whether some recorded file matches the patterns.
func (fs *Files) AnyMatch(patterns []string) bool {
	for _, of := range []index{fs.made, fs.judged} {
		for range of.matching(patterns) {
			return true
		}
	}
	return false
}

// Artifact returns the recorded artifact with a path, and the workstream that made it.
func (fs *Files) Artifact(path string) (file state.Artifact, maker string, ok bool) {
	m, ok := fs.made.lookup(path)
	return m.file, m.owner, ok
}

// ForgetArtifacts forgets the artifacts of a skipped workstream: no step relies on them
// any longer.
func (fs *Files) ForgetArtifacts(w *state.Workstream) {
	for _, a := range w.Artifacts {
		if m, ok := fs.made.lookup(string(a.Path)); ok && m.owner == w.Name {
			fs.made.remove(string(a.Path))
		}
	}
}

// SetJudged records the files for which a gate has passed.
func (fs *Files) SetJudged(label string, files []state.Artifact) {
	fs.ForgetJudged(label)
	fs.filesByGate[label] = files
	for _, a := range files {
		fs.judged.store(string(a.Path), record{a, label})
	}
}

// HasJudged reports whether a verdict of a gate is on record.
func (fs *Files) HasJudged(label string) bool {
	_, ok := fs.filesByGate[label]
	return ok
}

// ForgetJudged forgets the files of a gate's verdict, because the gate judges again.
func (fs *Files) ForgetJudged(label string) {
	for _, a := range fs.filesByGate[label] {
		if j, ok := fs.judged.lookup(string(a.Path)); ok && j.owner == label {
			fs.judged.remove(string(a.Path))
		}
	}
	delete(fs.filesByGate, label)
}

// Edit is a file that differs from its record.
type Edit struct {
	Path   string
	Gate   string // the gate that judged it, "" if none did
	Maker  string // the workstream that made it, "" if none did
	Change string // what happened to it: changed, deleted or added
	Digest string // the digest of the file, "" if it was deleted

	BeforeRun bool // it was made before the run, which could not know of it at its start
	MadeAnew  bool // the maker must run again, so that the edit can't be kept
}

// CompareFile compares a file with its record, and reports whether they differ. now is
// nil if the file does not exist.
func (fs *Files) CompareFile(p string, now *state.Artifact) (Edit, bool) {
	e := Edit{Path: p, Change: howDiffers(now), Digest: plan.DigestOrEmpty(now)}
	if j, ok := fs.judged.lookup(p); ok && (now == nil || plan.DigestFiles([]state.Artifact{j.file}) != plan.DigestFiles([]state.Artifact{*now})) {
		e.Gate = j.owner
	}
	if m, ok := fs.made.lookup(p); ok && m.file.Digest != "" && (now == nil || now.Digest != m.file.Digest) {
		e.Maker = m.owner
	}
	return e, e.Gate != "" || e.Maker != ""
}

func howDiffers(now *state.Artifact) string {
	if now == nil {
		return "deleted"
	}
	return "changed"
}

// EditsAmong compares the files that match patterns with their records, and returns the
// edits. It ignores deleted files for which leaveOut returns true. leaveOut may be nil.
func (fs *Files) EditsAmong(patterns []string, found []state.Artifact, leaveOut func(string) bool) []Edit {
	var edits []Edit
	there := make(map[string]bool, len(found))
	for i, a := range found {
		there[string(a.Path)] = true
		if e, ok := fs.CompareFile(string(a.Path), &found[i]); ok {
			edits = append(edits, e)
		}
	}
	for _, of := range []index{fs.made, fs.judged} {
		for p := range of.matching(patterns) {
			if there[p] || leaveOut != nil && leaveOut(p) {
				continue
			}
			if e, ok := fs.CompareFile(p, nil); ok {
				there[p] = true
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// EditsSinceJudged compares the files that a gate would judge now with those for which it
// has passed.
func (fs *Files) EditsSinceJudged(label string, now []state.Artifact) []Edit {
	files := ByPath(now)
	var edits []Edit
	was := ByPath(fs.filesByGate[label])
	for _, a := range fs.filesByGate[label] {
		if e, ok := fs.CompareFile(string(a.Path), files[string(a.Path)]); ok {
			edits = append(edits, e)
		}
	}
	for _, a := range now {
		if _, made := fs.made.lookup(string(a.Path)); was[string(a.Path)] == nil && !made {
			edits = append(edits, Edit{Path: string(a.Path), Gate: label, Change: "added", Digest: a.Digest})
		}
	}
	return edits
}

// ByPath returns the files by their paths.
func ByPath(files []state.Artifact) map[string]*state.Artifact {
	m := make(map[string]*state.Artifact, len(files))
	for i := range files {
		m[string(files[i].Path)] = &files[i]
	}
	return m
}

// index holds files by directory and name, so that a search for a pattern need not read
// through all files.
type index map[string]map[string]record

func (x index) lookup(p string) (record, bool) {
	s, ok := x[path.Dir(p)][path.Base(p)]
	return s, ok
}

func (x index) store(p string, s record) {
	dir := path.Dir(p)
	if x[dir] == nil {
		x[dir] = make(map[string]record)
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
