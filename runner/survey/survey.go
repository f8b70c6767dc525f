// Package survey gathers the facts that package plan decides from.
//
// It reads the files of the workspace, the captures of earlier runs, the document of the
// pipeline, git and earlier sessions of the PRD, and fills in plan.Facts. It decides nothing
// and changes no file of the workspace. It writes only objects, which hold the bytes of artifacts so
// that Runner can restore them later.
//
// Begin with Surveyor. GatherAll gathers the facts for a whole plan, Workstream and Gate
// the facts for one step of a run, and Resurvey reads judged files and artifacts a second
// time. records.go compares files with the record, changed_files.go finds the files that
// changed since the last run, links.go resolves symbolic links, history.go reads what
// earlier sessions did.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/pipeline/files"
	"prdrunner/runner/plan"
)

// Surveyor gathers facts about the files of one workspace and one pipeline.
type Surveyor struct {
	files     *workspace.Workspace
	objects   *objects.Store
	p         *pipeline.Pipeline
	ownership *plan.Ownership
	// ReadIssue reads the issue of the pipeline; nil: it has none.
	ReadIssue func(ctx context.Context) (*state.Issue, error)
	// MadeByCallers returns, by path, the last digests that the workstreams of the calling
	// pipelines have recorded of a file. A file with one of these digests was not edited by a
	// person. MadeByCallers reads the whole state of each caller. It is nil if no pipeline calls
	// this one.
	MadeByCallers func() map[string][]string
	// MissingSession is the fact of that name in plan.Facts.
	MissingSession func(ws *pipeline.Workstream, rec *state.Workstream) string
	ownFiles       []string            // files that Runner itself writes, which never count as changed
	mask           func(string) string // hides sensitive values in file names, because names are recorded

	owners    map[string]string         // the workstream that recorded an artifact last and whose work is done, by path
	leftFiles map[string]state.Artifact // artifacts that failed attempts of other workstreams changed, with their new content, by path
	returning map[string]bool           // files that a result replaces whose return was cut short: the next build first puts it in place, or takes it back
	Partial   plan.PartialWork
	// restores holds the artifacts that Runner restores before anything starts, by path.
	// MarkRestored empties it.
	restores map[string]state.Artifact
	// restoredLinks are the symbolic links in restores.
	restoredLinks tree.Links
	links         *links
	unrestorable  []state.Artifact   // missing artifacts whose bytes are not stored: only their workstream can make them again
	lastCapture   *workspace.Listing // the files that the last run captured; its entries may name no blobs; nil: not known
	endListing    *workspace.Listing // the files at the end of the last run; nil: not known
	changesSince  map[string]string  // how endListing differs from earlier captures, by the digest of their listing
}

// New returns a surveyor of the files in w. ownFiles are files that Runner itself writes there,
// such as the plan; they are relative to the workspace. mask hides sensitive values in names.
func New(w *workspace.Workspace, kept *objects.Store, p *pipeline.Pipeline, ownFiles []string, mask func(string) string) *Surveyor {
	met := newLinks(w)
	return &Surveyor{files: w, objects: kept, p: p, ownership: plan.NewOwnership(p, met), ownFiles: ownFiles, mask: mask, links: met}
}

// SetPipeline replaces the pipeline, while nothing else uses the surveyor.
func (s *Surveyor) SetPipeline(p *pipeline.Pipeline) {
	s.p, s.ownership = p, plan.NewOwnership(p, s.links)
}

// In returns a surveyor of the copies of the workspace's files in a work tree.
func (s *Surveyor) In(w *workspace.Workspace) *Surveyor {
	return &Surveyor{files: w, objects: s.objects, p: s.p, ownership: s.ownership, mask: s.mask, links: newLinks(w)}
}

// Extend returns the patterns and, for each pattern that passes through a known link, a
// pattern that matches the same files without the link.
func (s *Surveyor) Extend(patterns []string) []string { return s.links.Extend(patterns) }

