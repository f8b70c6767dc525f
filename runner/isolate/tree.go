package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/survey"
)

// Tree is the work tree of one attempt.
type Tree struct {
	Dir   string // stands in the place of the workspace
	Files *workspace.Workspace

	trees        *Trees
	top          string            // Dir, or a directory above it
	filesAtStart []workspace.Entry // those that match the artifacts
}

// Make makes the work tree of an attempt at an isolated workstream. After an error nothing is
// left of it.
func (t *Trees) Make(ctx context.Context, ws *pipeline.Workstream, attempt int) (*Tree, error) {
	made, err := t.make(ctx, ws, attempt)
	if err != nil {
		return nil, fmt.Errorf("make the work tree: %w", err)
	}
	return made, nil
}

func (t *Trees) make(ctx context.Context, ws *pipeline.Workstream, attempt int) (*Tree, error) {
	paths, empty, err := t.list(ctx, ws)
	if err != nil {
		return nil, err
	}
	dir, err := t.makePlace()
	if err != nil {
		return nil, err
	}
	top, err := os.MkdirTemp(dir, fmt.Sprintf("%s-%s-%d-", safeName(ws.Block), shortSum(ws.Name)[:6], attempt))
	if err != nil {
		return nil, err
	}
	made := &Tree{Dir: top, trees: t, top: top}
	t.remember(made)
	if err := made.prepare(ctx, ws, paths, empty); err != nil {
		return nil, errors.Join(err, made.Remove())
	}
	return made, nil
}

// prepare puts the files into a work tree, and notes those that the attempt may change.
func (tr *Tree) prepare(ctx context.Context, ws *pipeline.Workstream, paths, empty []string) error {
	t := tr.trees
	err := t.link(ctx, ws, tr)
	if err == nil {
		err = t.fill(ctx, tr, paths, empty)
	}
	if err == nil && ws.Isolate.From == pipeline.IsolateGit {
		err = t.hideLeftOut(ctx, tr)
	}
	if err == nil {
		tr.Files, err = t.o.Files.OpenCopy(tr.Dir)
	}
	if err == nil {
		tr.filesAtStart, err = tr.match(ctx, ws)
	}
	return err
}

// link makes a work tree a linked one of git, if the workstream asks for that.
func (t *Trees) link(ctx context.Context, ws *pipeline.Workstream, made *Tree) error {
	if ws.Isolate.From != pipeline.IsolateGit {
		return nil
	}
	repo, err := t.repository()
	if err == nil {
		t.linking.Lock() // git can't add two at once
		made.Dir, err = repo.AddLinked(ctx, made.top)
		t.linking.Unlock()
	}
	if err != nil {
		return err
	}
	return os.MkdirAll(made.Dir, 0o700)
}

// hideLeftOut keeps files that are not in a work tree out of what git shows there.
func (t *Trees) hideLeftOut(ctx context.Context, made *Tree) error {
	repo, err := t.repository()
	if err != nil {
		return err
	}
	return repo.HideLeftOut(ctx, made.Dir)
}

// repository returns the git work tree of the workspace.
func (t *Trees) repository() (*git.Repository, error) {
	repo, err := t.repo()
	if err == nil && repo == nil {
		err = errors.New(`the workspace is in no git work tree; write from = "copy" into the isolate block`)
	}
	return repo, err
}

