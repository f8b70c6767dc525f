package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// FileChange is a file that differs.
type FileChange struct {
	Path     state.Text           `json:"path"`
	Kind     workspace.ChangeKind `json:"change"`
	FromSize int64                `json:"from_size"`
	ToSize   int64                `json:"to_size"`
	Added    int                  `json:"lines_added"`
	Deleted  int                  `json:"lines_deleted"`
	Mode     string               `json:"mode,omitempty"` // how the mode changed
	Note     string               `json:"note,omitempty"` // why lines were not counted
	Diff     state.Text           `json:"diff,omitempty"` // unified
}

// GitChange holds the commits between two points.
type GitChange struct {
	From    state.Git   `json:"from"`
	To      state.Git   `json:"to"`
	Commits []GitCommit `json:"commits"` // reachable only from the second point, the newest first
	Gone    []GitCommit `json:"gone"`    // reachable only from the first point
	Note    string      `json:"note,omitempty"`
}

// GitCommit is a commit with the first line of its message.
type GitCommit struct {
	Commit  string     `json:"commit"`
	Subject state.Text `json:"subject"`
}

// compareFiles compares the files of the two points.
func (c *Comparison) compareFiles(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State, o Options) (err error) {
	for _, p := range []*Point{&c.From, &c.To} {
		if p.Name == PointWorkspace {
			continue
		}
		if p.files, p.known, err = checkpoint.FilesOf(ctx, w, p.state); err != nil {
			return err
		}
		if p.known {
			p.FilesAt = &p.state.Capture.At
		}
	}
	if err := c.listWorkspace(ctx, s, w, now); err != nil {
		return err
	}
	c.levelSides()
	kept, done, err := w.Contents().OpenMany(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	sources := [2]workspace.Source{kept, kept}
	for i, p := range []*Point{&c.From, &c.To} {
		if p.Name == PointWorkspace {
			sources[i] = w.OpenNow
		}
	}
	changes, err := c.changes(ctx, w)
	if err != nil {
		return err
	}
	for _, change := range changes {
		f, err := compareFile(ctx, w, change, sources, o)
		if err != nil {
			return err
		}
		c.Files = append(c.Files, f)
	}
	return nil
}

// changes returns the differences of files that both captures included. It records the
// files that only one capture included.
func (c *Comparison) changes(ctx context.Context, w *workspace.Workspace) (changes []workspace.Change, err error) {
	changes, apart := workspace.SplitByScope(workspace.Diff(c.From.files, c.To.files), c.From.captureScope(&c.To, w), c.To.captureScope(&c.From, w))
	for _, change := range apart {
		list := &c.NotInTo
		if change.From == nil {
			list = &c.NotInFrom
		}
		*list = append(*list, state.Text(change.Path))
	}
	if c.To.Name == PointWorkspace && c.From.Name != PointWorkspace {
		return w.CorrectDeletions(ctx, changes)
	}
	return changes, nil
}

// usesGit reports whether the capture of a point included the files that git tracks. The
// workspace is captured in the way of the other point.
func (p *Point) usesGit(other *Point, w *workspace.Workspace) bool {
	switch {
	case p.Name != PointWorkspace && p.state.Capture != nil:
		return p.state.Capture.InGit()
	case p.Name == PointWorkspace && other.Name != PointWorkspace && other.state.Capture != nil:
		return other.state.Capture.InGit()
	}
	return w.Git() != nil
}

func (p *Point) captureScope(other *Point, w *workspace.Workspace) workspace.Scope {
	return workspace.Scope{Git: p.usesGit(other, w), Patterns: p.files.Patterns}
}

// listWorkspace lists the files of the workspace for the point that needs them.
func (c *Comparison) listWorkspace(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State) error {
	var patterns []string
	for _, p := range []*Point{&c.From, &c.To} {
		if p.files != nil {
			patterns = append(patterns, p.files.Patterns...)
		}
	}
	for i, p := range []*Point{&c.From, &c.To} {
		if p.files != nil {
			continue
		}
		other := []*Point{&c.To, &c.From}[i]
		last, err := s.CapturePatterns(ctx, w, now)
		if err != nil {
			return err
		}
		patterns = append(patterns, last...)
		slices.Sort(patterns)
		if p.files, err = w.WithGit(p.usesGit(other, w)).Now(ctx, slices.Compact(patterns)); err != nil {
			return fmt.Errorf("look at the workspace: %w", err)
		}
		p.known = true
	}
	return nil
}

// levelSides reduces both sides to their recorded artifacts if one side has no capture.
func (c *Comparison) levelSides() {
	if c.From.known && c.To.known {
		return
	}
	c.OnlyArtifacts = true
	paths := map[string]bool{}
	for _, p := range []*Point{&c.From, &c.To} {
		for _, e := range state.RecordedFiles(p.state) {
			paths[e.Path] = true
		}
	}
	for _, p := range []*Point{&c.From, &c.To} {
		kept := *p.files
		kept.Entries = slices.DeleteFunc(slices.Clone(kept.Entries), func(e workspace.Entry) bool { return !paths[e.Path] })
		p.files = &kept
	}
}

func compareFile(ctx context.Context, w *workspace.Workspace, change workspace.Change, sources [2]workspace.Source, o Options) (FileChange, error) {
	f := FileChange{Path: state.Text(change.Path), Kind: change.Kind}
	if change.From != nil {
		f.FromSize = change.From.Size
	}
	if change.To != nil {
		f.ToSize = change.To.Size
	}
	wanted := o.Texts && (o.Wanted == nil || o.Wanted(change.Path))
	if !o.Lines && !wanted {
		return f, nil
	}
	d, err := workspace.DiffText(ctx, change, sources[0], sources[1])
	if err != nil {
		return f, err
	}
	f.Added, f.Deleted, f.Mode, f.Note = d.Added, d.Deleted, d.Mode, d.Note
	if wanted {
		f.Diff = state.Text(d.Text)
	}
	return f, nil
}

// compareGit lists the commits between two points.
func compareGit(ctx context.Context, w *workspace.Workspace, from, to Point) (*GitChange, error) {
	git := w.Git()
	if git == nil {
		return nil, nil
	}
	g := &GitChange{Commits: []GitCommit{}, Gone: []GitCommit{}}
	for _, side := range []struct {
		point Point
		at    *state.Git
	}{{from, &g.From}, {to, &g.To}} {
		if err := resolveCommit(ctx, git, side.point, side.at); err != nil {
			return nil, err
		}
		if side.at.Commit == "" {
			continue
		}
		there, err := git.CommitExists(ctx, side.at.Commit)
		if err != nil {
			return nil, fmt.Errorf("look for commit %s: %w", side.at.Commit, err)
		}
		if !there {
			g.Note = fmt.Sprintf("commit %s is not in this repository", side.at.Commit)
		}
	}
	if g.Note != "" || g.From.Commit == g.To.Commit || g.To.Commit == "" {
		return g, nil
	}
	var err error
	if g.Commits, err = commitsBetween(ctx, git, g.From.Commit, g.To.Commit); err != nil || g.From.Commit == "" {
		return g, err
	}
	g.Gone, err = commitsBetween(ctx, git, g.To.Commit, g.From.Commit)
	return g, err
}

// resolveCommit sets the commit and branch of a point: those of its checkpoint, or the
// current ones.
func resolveCommit(ctx context.Context, git *git.Repository, p Point, at *state.Git) error {
	if p.ID == "" {
		branch, commit, err := git.Head(ctx)
		at.Branch, at.Commit = state.Text(branch), commit
		return err
	}
	if p.git != nil {
		*at = *p.git
	}
	return nil
}

func commitsBetween(ctx context.Context, git *git.Repository, from, to string) ([]GitCommit, error) {
	entries, err := git.Log(ctx, from, to, 0)
	if err != nil {
		return nil, fmt.Errorf("list the commits between the checkpoints: %w", err)
	}
	commits := []GitCommit{}
	for _, e := range entries {
		commits = append(commits, GitCommit{e.Commit, state.Text(e.Subject)})
	}
	return commits, nil
}