// LinksOut returns the known links that lead out of the workspace and are not in told, and
// adds them to told.
func (s *Surveyor) LinksOut(told map[string]bool) []string { return s.links.newLinksOut(told) }

// MarkRestored tells the surveyor that Runner has restored the artifacts in restores.
// From now on the surveyor describes the existing files.
func (s *Surveyor) MarkRestored() { s.restores, s.restoredLinks = nil, nil }

// GatherForAnswer gathers the facts for checking whether a question of a gate is
// unchanged. A missing artifact that the next build restores counts as there: on a fresh
// machine, artifacts that are in no repository are missing until then.
func (s *Surveyor) GatherForAnswer(ctx context.Context, f *plan.Facts, st *state.State, g *pipeline.Gate) error {
	if err := s.meetLinks(ctx); err != nil {
		return err
	}
	f.Links, f.Sharers = s.links, s.gatherOwners(st)
	if err := s.verifyAll(ctx, f, st, plan.ConflictAsk); err != nil {
		return err
	}
	if err := s.Gate(ctx, f, g); err != nil {
		return err
	}
	if plan.DeclaresFiles(g) {
		return nil
	}
	return s.findChangedFiles(ctx, f, st)
}

// gatherIssue gathers the issue of the pipeline, once. If it can't be read, the issue is
// the recorded one.
func (s *Surveyor) gatherIssue(ctx context.Context, f *plan.Facts, st *state.State) error {
	if s.ReadIssue == nil || f.Issue != nil || f.IssueError != nil {
		return nil
	}
	f.Issue, f.IssueError = s.ReadIssue(ctx)
	if f.IssueError != nil && st != nil {
		f.Issue = st.Issue
	}
	return ctx.Err()
}

// gatherSession gathers the links and the document of the pipeline.
func (s *Surveyor) gatherSession(ctx context.Context, f *plan.Facts) (err error) {
	if err := s.meetLinks(ctx); err != nil {
		return err
	}
	if f.Links = s.links; s.p.Document != "" {
		a, err := Describe(ctx, s.files, s.files.Tree().Target(filepath.ToSlash(s.p.Document)))
		if err != nil && !tree.IsAbsent(err) {
			return fmt.Errorf("read the document of the pipeline: %w", err)
		}
		f.Document = &state.FileRef{Path: state.Text(s.p.Document), Digest: a.Digest}
	}
	return nil
}

// readHead reads the git head, and finds out whether the branch of the session's last run
// exists. On a detached HEAD, as in most CI checkouts, branches prove nothing.
func readHead(ctx context.Context, f *plan.Facts, git Git, st *state.State) (err error) {
	if git == nil {
		return nil
	}
	if f.Git, err = git.Head(ctx); err != nil {
		return fmt.Errorf("read the git head: %w", err)
	}
	f.BranchGone = false
	if f.Git == nil || f.Git.Branch == "" || st == nil || st.Git == nil || st.Git.Branch == "" || st.Git.Branch == f.Git.Branch {
		return nil
	}
	if f.BranchGone, err = git.Deleted(ctx, *st.Git); err != nil {
		return fmt.Errorf("look for the session's git branch: %w", err)
	}
	return nil
}

// Workstream gathers a workstream's input files, and the present state of its recorded
// artifacts.
func (s *Surveyor) Workstream(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream, rec *state.Workstream) error {
	if err := s.gatherInputs(ctx, f, ws); err != nil {
		return err
	}
	if !rec.Done() || len(rec.Artifacts) == 0 {
		return nil
	}
	return s.compareArtifacts(ctx, f, rec)
}