// fill copies files into a work tree, and makes empty directories.
func (t *Trees) fill(ctx context.Context, made *Tree, paths, empty []string) error {
	root, err := os.OpenRoot(made.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := t.o.Files.CopyOut(ctx, root, paths); err != nil {
		return err
	}
	for _, dir := range empty {
		if err := root.MkdirAll(tree.Native(dir), 0o777); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	return nil
}

// list returns the files of the workspace that belong in the work tree of a workstream, sorted,
// and the empty directories. What the workstream and its gates declare is always among them.
func (t *Trees) list(ctx context.Context, ws *pipeline.Workstream) (paths, empty []string, err error) {
	if ws.Isolate.From == pipeline.IsolateGit {
		paths, err = t.listGit(ctx, ws.Isolate.Patterns)
	} else {
		paths, empty, err = t.listAll(ctx, ws.Isolate.Patterns)
	}
	if err != nil {
		return nil, nil, err
	}
	declared := slices.Concat(ws.InputPatterns, ws.ArtifactPatterns)
	for _, g := range ws.Gates {
		declared = append(declared, g.InputPatterns...)
	}
	if declared = survey.Local(declared...); len(declared) > 0 {
		m, err := t.o.Files.Tree().Match(ctx, declared, nil)
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, m.Files...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), empty, nil
}

func (t *Trees) listGit(ctx context.Context, patterns []string) ([]string, error) {
	repo, err := t.repository()
	if err != nil {
		return nil, err
	}
	files, err := repo.Files(ctx)
	if err != nil {
		return nil, err
	}
	hidden := t.o.Files.Tree().StateDirs()
	var paths []string
	for _, f := range files {
		if f.Gitlink || t.o.Files.Tree().Reserved(f.Path) || hidden.Contain(f.Path) || !tree.MatchesAny(patterns, f.Path) {
			continue
		}
		paths = append(paths, f.Path)
	}
	return paths, nil
}

func (t *Trees) listAll(ctx context.Context, patterns []string) (paths, empty []string, err error) {
	found, err := t.o.Files.Tree().Walk(ctx, patterns)
	if err != nil {
		return nil, nil, err
	}
	if len(found.Denied) > 0 {
		return nil, nil, fmt.Errorf("%s may not be read; leave it out with \"exclude\" in the isolate block", text.Enumerate(found.Denied))
	}
	return found.Files, found.Empty, nil
}

// match describes the files that match the artifacts of a workstream now.
func (tr *Tree) match(ctx context.Context, ws *pipeline.Workstream) ([]workspace.Entry, error) {
	if len(ws.ArtifactPatterns) == 0 {
		return nil, nil
	}
	m, err := tr.Files.Tree().Match(ctx, ws.ArtifactPatterns, nil)
	if err != nil {
		return nil, err
	}
	return tr.Files.DescribeEach(ctx, m.Files)
}

// Before returns how the files were before the attempt that it has created, changed or deleted,
// among its artifacts. One that it has created has no digest.
func (tr *Tree) Before(artifacts []state.Artifact) []state.Artifact {
	was := make(map[string]workspace.Entry, len(tr.filesAtStart))
	for _, e := range tr.filesAtStart {
		was[e.Path] = e
	}
	var before []state.Artifact
	for _, a := range artifacts {
		switch e, existed := was[string(a.Path)]; {
		case !existed:
			before = append(before, state.Artifact{Path: a.Path})
		case e.Digest != a.Digest || e.Mode != a.Mode:
			before = append(before, asArtifact(e))
		}
		delete(was, string(a.Path))
	}
	for _, e := range was {
		before = append(before, asArtifact(e))
	}
	return state.SortByPath(before)
}

func asArtifact(e workspace.Entry) state.Artifact {
	return state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest}
}

// In returns the directory in the work tree that corresponds to one of the workspace.
func (tr *Tree) In(workspace, dir string) (string, error) {
	rel, err := filepath.Rel(workspace, dir)
	if err != nil {
		return "", fmt.Errorf("find the directory to run in: %w", err)
	}
	return filepath.Join(tr.Dir, rel), nil
}

// Remove removes the work tree.
func (tr *Tree) Remove() error {
	var closed error
	if tr.Files != nil {
		closed = tr.Files.Close()
	}
	if err := errors.Join(closed, tr.trees.remove(tr.top)); err != nil {
		return fmt.Errorf("remove the work tree %s: %w", tr.top, err)
	}
	tr.trees.forget(tr)
	return nil
}
