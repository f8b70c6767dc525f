package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/pipeline/files"
)

// Facts hold what package survey found outside the state: files, git and earlier
// sessions. Package survey gathers the facts first; package plan then decides only from
// them.
type Facts struct {
	Document *state.FileRef // the file that document names in the pipeline; nil without one
	Issue    *state.Issue   // nil without one, or if it could not be read
	Git      *state.Git

	DocumentDifference state.Text // between the document as it was captured and as it is now; "" if it is the same or not kept

	IssueError error // why the issue could not be read; the run goes on with the recorded one

	Acts        []state.Act                      // when and where once workstreams have happened, or may have
	EarlierRuns func() map[string][]state.Result // returns the results of earlier runs, by workstream; nil: no workstream has a cache

	// MissingSession returns why the session that a call on record has begun can't go on, "" if it
	// is there. nil: it is there.
	MissingSession func(ws *pipeline.Workstream, rec *state.Workstream) string

	Reviewed   FileSet // the files that the review before the first phase reads
	BranchGone bool    // the git branch of the session's last run was deleted

	Inputs       map[string]FileSet           // the input files, by workstream
	Makers       map[string][]string          // earlier workstreams that make some of the Inputs, by workstream
	Conflicts    map[string][]Conflict        // recorded artifacts whose files differ from the record, by workstream
	Current      map[string][]state.Artifact  // the recorded artifacts as their files are now, by workstream
	Partial      map[string][]PartialArtifact // recorded artifacts that a stopped workstream wrote over, by the workstream that recorded them
	Sharers      map[string][]string          // the workstreams that recorded an artifact, by its path, if there are several
	Layers       map[string]Layers            // the records of the artifacts in Conflicts that have Sharers, by path
	Judging      map[string]FileSet           // the files that a gate judges, by its label; empty if nothing is declared
	JudgedMakers map[string][]string          // earlier workstreams that make some of the files in Judging, by gate

	ArtifactFiles   map[string]FileSet  // the files that match a workstream's artifact patterns, by workstream, if other steps rely on one
	EarlierPipeline []byte              // the pipeline file of the last run; nil if it and its includes are unchanged, or not known
	EarlierFiles    files.Contents      // the changed files, with their content in the last run
	Mask            func(string) string // hides sensitive values in text that is shown
	Seq             uint64              // the commit of the state when the facts were gathered
	Stopped         PartialWork         // the partial work of stopped workstreams
	LinksOut        []string            // links on the way of declared patterns that lead out of the workspace, with their targets
	Links           Links               // the links on the way of declared patterns
	CaptureError    error               // why the last capture can't be read; nil if it can, or if it no longer exists
	NoCaptureReason string              // why no capture proves the workspace unchanged since the last run; "" if one does
	ChangedFiles    []workspace.Change  // files that changed since they were captured or recorded
	Restored        files.Contents      // the artifacts that Runner restores before anything starts: functions that open them, by path; nil for a link
	ChangedInRun    map[string]string   // what changed in the last run after a gate that declares no files passed, by its label
}

// Merge adds the facts about the workstreams in found, replacing earlier ones.
func (f *Facts) Merge(found *Facts) {
	for name, files := range found.Inputs {
		f.Inputs[name] = files
		f.Makers[name] = found.Makers[name]
		f.Conflicts[name] = found.Conflicts[name]
		f.Current[name] = found.Current[name]
		f.Partial[name] = found.Partial[name]
		f.ArtifactFiles[name] = found.ArtifactFiles[name]
	}
}

// MergeJudged adds the files that a gate judges, replacing earlier ones.
func (f *Facts) MergeJudged(g *pipeline.Gate, found *Facts) {
	f.Judging[g.Label()] = found.Judging[g.Label()]
}

// SetJudged describes some of the files that gates judge as they are now.
func (f *Facts) SetJudged(now []state.Artifact) {
	is := make(map[state.Text]*state.Artifact, len(now))
	for i, a := range now {
		is[a.Path] = &now[i]
	}
	for label, set := range f.Judging {
		changed := make(map[state.Text]*state.Artifact)
		for i, a := range set.Files {
			if b := is[a.Path]; b != nil && !sameFile(&set.Files[i], b) {
				changed[a.Path] = b
			}
		}
		f.Judging[label] = set.replaceFiles(changed)
	}
}

