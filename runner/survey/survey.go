// Package survey gathers the facts that package plan decides from.
//
// It looks at the files of the workspace, at the captures of earlier runs, at the PRD
// document, at git and at earlier sessions of the PRD, and fills in plan.Facts. It
// decides nothing and changes no file; all it writes are bytes that it keeps as objects,
// so that artifacts can be put back later.
//
// Begin with Surveyor. Everything gathers the facts for a whole plan, Workstream and Gate
// those for one step of a run, and Again looks once more at what was judged and made.
// records.go finds out what is on record of a file, moved.go what changed since the last
// run, links.go where symbolic links lead, history.go what earlier sessions did.
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

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// Surveyor gathers facts.
type Surveyor struct {
	files   *workspace.Workspace
	objects *objects.Store
	p       *pipeline.Pipeline
	own     *plan.Ownership
	plan    string              // the file of the plan, which is nothing that moved
	mask    func(string) string // of names, which are recorded

	latest  map[string]string              // path → the completed workstream that recorded it last
	left    map[string]checkpoint.Artifact // what attempts that failed left of these artifacts, by path
	Partial plan.PartialWork
	// restores are the artifacts that are put back before anything starts, by
	// path; it is empty from then on.
	restores map[string]checkpoint.Artifact
	// restoredLinks are those of them that are links.
	restoredLinks tree.Links
	links         *links
	gone          []checkpoint.Artifact // that only running their workstream again brings back
	captured      *workspace.Listing    // what the last run captured, naming no blobs; nil: not known
	ended         *workspace.Listing    // the files at the end of the last run; nil: not known
	since         map[string]string     // by the listing of an earlier capture: how ended differs from it
}

// New returns a surveyor of the files in w. The plan file, "" for none, is
// relative to the workspace. Mask hides sensitive values in names.
func New(w *workspace.Workspace, kept *objects.Store, p *pipeline.Pipeline, planFile string, mask func(string) string) *Surveyor {
	met := newLinks(w)
	return &Surveyor{files: w, objects: kept, p: p, own: plan.NewOwnership(p, met), plan: planFile, mask: mask, links: met}
}

// Extend returns patterns with those that say the same without the links that were met.
func (s *Surveyor) Extend(patterns []string) []string { return s.links.Extend(patterns) }

// LinksOut returns the links that lead out of the workspace and are not among those that
// were told, and adds them to these.
func (s *Surveyor) LinksOut(told map[string]bool) []string { return s.links.leadingOut(told) }

// DoneRestoring says that the artifacts are back that everything found to be restored before
// anything starts: from now on files are seen as they are.
func (s *Surveyor) DoneRestoring() { s.restores, s.restoredLinks = nil, nil }

// OneGate gathers the facts that an answer to one gate depends on.
func (s *Surveyor) OneGate(ctx context.Context, f *plan.Facts, st *checkpoint.State, g *pipeline.Gate) error {
	if err := s.meetLinks(ctx); err != nil {
		return err
	}
	f.Links = s.links
	if err := s.Gate(ctx, f, g); err != nil {
		return err
	}
	if plan.Declares(g) {
		return nil
	}
	return s.moved(ctx, f, st)
}

// session gathers what concerns the session as a whole, but where git stands.
func (s *Surveyor) session(ctx context.Context, f *plan.Facts) (err error) {
	if err := s.meetLinks(ctx); err != nil {
		return err
	}
	if f.Links = s.links; s.p.Document != "" {
		a, err := Describe(ctx, s.files, s.files.Target(filepath.ToSlash(s.p.Document)))
		if err != nil && !tree.IsAbsent(err) {
			return fmt.Errorf("read the PRD document: %w", err)
		}
		f.Document = &checkpoint.FileRef{Path: checkpoint.Text(s.p.Document), Digest: a.Digest}
	}
	return nil
}