// gatherInputs gathers the files that match a workstream's inputs, without the
// workstream's own artifacts.
func (s *Surveyor) gatherInputs(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream) error {
	f.Inputs[ws.Name], f.Makers[ws.Name] = plan.FileSet{}, nil
	if len(ws.Inputs) == 0 {
		return nil
	}
	v := s.ownership.ScopeOf(ws)
	inputs, err := s.describeScope(ctx, v, f.Seq)
	if err != nil {
		return fmt.Errorf("gather the inputs of %s: %w", ws.Name, err)
	}
	f.Inputs[ws.Name] = inputs
	f.Makers[ws.Name] = s.ownership.MakersAmong(v.Ended, s.goneAmong(inputs.Patterns), inputs.Files)
	return nil
}

// GatherUnder gathers the files that match a workstream's artifact patterns, which the
// workstream may overwrite.
func (s *Surveyor) GatherUnder(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream) error {
	found, patterns, err := s.describeAll(ctx, ws.ArtifactPatterns, func(string) bool { return false })
	if err != nil {
		return fmt.Errorf("look at what %s is about to write over: %w", ws.Name, err)
	}
	for i := range found {
		found[i].Path = state.Text(s.mask(string(found[i].Path)))
	}
	f.ArtifactFiles[ws.Name] = plan.FileSet{Files: found, Patterns: patterns}
	return nil
}

// goneAmong returns the missing artifacts that match the patterns and that only their
// workstream can make again. Their content is not known before that.
func (s *Surveyor) goneAmong(patterns []string) []state.Artifact {
	return slices.DeleteFunc(slices.Clone(s.unrestorable), func(a state.Artifact) bool { return !tree.MatchesAny(patterns, string(a.Path)) })
}

// Gate gathers the files that a gate judges: its inputs, or else the inputs and artifacts
// of its workstream or of the workstreams of its phase. If no files are declared, the
// verdict holds for no files in particular.
func (s *Surveyor) Gate(ctx context.Context, f *plan.Facts, g *pipeline.Gate) error {
	v := s.ownership.ScopeOfGate(g)
	if len(v.Patterns) == 0 {
		f.Judging[g.Label()] = plan.FileSet{}
		return nil
	}
	files, err := s.describeScope(ctx, v, f.Seq)
	if err != nil {
		return fmt.Errorf("gather what %s judges: %w", g.Label(), err)
	}
	f.Judging[g.Label()] = files
	f.JudgedMakers[g.Label()] = s.ownership.MakersAmong(v.Ended, s.goneAmong(files.Patterns), files.Files)
	return nil
}

// GatherAll gathers the facts for a whole plan. It verifies the artifacts of all work
// that is done. If thorough is true, it also gathers the inputs of workstreams that have
// yet to run.
func (s *Surveyor) GatherAll(ctx context.Context, f *plan.Facts, st *state.State, git Git, choice plan.OnConflict, thorough bool) error {
	plain := s.files
	s.files = plain.WithMemo() // the files don't change, since no workstream runs meanwhile
	defer func() { s.files = plain }()
	if st != nil && st.RunCapture != nil {
		defer s.files.ListGitAhead(ctx)()
	}
	var head, compared errgroup.Group
	head.Go(func() error { return readHead(ctx, f, git, st) })
	defer func() { _ = head.Wait() }()
	if err := s.gatherSession(ctx, f); err != nil {
		return err
	}
	if err := s.gatherIssue(ctx, f, st); err != nil {
		return err
	}
	e, err := s.listNow(ctx, f, st)
	if err := cmp.Or(head.Wait(), err); err != nil {
		return err
	}
	compared.Go(func() error { return s.compareWithEnd(ctx, f, e) })
	defer func() { _ = compared.Wait() }()
	f.Sharers = s.gatherOwners(st)
	s.giveToCallers(ctx, st)
	if s.findPartial(st); len(s.Partial.Patterns) > 0 {
		if err := compared.Wait(); err != nil {
			return err
		}
		s.Partial.SetCapture(s.lastCapture)
	}
	f.Stopped = s.Partial
	if err := s.verifyAll(ctx, f, st, choice); err != nil {
		return err
	}
	if err := s.gatherLayers(f, st); err != nil {
		return err
	}
	f.Restored = make(files.Contents, len(s.restores))
	for path, a := range s.restores {
		f.Restored[path] = nil
		if a.Mode != workspace.ModeSymlink {
			f.Restored[path] = func() (io.ReadCloser, error) { return s.objects.Open(a.Digest) }
		} else if err := s.addRestoredLink(ctx, a); err != nil {
			return err
		}
	}
	if err := s.allInputs(ctx, f, st, thorough); err != nil {
		return err
	}
	if err := compared.Wait(); err != nil {
		return err
	}
	if err := s.Reviewed(ctx, f); err != nil {
		return err
	}
	f.MissingSession = s.MissingSession
	f.Mask, f.EarlierFiles = s.mask, s.earlierFiles(ctx, f)
	f.EarlierPipeline = s.earlierSource(ctx, st, f.EarlierFiles)
	f.DocumentDifference = s.documentDifference(ctx, f, st)
	err = s.allGates(ctx, f, st)
	f.LinksOut = nil
	for _, link := range s.links.newLinksOut(make(map[string]bool)) {
		f.LinksOut = append(f.LinksOut, s.mask(link))
	}
	return err
}

