package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// Facts is what was found outside the state: files, git and earlier sessions. Package
// survey gathers facts before anything is decided from them.
type Facts struct {
	Document *checkpoint.FileRef // nil without a document
	Git      *checkpoint.Git

	Acts        []checkpoint.Act                      // what has happened only once, or may have, so far
	EarlierRuns func() map[string][]checkpoint.Result // of earlier runs of workstreams with a cache, by name; nil: none has one

	BranchGone bool // the git branch of the session's last run does not exist any more

	Inputs    map[string]FileSet               // of a workstream, by its name
	Makers    map[string][]string              // workstreams before it among whose artifacts these inputs are, likewise
	Conflicts map[string][]Conflict            // recorded artifacts that are not as recorded, likewise
	Current   map[string][]checkpoint.Artifact // recorded artifacts as they are now, by workstream
	Partial   map[string][]PartialArtifact     // recorded artifacts that a stopped workstream wrote over, likewise
	Sharers   map[string][]string              // workstreams that have the same artifact on record, by its path, where there are several
	Judging   map[string]FileSet               // the files that a gate judges, by its label; empty where nothing is declared
	JudgedOf  map[string][]string              // workstreams that have run by then among whose artifacts they are, likewise

	Under      map[string]FileSet  // files under the artifact patterns of a workstream, by its name, where others rely on some
	Earlier    []byte              // the file of the pipeline as it was in the last run; nil where it is the same, or not known
	Before     pipeline.Files      // the files that moved as they were in the last run
	Mask       func(string) string // of what is shown
	Seq        uint64              // of the state when they are gathered
	Stopped    PartialWork         // what workstreams that were stopped left
	LinksOut   []string            // links that declared patterns meet and that lead out of the workspace, with where they lead
	Links      Links               // that declared patterns meet
	Unread     error               // why the last capture can't be read; nil where it can, or is not known any more
	Uncaptured string              // why no capture proves the workspace unchanged since the last run; "" where one does
	Moved      []workspace.Change  // files that changed since they were captured or recorded
	Restored   pipeline.Files      // what is put back before anything starts, by path: what opens it, nil for a link
	Moving     map[string]string   // what changed in the last run after a gate that declares nothing passed, by its label
}

// Merge takes in what was found for one workstream.
func (f *Facts) Merge(found *Facts) {
	for name, files := range found.Inputs {
		f.Inputs[name] = files
		f.Makers[name] = found.Makers[name]
		f.Conflicts[name] = found.Conflicts[name]
		f.Current[name] = found.Current[name]
		f.Partial[name] = found.Partial[name]
		f.Under[name] = found.Under[name]
	}
}

// TakeJudged takes in what was found of what a gate judges.
func (f *Facts) TakeJudged(g *pipeline.Gate, found *Facts) {
	f.Judging[g.Label()] = found.Judging[g.Label()]
}

// NewFacts begins to gather facts for a state.
func NewFacts(st *checkpoint.State) *Facts {
	var seq uint64
	if st != nil {
		seq = st.Seq
	}
	return &Facts{
		Seq:       seq,
		Inputs:    make(map[string]FileSet),
		Makers:    make(map[string][]string),
		Conflicts: make(map[string][]Conflict),
		Current:   make(map[string][]checkpoint.Artifact),
		Partial:   make(map[string][]PartialArtifact),
		Judging:   make(map[string]FileSet),
		JudgedOf:  make(map[string][]string),
		Moving:    make(map[string]string),
		Under:     make(map[string]FileSet),
	}
}

// JudgedFiles are the patterns of the files that a gate judges.
func JudgedFiles(g *pipeline.Gate) []string {
	patterns := g.InputPatterns
	if len(patterns) == 0 {
		for _, ws := range judgedBy(g) {
			patterns = append(append(patterns, ws.InputPatterns...), ws.ArtifactPatterns...)
		}
	}
	return patterns
}

// Declares reports whether the files that a gate judges are declared: by
// itself, or by each of the workstreams that it judges.
func Declares(g *pipeline.Gate) bool {
	return len(g.Inputs) > 0 || !slices.ContainsFunc(judgedBy(g), func(ws *pipeline.Workstream) bool {
		return len(ws.Inputs)+len(ws.Artifacts) == 0
	})
}

// judgedBy are the workstreams that a gate judges.
func judgedBy(g *pipeline.Gate) []*pipeline.Workstream {
	if g.Workstream != nil {
		return []*pipeline.Workstream{g.Workstream}
	}
	return g.Phase.Workstreams
}

func Done(rec *checkpoint.Workstream) bool {
	return rec != nil && (rec.Status == checkpoint.Completed || rec.Status == checkpoint.Succeeded)
}

// movedAmong are the files that match which will not be as they were when the
// last run ended. It names what a sum alone can't tell.
func (f *Facts) movedAmong(component string, patterns []string, leaveOut func(string) bool) []Change {
	var all []Change
	for _, m := range f.Moved {
		if !MatchesAny(patterns, m.Path) || leaveOut(m.Path) || f.restores(m.Path) {
			continue
		}
		c := Change{Component: component, Name: checkpoint.Text(m.Path)}
		if m.From != nil {
			c.Old = m.From.Digest
		}
		if m.To != nil {
			c.New = m.To.Digest
		}
		if m.From != nil && m.To != nil && c.Old == c.New {
			c.Old, c.New = fmt.Sprintf("mode %04o", m.From.Mode), fmt.Sprintf("mode %04o", m.To.Mode)
		}
		all = append(all, c)
	}
	return all
}

// Unmoved reports whether the workspace is what a gate that declares nothing
// judged, and if not, why.
func (f *Facts) Unmoved(g *pipeline.Gate) (bool, string) {
	moving := f.Moving[g.Label()]
	switch {
	case len(f.Moved) > 0:
		return false, fmt.Sprintf("%s was %s since the last run", f.Moved[0].Path, f.Moved[0].Kind)
	case g.Kind == pipeline.GateApproval:
		return true, "" // people look once; only an edit that is known makes them look again
	case f.Uncaptured != "":
		return false, f.Uncaptured
	case moving != "":
		return false, moving
	}
	return true, ""
}

// restores reports whether a file is put back before anything starts.
func (f *Facts) restores(path string) bool {
	_, ok := f.Restored[path]
	return ok
}

// openers open what is put back before anything starts, by its path; links are left out.
func (f *Facts) openers() map[string]func() (io.ReadCloser, error) {
	if len(f.Restored) == 0 {
		return nil
	}
	open := maps.Clone(f.Restored)
	maps.DeleteFunc(open, func(_ string, opener func() (io.ReadCloser, error)) bool { return opener == nil })
	return open
}

func MatchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return tree.Matches(pattern, path) })
}

func SortedByPath(all []checkpoint.Artifact) []checkpoint.Artifact {
	slices.SortFunc(all, func(a, b checkpoint.Artifact) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return all
}

// LeadsOut says what becomes of links that lead out of the workspace.
func LeadsOut(links []string) string {
	if len(links) == 1 {
		return links[0] + " is a link that leads out of the workspace: what is behind it counts as not there"
	}
	const named = 10
	more := ""
	if len(links) > named {
		links, more = links[:named], fmt.Sprintf(" and %d more", len(links)-named)
	}
	return strings.Join(links, ", ") + more + " are links that lead out of the workspace: what is behind them counts as not there"
}
