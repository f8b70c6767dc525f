package survey

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/pipeline/glob"
	"prdrunner/runner/plan"
)

// Describe returns one file as an artifact. Errors are tree.IsAbsent,
// workspace.ErrNotRegular or workspace.ErrUnstable, among others.
func Describe(ctx context.Context, w *workspace.Workspace, path string) (state.Artifact, error) {
	e, err := w.Describe(ctx, path)
	return toArtifact(e), err
}

func toArtifact(e workspace.Entry) state.Artifact {
	return state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest}
}

func toArtifacts(entries []workspace.Entry) []state.Artifact {
	all := make([]state.Artifact, len(entries))
	for i, e := range entries {
		all[i] = toArtifact(e)
	}
	return all
}

// EntryOf returns an artifact as an entry of the workspace. The bytes of the entry are an
// object.
func EntryOf(a state.Artifact) workspace.Entry {
	return workspace.Entry{Path: string(a.Path), Size: a.Size, Mode: a.Mode, Digest: a.Digest}
}

// KeepArtifacts returns the artifacts that a workstream declares, and stores their bytes
// as objects. A pattern that matches no file, or only a link on the way to one, is an
// error: the workstream has failed. The bytes of sensitive files are not stored; leftOut
// names these files.
func (s *Surveyor) KeepArtifacts(ctx context.Context, ws *pipeline.Workstream) (kept []state.Artifact, leftOut []string, err error) {
	if len(ws.Artifacts) == 0 {
		return nil, nil, nil
	}
	if err := CheckMade(ctx, s.files, ws); err != nil {
		return nil, nil, err
	}
	m, err := s.files.Tree().Match(ctx, ws.ArtifactPatterns, nil)
	if err != nil {
		return nil, nil, err
	}
	s.links.addLinks(m.Links, m.Outside)
	entries, leftOut, err := s.files.Keep(ctx, m.Files)
	if err != nil {
		return nil, nil, fmt.Errorf("keep the artifacts: %w", err)
	}
	kept = toArtifacts(entries)
	for i := range kept {
		kept[i].LeftOut = slices.Contains(leftOut, string(kept[i].Path))
	}
	return kept, leftOut, nil
}

// CheckMade returns an *UnmadeError for the first declared artifact pattern that no file
// matches.
func CheckMade(ctx context.Context, w *workspace.Workspace, ws *pipeline.Workstream) error {
	for i, patterns := range glob.EachPattern(ws.Artifacts) {
		if len(patterns) == 0 {
			continue // the entry only excludes files
		}
		pattern := ws.Artifacts[i]
		m, err := w.Tree().Match(ctx, patterns, nil)
		if err != nil {
			return err
		}
		if m.HasContent() {
			continue
		}
		if info, err := w.Tree().Lstat(pattern); err == nil && info.IsDir() {
			return unmadeError(pattern, "is a directory without a file that counts")
		}
		if out := slices.Sorted(maps.Keys(m.Outside)); len(out) > 0 {
			return unmadeError(pattern, "does not exist: %s", plan.DescribeLinksOut([]string{formatLink(out[0], m.Outside[out[0]])}))
		}
		if met := slices.Sorted(maps.Keys(m.Links)); len(met) > 0 {
			return unmadeError(pattern, "does not exist: the link %s leads to %s, and no file matches there", met[0], m.Links[met[0]])
		}
		return unmadeError(pattern, "does not exist")
	}
	return nil
}

// UnmadeError says that a declared artifact is missing after the workstream succeeded.
type UnmadeError struct {
	Pattern string
	Problem string
}

func unmadeError(pattern, format string, args ...any) error {
	return &UnmadeError{pattern, fmt.Sprintf(format, args...)}
}

func (e *UnmadeError) Error() string {
	return fmt.Sprintf("the declared artifact %q %s", e.Pattern, e.Problem)
}

// KeepLeftFiles returns the present state of the artifacts that differ from the record,
// and stores their bytes as objects. An artifact whose file is missing has no digest.
func (s *Surveyor) KeepLeftFiles(ctx context.Context, shared []state.Artifact) ([]state.Artifact, error) {
	var left []state.Artifact
	var paths []string
	for _, a := range shared {
		now, err := Describe(ctx, s.files, string(a.Path))
		switch {
		case tree.IsAbsent(err):
			left = append(left, state.Artifact{Path: a.Path})
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", a.Path, err)
		case now.Digest != a.Digest:
			paths = append(paths, string(a.Path))
		}
	}
	entries, leftOut, err := s.files.Keep(ctx, paths)
	if err != nil {
		return nil, fmt.Errorf("keep what is left: %w", err)
	}
	for _, a := range toArtifacts(entries) {
		a.LeftOut = slices.Contains(leftOut, string(a.Path))
		left = append(left, a)
	}
	return state.SortByPath(left), nil
}