// Reviewed gathers the files that the review before the first phase reads: its inputs, and,
// if no process makes them, the findings.
func (s *Surveyor) Reviewed(ctx context.Context, f *plan.Facts) error {
	r := s.p.Review
	if r == nil {
		return nil
	}
	patterns := slices.Clone(r.InputPatterns)
	if !r.HasProcess {
		patterns = append(patterns, tree.EscapeGlob(filepath.ToSlash(r.Findings)))
	}
	made := s.madeLater()
	files, extended, err := s.describeAll(ctx, patterns, func(p string) bool { return tree.MatchesAny(made, p) })
	if err != nil {
		return fmt.Errorf("gather what the review reads: %w", err)
	}
	f.Reviewed = plan.FileSet{Files: files, Patterns: extended}
	return nil
}

// madeLater returns the patterns of the files that the review cannot have read: artifacts,
// which are made after it, and the findings that its own process writes.
func (s *Surveyor) madeLater() []string {
	var made []string
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			made = append(made, ws.ArtifactPatterns...)
		}
	}
	if r := s.p.Review; r.HasProcess && r.Findings != "" {
		made = append(made, tree.EscapeGlob(filepath.ToSlash(r.Findings)))
	}
	return made
}

// allInputs gathers the inputs of workstreams that may keep their result, because their work is
// done or their failure is allowed, and of those that have a cache. If thorough is true, it
// gathers the inputs of all workstreams.
func (s *Surveyor) allInputs(ctx context.Context, f *plan.Facts, st *state.State, thorough bool) error {
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			rec := st.Workstream(ws.Name)
			if len(ws.Inputs) > 0 && (thorough || ws.Cache || rec.Done() || rec.FailureAllowed()) {
				if err := s.gatherInputs(ctx, f, ws); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allGates gathers the files of all gates that have passed.
func (s *Surveyor) allGates(ctx context.Context, f *plan.Facts, st *state.State) error {
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			if err := s.gatherPassedGates(ctx, f, st, ws.Gates); err != nil {
				return err
			}
		}
		if err := s.gatherPassedGates(ctx, f, st, phase.Gates); err != nil {
			return err
		}
	}
	return nil
}

// isDisabled reports whether a workstream is disabled according to the results on record
// and the present issue.
func (s *Surveyor) isDisabled(f *plan.Facts, ws *pipeline.Workstream, st *state.State) bool {
	r := plan.ResultsOf(st, s.p, pipeline.RunInfo{Session: st.Session, Resumed: true})
	if f.Issue != nil {
		r.Issue = plan.IssueValues(f.Issue)
	}
	for _, when := range []func(pipeline.Results) (bool, hcl.Diagnostics){ws.Phase.Enabled, ws.Enabled} {
		if enabled, diags := when(r); !enabled && !diags.HasErrors() {
			return true
		}
	}
	return false
}

