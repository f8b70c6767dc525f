package runner

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// Facts is what was found outside the state: files as they are now. They are
// gathered first; deciding only reads them.
type Facts struct {
	Document *checkpoint.FileRef // nil without a document
	Git      *checkpoint.Git

	acts    []checkpoint.Act                      // what has happened only once, or may have, so far
	results func() map[string][]checkpoint.Result // of earlier runs of workstreams with a cache, by name; nil: none has one

	BranchGone bool // the git branch of the session's last run does not exist any more

	inputs    map[string]fileSet               // of a workstream, by its name
	makers    map[string][]string              // workstreams before it among whose artifacts these inputs are, likewise
	conflicts map[string][]Conflict            // recorded artifacts that are not as recorded, likewise
	current   map[string][]checkpoint.Artifact // recorded artifacts as they are now, likewise
	partial   map[string][]partialArtifact     // recorded artifacts that a stopped workstream wrote over, likewise
	sharers   map[string][]string              // workstreams that have the same artifact on record, by its path, where there are several
	judging   map[string]fileSet               // the files that a gate judges, by its label; empty where nothing is declared
	judgedOf  map[string][]string              // workstreams that have run by then among whose artifacts they are, likewise

	under      map[string]fileSet  // files under the artifact patterns of a workstream, by its name, where others rely on some
	earlier    []byte              // the file of the pipeline as it was in the last run; nil where it is the same, or not known
	before     pipeline.Files      // the files that moved as they were in the last run
	mask       func(string) string // of what is shown
	seq        uint64              // of the state when they are gathered
	stopped    partialWork         // what workstreams that were stopped left
	linksOut   []string            // links that declared patterns meet and that lead out of the workspace, with where they lead
	links      Links               // that declared patterns meet
	unread     error               // why the last capture can't be read; nil where it can, or is not known any more
	uncaptured string              // why no capture proves the workspace unchanged since the last run; "" where one does
	moved      []workspace.Change  // what is not as it was captured, or recorded, since
	restored   pipeline.Files      // what is put back before anything starts, by path: what opens it, nil for a link
	moving     map[string]string   // what changed in the last run after a gate that declares nothing passed, by its label
}

// merge takes in what was found for one workstream.
func (f *Facts) merge(found *Facts) {
	for name, files := range found.inputs {
		f.inputs[name] = files
		f.makers[name] = found.makers[name]
		f.conflicts[name] = found.conflicts[name]
		f.current[name] = found.current[name]
		f.partial[name] = found.partial[name]
		f.under[name] = found.under[name]
	}
}

// look takes in what was found of what a gate judges.
func (f *Facts) look(g *pipeline.Gate, found *Facts) {
	f.judging[g.Label()] = found.judging[g.Label()]
}

// newFacts begins to gather facts for a state.
func newFacts(st *checkpoint.State) *Facts {
	var seq uint64
	if st != nil {
		seq = st.Seq
	}
	return &Facts{
		seq:       seq,
		inputs:    make(map[string]fileSet),
		makers:    make(map[string][]string),
		conflicts: make(map[string][]Conflict),
		current:   make(map[string][]checkpoint.Artifact),
		partial:   make(map[string][]partialArtifact),
		judging:   make(map[string]fileSet),
		judgedOf:  make(map[string][]string),
		moving:    make(map[string]string),
		under:     make(map[string]fileSet),
	}
}

// judgedFiles are the patterns of the files that a gate judges.
func judgedFiles(g *pipeline.Gate) []string {
	patterns := g.InputPatterns
	if len(patterns) == 0 {
		for _, ws := range judgedBy(g) {
			patterns = append(append(patterns, ws.InputPatterns...), ws.ArtifactPatterns...)
		}
	}
	return patterns
}

// declares reports whether the files that a gate judges are declared: by
// itself, or by each of the workstreams that it judges.
func declares(g *pipeline.Gate) bool {
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

func isDone(rec *checkpoint.Workstream) bool {
	return rec != nil && (rec.Status == checkpoint.Completed || rec.Status == checkpoint.Succeeded)
}

// movedAmong are the files that match which will not be as they were when the
// last run ended. It names what a sum alone can't tell.
func (f *Facts) movedAmong(component string, patterns []string, leaveOut func(string) bool) []Change {
	var all []Change
	for _, m := range f.moved {
		if !matchesAny(patterns, m.Path) || leaveOut(m.Path) || f.restores(m.Path) {
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

// unmoved reports whether the workspace is what a gate that declares nothing
// judged, and if not, why.
func (f *Facts) unmoved(g *pipeline.Gate) (bool, string) {
	moving := f.moving[g.Label()]
	switch {
	case len(f.moved) > 0:
		return false, fmt.Sprintf("%s was %s since the last run", f.moved[0].Path, f.moved[0].Kind)
	case g.Kind == pipeline.GateApproval:
		return true, "" // people look once; only an edit that is known makes them look again
	case f.uncaptured != "":
		return false, f.uncaptured
	case moving != "":
		return false, moving
	}
	return true, ""
}

// restores reports whether a file is put back before anything starts.
func (f *Facts) restores(path string) bool {
	_, ok := f.restored[path]
	return ok
}

// openers open what is put back before anything starts, by its path; links are left out.
func (f *Facts) openers() map[string]func() (io.ReadCloser, error) {
	if len(f.restored) == 0 {
		return nil
	}
	open := maps.Clone(f.restored)
	maps.DeleteFunc(open, func(_ string, opener func() (io.ReadCloser, error)) bool { return opener == nil })
	return open
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return workspace.Matches(pattern, path) })
}

func sortedByPath(all []checkpoint.Artifact) []checkpoint.Artifact {
	slices.SortFunc(all, func(a, b checkpoint.Artifact) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return all
}

// leadsOut says what becomes of links that lead out of the workspace.
func leadsOut(links []string) string {
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
