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
	Path     checkpoint.Text      `json:"path"`
	Kind     workspace.ChangeKind `json:"change"`
	FromSize int64                `json:"from_size"`
	ToSize   int64                `json:"to_size"`
	Added    int                  `json:"lines_added"`
	Deleted  int                  `json:"lines_deleted"`
	Mode     string               `json:"mode,omitempty"` // how it changed
	Note     string               `json:"note,omitempty"` // why there are no lines
	Diff     checkpoint.Text      `json:"diff,omitempty"` // unified
}

// GitChange is what happened in git between two points.
type GitChange struct {
	From    checkpoint.Git `json:"from"`
	To      checkpoint.Git `json:"to"`
	Commits []GitCommit    `json:"commits"` // that lead from one to the other, the newest first
	Gone    []GitCommit    `json:"gone"`    // that the first has and the other has not
	Note    string         `json:"note,omitempty"`
}

// GitCommit is a commit with the first line of its message.
type GitCommit struct {
	Commit  string          `json:"commit"`
	Subject checkpoint.Text `json:"subject"`
}

// compareFiles compares what the two points know of files.
func (c *Comparison) compareFiles(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *checkpoint.State, o Options) (err error) {
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
	if err := c.lookNow(ctx, s, w, now); err != nil {
		return err
	}
	c.level()
	kept, done, err := w.OpenMany(ctx)
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

// changes are what differs in files that both points looked at. Those that only one of
// them did are named apart.
func (c *Comparison) changes(ctx context.Context, w *workspace.Workspace) (changes []workspace.Change, err error) {
	changes, apart := workspace.Apart(workspace.Diff(c.From.files, c.To.files), c.From.scope(&c.To, w), c.To.scope(&c.From, w))
	for _, change := range apart {
		list := &c.NotInTo
		if change.From == nil {
			list = &c.NotInFrom
		}
		*list = append(*list, checkpoint.Text(change.Path))
	}
	if c.To.Name == PointWorkspace && c.From.Name != PointWorkspace {
		return w.NotGone(ctx, changes)
	}
	return changes, nil
}

// inGit reports whether a point looked at what git shows. The files as they are are looked
// at as those of the other point were.
func (p *Point) inGit(other *Point, w *workspace.Workspace) bool {
	switch {
	case p.Name != PointWorkspace && p.state.Capture != nil:
		return p.state.Capture.InGit()
	case p.Name == PointWorkspace && other.Name != PointWorkspace && other.state.Capture != nil:
		return other.state.Capture.InGit()
	}
	return w.Git() != nil
}

func (p *Point) scope(other *Point, w *workspace.Workspace) workspace.Scope {
	return workspace.Scope{Git: p.inGit(other, w), Patterns: p.files.Patterns}
}

// lookNow lists the files of the workspace, for the point that is about them.
func (c *Comparison) lookNow(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *checkpoint.State) error {
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
		if p.files, err = w.As(p.inGit(other, w)).Now(ctx, slices.Compact(patterns)); err != nil {
			return fmt.Errorf("look at the workspace: %w", err)
		}
		p.known = true
	}
	return nil
}

// level makes the two sides comparable: where one of them was never captured,
// only the artifacts that both have on record tell something.
func (c *Comparison) level() {
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
	f := FileChange{Path: checkpoint.Text(change.Path), Kind: change.Kind}
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
	d, err := w.TextDiff(ctx, change, sources[0], sources[1])
	if err != nil {
		return f, err
	}
	f.Added, f.Deleted, f.Mode, f.Note = d.Added, d.Deleted, d.Mode, d.Note
	if wanted {
		f.Diff = checkpoint.Text(d.Text)
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
		at    *checkpoint.Git
	}{{from, &g.From}, {to, &g.To}} {
		if err := standing(ctx, git, side.point, side.at); err != nil {
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

// standing says where git stood at a checkpoint, or stands.
func standing(ctx context.Context, git *git.Repository, p Point, at *checkpoint.Git) error {
	if p.ID == "" {
		branch, commit, err := git.Head(ctx)
		at.Branch, at.Commit = checkpoint.Text(branch), commit
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
		commits = append(commits, GitCommit{e.Commit, checkpoint.Text(e.Subject)})
	}
	return commits, nil
}