// NewFacts returns empty facts for a state, which may be nil.
func NewFacts(st *state.State) *Facts {
	var seq uint64
	if st != nil {
		seq = st.Seq
	}
	return &Facts{
		Seq:           seq,
		Inputs:        make(map[string]FileSet),
		Makers:        make(map[string][]string),
		Conflicts:     make(map[string][]Conflict),
		Current:       make(map[string][]state.Artifact),
		Partial:       make(map[string][]PartialArtifact),
		Judging:       make(map[string]FileSet),
		JudgedMakers:  make(map[string][]string),
		ChangedInRun:  make(map[string]string),
		ArtifactFiles: make(map[string]FileSet),
	}
}

// JudgedFiles returns the patterns of the files that a gate judges: its own, or those of
// the workstreams that it judges.
func JudgedFiles(g *pipeline.Gate) []string {
	patterns := g.InputPatterns
	if len(patterns) == 0 {
		for _, ws := range judgedWorkstreams(g) {
			patterns = append(append(patterns, ws.InputPatterns...), ws.ArtifactPatterns...)
		}
	}
	return patterns
}

// DeclaresFiles reports whether the files that a gate judges are declared: by the gate,
// or by each workstream that it judges.
func DeclaresFiles(g *pipeline.Gate) bool {
	return len(g.Inputs) > 0 || !slices.ContainsFunc(judgedWorkstreams(g), func(ws *pipeline.Workstream) bool {
		return len(ws.Inputs)+len(ws.Artifacts) == 0
	})
}

// judgedWorkstreams returns the workstreams that a gate judges: its own, or all of its
// phase.
func judgedWorkstreams(g *pipeline.Gate) []*pipeline.Workstream {
	if g.Workstream != nil {
		return []*pipeline.Workstream{g.Workstream}
	}
	return g.Phase.Workstreams
}

// changesAmong returns the files that match the patterns and differ from the end of the
// last run, without those that leaveOut names or that Runner restores. It is for digests
// that show that some file differs but don't say which one.
func (f *Facts) changesAmong(component string, patterns []string, leaveOut func(string) bool) []Change {
	var all []Change
	for _, m := range f.ChangedFiles {
		if !tree.MatchesAny(patterns, m.Path) || leaveOut(m.Path) || f.willRestore(m.Path) {
			continue
		}
		c := Change{Component: component, Name: state.Text(m.Path)}
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

// WorkspaceUnchanged reports whether the workspace is as a gate that declares no files
// judged it. If not, it returns the reason.
func (f *Facts) WorkspaceUnchanged(g *pipeline.Gate) (bool, string) {
	moving := f.ChangedInRun[g.Label()]
	switch {
	case len(f.ChangedFiles) > 0:
		return false, fmt.Sprintf("%s was %s since the last run", f.ChangedFiles[0].Path, f.ChangedFiles[0].Kind)
	case g.Kind == pipeline.GateApproval:
		return true, "" // Runner asks for an approval again only if it knows of an edit
	case f.NoCaptureReason != "":
		return false, f.NoCaptureReason
	case moving != "":
		return false, moving
	}
	return true, ""
}

// willRestore reports whether Runner restores a file before anything starts.
func (f *Facts) willRestore(path string) bool {
	_, ok := f.Restored[path]
	return ok
}

// restoredOpeners returns functions that open the files that Runner restores before
// anything starts, by path. Links are left out.
func (f *Facts) restoredOpeners() map[string]func() (io.ReadCloser, error) {
	open := maps.Clone(f.Restored)
	maps.DeleteFunc(open, func(_ string, opener func() (io.ReadCloser, error)) bool { return opener == nil })
	return open
}

// DescribeLinksOut describes how Runner treats links that lead out of the workspace.
func DescribeLinksOut(links []string) string {
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