// readHead reads where git stands, and whether the branch of the session's last run
// still exists. On a detached HEAD, as in most CI checkouts, branches prove nothing.
func readHead(ctx context.Context, f *plan.Facts, git Git, st *checkpoint.State) (err error) {
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

// Workstream gathers a workstream's input files, and how its recorded
// artifacts are now.
func (s *Surveyor) Workstream(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream, rec *checkpoint.Workstream) error {
	if err := s.gatherInputs(ctx, f, ws); err != nil {
		return err
	}
	if !plan.Done(rec) || len(rec.Artifacts) == 0 {
		return nil
	}
	return s.verify(ctx, f, rec)
}

// gatherInputs gathers the files that match, without the workstream's own
// artifacts.
func (s *Surveyor) gatherInputs(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream) error {
	f.Inputs[ws.Name], f.Makers[ws.Name] = plan.FileSet{}, nil
	if len(ws.Inputs) == 0 {
		return nil
	}
	v := s.own.ScopeOf(ws)
	inputs, err := s.see(ctx, v, f.Seq)
	if err != nil {
		return fmt.Errorf("gather the inputs of %s: %w", ws.Name, err)
	}
	f.Inputs[ws.Name] = inputs
	f.Makers[ws.Name] = s.own.MakersAmong(v.Ended, s.goneAmong(inputs.Patterns), inputs.Files)
	return nil
}

// GatherUnder gathers the files that lie where the workstream writes.
func (s *Surveyor) GatherUnder(ctx context.Context, f *plan.Facts, ws *pipeline.Workstream) error {
	found, patterns, err := s.describeAll(ctx, ws.ArtifactPatterns, func(string) bool { return false })
	if err != nil {
		return fmt.Errorf("look at what %s is about to write over: %w", ws.Name, err)
	}
	for i := range found {
		found[i].Path = checkpoint.Text(s.mask(string(found[i].Path)))
	}
	f.Under[ws.Name] = plan.FileSet{Files: found, Patterns: patterns}
	return nil
}

// goneAmong are the artifacts among what matches that are made again: whether
// they change is known then.
func (s *Surveyor) goneAmong(patterns []string) []checkpoint.Artifact {
	return slices.DeleteFunc(slices.Clone(s.gone), func(a checkpoint.Artifact) bool { return !plan.MatchesAny(patterns, string(a.Path)) })
}

// Gate gathers the digest of what a gate judges: its inputs; else the inputs
// and artifacts of its workstream, or of its phase's workstreams. Where these
// declare none there is nothing to bind a verdict to.
func (s *Surveyor) Gate(ctx context.Context, f *plan.Facts, g *pipeline.Gate) error {
	v := s.own.ScopeOfGate(g)
	if len(v.Patterns) == 0 {
		f.Judging[g.Label()] = plan.FileSet{}
		return nil
	}
	files, err := s.see(ctx, v, f.Seq)
	if err != nil {
		return fmt.Errorf("gather what %s judges: %w", g.Label(), err)
	}
	f.Judging[g.Label()] = files
	f.JudgedOf[g.Label()] = s.own.MakersAmong(v.Ended, s.goneAmong(files.Patterns), files.Files)
	return nil
}

// Everything gathers the facts of all that is done, whose files must prove
// it; thorough also those of what has yet to run.
func (s *Surveyor) Everything(ctx context.Context, f *plan.Facts, st *checkpoint.State, git Git, choice plan.OnConflict, thorough bool) error {
	files := s.files
	s.files = files.Still() // nothing runs meanwhile
	defer func() { s.files = files }()
	if st != nil && st.RunCapture != nil {
		defer s.files.Ahead(ctx)()
	}
	var head, compared errgroup.Group
	head.Go(func() error { return readHead(ctx, f, git, st) })
	defer func() { _ = head.Wait() }()
	if err := s.session(ctx, f); err != nil {
		return err
	}
	e, err := s.listed(ctx, f, st)
	if err := cmp.Or(head.Wait(), err); err != nil {
		return err
	}
	compared.Go(func() error { return s.compare(ctx, f, e) })
	defer func() { _ = compared.Wait() }()
	f.Sharers = s.gatherOwners(st)
	if s.begun(st); len(s.Partial.Patterns) > 0 {
		if err := compared.Wait(); err != nil {
			return err
		}
		s.Partial.Since(s.captured)
	}
	f.Stopped = s.Partial
	if err := s.verifyAll(ctx, f, st, choice); err != nil {
		return err
	}
	f.Restored = make(pipeline.Files, len(s.restores))
	for path, a := range s.restores {
		f.Restored[path] = nil
		if a.Mode != workspace.ModeSymlink {
			f.Restored[path] = func() (io.ReadCloser, error) { return s.objects.Open(a.Digest) }
		} else if err := s.restoresLink(ctx, a); err != nil {
			return err
		}
	}
	if err := s.allInputs(ctx, f, st, thorough); err != nil {
		return err
	}
	if err := compared.Wait(); err != nil {
		return err
	}
	f.Mask, f.Earlier, f.Before = s.mask, s.earlierSource(ctx, st), s.earlierFiles(ctx, f)
	err = s.allGates(ctx, f, st)
	f.LinksOut = nil
	for _, link := range s.links.leadingOut(make(map[string]bool)) {
		f.LinksOut = append(f.LinksOut, s.mask(link))
	}
	return err
}

// allInputs gathers the inputs of what is done, and of what may have been made before; thorough
// also those of all else that has yet to run.
func (s *Surveyor) allInputs(ctx context.Context, f *plan.Facts, st *checkpoint.State, thorough bool) error {
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			if len(ws.Inputs) > 0 && (thorough || ws.Cache || plan.Done(plan.RecordOf(st, ws.Name))) {
				if err := s.gatherInputs(ctx, f, ws); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allGates gathers what all gates judge that have a verdict.
func (s *Surveyor) allGates(ctx context.Context, f *plan.Facts, st *checkpoint.State) error {
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			if err := s.gates(ctx, f, st, ws.Gates); err != nil {
				return err
			}
		}
		if err := s.gates(ctx, f, st, phase.Gates); err != nil {
			return err
		}
	}
	return nil
}

// off reports whether a workstream is not enabled, as far as what is on record tells.
func (s *Surveyor) off(ws *pipeline.Workstream, st *checkpoint.State) bool {
	r := plan.ResultsOf(st, s.p, pipeline.RunInfo{Session: st.Session, Resumed: true})
	for _, when := range []func(pipeline.Results) (bool, hcl.Diagnostics){ws.Phase.Enabled, ws.Enabled} {
		if enabled, diags := when(r); !enabled && !diags.HasErrors() {
			return true
		}
	}
	return false
}

// describeAll looks at the files that match, without those that leaveOut names, as
// they will be once artifacts are put back. It returns the patterns extended by what
// links stand for.
func (s *Surveyor) describeAll(ctx context.Context, patterns []string, leaveOut func(string) bool) (found []checkpoint.Artifact, extended []string, err error) {
	m, err := s.files.Match(ctx, patterns, s.restoredLinks)
	if err != nil {
		return nil, nil, err
	}
	s.links.learn(m.Links, m.Out)
	entries, err := s.files.DescribeEach(ctx, slices.DeleteFunc(m.Files, leaveOut))
	if err != nil {
		return nil, nil, err
	}
	return s.withRestored(artifacts(entries), m.Patterns, leaveOut), m.Patterns, nil
}

// meetLinks finds the links that declared patterns meet.
func (s *Surveyor) meetLinks(ctx context.Context) error {
	s.links.forget()
	m, err := s.files.Match(ctx, slices.Concat(Local(filepath.ToSlash(s.p.Document)), Declared(s.p)), nil)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	s.links.learn(m.Links, m.Out)
	return nil
}

// withRestored is what was found with what is put back in place of it.
func (s *Surveyor) withRestored(found []checkpoint.Artifact, patterns []string, leaveOut func(string) bool) []checkpoint.Artifact {
	if len(s.restores) == 0 {
		return found
	}
	found = slices.DeleteFunc(found, func(a checkpoint.Artifact) bool {
		_, restored := s.restores[string(a.Path)]
		return restored
	})
	for path, a := range s.restores {
		if plan.MatchesAny(patterns, path) && !leaveOut(path) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b checkpoint.Artifact) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return found
}

// gates gathers what the gates judge that have a verdict.
func (s *Surveyor) gates(ctx context.Context, f *plan.Facts, st *checkpoint.State, gates []*pipeline.Gate) error {
	for _, g := range gates {
		if st == nil {
			return nil
		}
		if rec := st.Gate(g.Label()); rec == nil || rec.Status != checkpoint.Passed {
			continue
		}
		if err := s.Gate(ctx, f, g); err != nil {
			return err
		}
		if !plan.Declares(g) {
			if err := s.movedAfter(ctx, f, st, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// see looks at the files of a view, as they will be once artifacts are put back.
// Their names are masked: they are recorded, and only compared.
func (s *Surveyor) see(ctx context.Context, v plan.Scope, seq uint64) (plan.FileSet, error) {
	leaveOut := func(path string) bool { return v.Self != nil && s.own.Makes(v, path) }
	found, patterns, err := s.describeAll(ctx, v.Patterns, leaveOut)
	if err != nil {
		return plan.FileSet{}, err
	}
	set := plan.FileSet{Files: found, Patterns: patterns, Seq: seq}
	for i := range set.Files {
		a := &set.Files[i]
		shared, before := s.own.Shared(v, string(a.Path))
		a.Path = checkpoint.Text(s.mask(string(a.Path)))
		if shared {
			set.Shared = append(set.Shared, plan.SharedFile{Artifact: *a, Before: before})
		}
	}
	set.Sum = plan.DigestFiles(set.Files)
	return set, nil
}

// Git reads where the work tree stands.
type Git interface {
	// Head returns nil outside a work tree.
	Head(ctx context.Context) (*checkpoint.Git, error)
	// Deleted reports whether the branch that was at a commit was deleted: the
	// repository has the commit, and no branch of that name, here or at a remote as far
	// as that was fetched. In another repository, nothing was deleted.
	Deleted(ctx context.Context, was checkpoint.Git) (bool, error)
}