// describeAll describes the files that match the patterns, as if Runner had restored
// artifacts already. It leaves out the files for which leaveOut returns true. It also
// returns the patterns, extended for links.
func (s *Surveyor) describeAll(ctx context.Context, patterns []string, leaveOut func(string) bool) (found []state.Artifact, extended []string, err error) {
	m, err := s.files.Tree().Match(ctx, patterns, s.restoredLinks)
	if err != nil {
		return nil, nil, err
	}
	s.links.addLinks(m.Links, m.Outside)
	entries, err := s.files.DescribeEach(ctx, slices.DeleteFunc(m.Files, leaveOut))
	if err != nil {
		return nil, nil, err
	}
	return s.withRestored(toArtifacts(entries), m.Patterns, leaveOut), m.Patterns, nil
}

// meetLinks forgets all links, and finds the links that are now on the way of declared
// patterns.
func (s *Surveyor) meetLinks(ctx context.Context) error {
	s.links.reset()
	m, err := s.files.Tree().Match(ctx, slices.Concat(Local(filepath.ToSlash(s.p.Document)), Declared(s.p)), nil)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	s.links.addLinks(m.Links, m.Outside)
	return nil
}

// withRestored replaces the files in found that Runner will restore by the recorded
// artifacts, and adds the restored files that match the patterns. The result is sorted by
// path.
func (s *Surveyor) withRestored(found []state.Artifact, patterns []string, leaveOut func(string) bool) []state.Artifact {
	if len(s.restores) == 0 {
		return found
	}
	found = slices.DeleteFunc(found, func(a state.Artifact) bool {
		_, restored := s.restores[string(a.Path)]
		return restored
	})
	for path, a := range s.restores {
		if tree.MatchesAny(patterns, path) && !leaveOut(path) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b state.Artifact) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return found
}

// gatherPassedGates gathers the files that the gates judge, for gates that have passed.
func (s *Surveyor) gatherPassedGates(ctx context.Context, f *plan.Facts, st *state.State, gates []*pipeline.Gate) error {
	for _, g := range gates {
		if st == nil {
			return nil
		}
		if rec := st.Gate(g.Label()); rec == nil || rec.Status != state.Passed {
			continue
		}
		if err := s.Gate(ctx, f, g); err != nil {
			return err
		}
		if !plan.DeclaresFiles(g) {
			if err := s.findChangesAfter(ctx, f, st, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeScope returns the files in a scope as if Runner had restored artifacts already.
// The names are masked, because they are recorded. They are only compared, and never
// opened.
func (s *Surveyor) describeScope(ctx context.Context, v plan.Scope, seq uint64) (plan.FileSet, error) {
	leaveOut := func(path string) bool { return v.Self != nil && s.ownership.Makes(v, path) }
	found, patterns, err := s.describeAll(ctx, v.Patterns, leaveOut)
	if err != nil {
		return plan.FileSet{}, err
	}
	set := plan.FileSet{Files: found, Patterns: patterns, Seq: seq}
	for i := range set.Files {
		a := &set.Files[i]
		shared, before := s.ownership.Shared(v, string(a.Path))
		a.Path = state.Text(s.mask(string(a.Path)))
		if shared {
			set.Shared = append(set.Shared, plan.SharedFile{Artifact: *a, Before: before})
		}
	}
	set.Sum = plan.DigestFiles(set.Files)
	return set, nil
}

// Git reads the state of the git work tree.
type Git interface {
	// Head returns the branch and commit that are checked out, nil outside a work tree.
	Head(ctx context.Context) (*state.Git, error)
	// Deleted reports whether the branch in was has been deleted: the repository has the
	// commit in was, but no branch with that name, neither a local one nor one fetched
	// from a remote. In a repository without the commit, Deleted returns false.
	Deleted(ctx context.Context, was state.Git) (bool, error)
}
