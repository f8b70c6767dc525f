package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// describe looks at one file: workspace.IsAbsent, workspace.ErrNotRegular, workspace.ErrUnstable.
func describe(ctx context.Context, w *workspace.Workspace, path string) (checkpoint.Artifact, error) {
	e, err := w.Describe(ctx, path)
	return artifact(e), err
}

func artifact(e workspace.Entry) checkpoint.Artifact {
	return checkpoint.Artifact{Path: checkpoint.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest}
}

func artifacts(entries []workspace.Entry) []checkpoint.Artifact {
	all := make([]checkpoint.Artifact, len(entries))
	for i, e := range entries {
		all[i] = artifact(e)
	}
	return all
}

// entry is an artifact as the workspace knows it; its bytes are an object.
func entry(a checkpoint.Artifact) workspace.Entry {
	return workspace.Entry{Path: string(a.Path), Size: a.Size, Mode: a.Mode, Digest: a.Digest}
}

// keepArtifacts records what a workstream was to make, and keeps its bytes as
// objects. A pattern that matches nothing is a failure of the workstream, and so
// is a file that has no content. Sensitive files are recorded and not kept.
func (s *surveyor) keepArtifacts(ctx context.Context, ws *pipeline.Workstream) (kept []checkpoint.Artifact, leftOut []string, err error) {
	if len(ws.Artifacts) == 0 {
		return nil, nil, nil
	}
	if err := allThere(ctx, s.files, ws); err != nil {
		return nil, nil, err
	}
	m, err := s.files.Match(ctx, ws.ArtifactPatterns, nil)
	if err != nil {
		return nil, nil, err
	}
	s.links.learn(m.Links, m.Out)
	entries, leftOut, err := s.files.Keep(ctx, m.Files)
	if err != nil {
		return nil, nil, fmt.Errorf("keep the artifacts: %w", err)
	}
	kept = artifacts(entries)
	for i := range kept {
		kept[i].LeftOut = slices.Contains(leftOut, string(kept[i].Path))
	}
	return kept, leftOut, nil
}

// allThere refuses a declared artifact that no file matches.
func allThere(ctx context.Context, w *workspace.Workspace, ws *pipeline.Workstream) error {
	for i, patterns := range pipeline.EachPattern(ws.Artifacts) {
		if len(patterns) == 0 {
			continue // it excludes
		}
		pattern := ws.Artifacts[i]
		m, err := w.Match(ctx, patterns, nil)
		if err != nil {
			return err
		}
		if m.HasContent() {
			continue
		}
		if info, err := w.Lstat(pattern); err == nil && info.IsDir() {
			return unmade(pattern, "is a directory without a file that counts")
		}
		if out := slices.Sorted(maps.Keys(m.Out)); len(out) > 0 {
			return unmade(pattern, "does not exist: %s", plan.LeadsOut([]string{leadsTo(out[0], m.Out[out[0]])}))
		}
		if met := slices.Sorted(maps.Keys(m.Links)); len(met) > 0 {
			return unmade(pattern, "does not exist: the link %s leads to %s, and no file matches there", met[0], m.Links[met[0]])
		}
		return unmade(pattern, "does not exist")
	}
	return nil
}

// unmadeError says that a declared artifact is not there after success.
type unmadeError struct {
	pattern string
	problem string
}

func unmade(pattern, format string, args ...any) error {
	return &unmadeError{pattern, fmt.Sprintf(format, args...)}
}

func (e *unmadeError) Error() string {
	return fmt.Sprintf("the declared artifact %q %s", e.pattern, e.problem)
}

// hold keeps the bytes of artifacts as they are now, but for those that are on record
// without their bytes.
func hold(ctx context.Context, w *workspace.Workspace, all []checkpoint.Artifact) error {
	all = slices.DeleteFunc(slices.Clone(all), func(a checkpoint.Artifact) bool { return a.LeftOut })
	paths := make([]string, len(all))
	for i, a := range all {
		paths[i] = string(a.Path)
	}
	entries, _, err := w.Keep(ctx, paths)
	if err != nil {
		return fmt.Errorf("keep the artifacts: %w", err)
	}
	for i, e := range entries {
		if e.Path != paths[i] || e.Digest != all[i].Digest {
			return fmt.Errorf("keep the artifacts: %s: %w", paths[i], workspace.ErrUnstable)
		}
	}
	return nil
}

// restoreID identifies what is put back for one workstream of a session. It is the same in
// each run, so that putBack removes the temporary files that a killed run left. A run that
// restores before anything starts uses the session's id alone.
func restoreID(st *checkpoint.State, workstream string) string {
	const enough = 8
	sum := sha256.Sum256([]byte(workstream))
	return st.Session + "-" + hex.EncodeToString(sum[:enough])
}

// putBack restores artifacts as they are on record, and removes those without a digest. What somebody changes
// meanwhile is an error, and so is what may not be lost. The id names the temporary
// files: a call removes those of an earlier one with the same id, which was cut short.
func putBack(ctx context.Context, w *workspace.Workspace, id string, recorded []checkpoint.Artifact, mayLose func(path, digest string) bool) error {
	_, err := replace(ctx, w, id, nil, recorded, mayLose)
	return err
}

// replace is putBack that also removes the files of another list that are there as
// that has them, and that are not among those put back. It returns their paths.
func replace(ctx context.Context, w *workspace.Workspace, id string, had, recorded []checkpoint.Artifact, mayLose func(path, digest string) bool) (removed []string, err error) {
	var found, wanted []workspace.Entry
	seen := make(map[string]bool, len(recorded))
	for _, a := range recorded {
		a.Path = checkpoint.Text(w.RealPath(string(a.Path))) // files are put back through no link
		seen[string(a.Path)] = true
		if a.Digest != "" {
			wanted = append(wanted, entry(a))
		}
		e, err := w.Describe(ctx, string(a.Path))
		switch {
		case err == nil && e.Digest != a.Digest && !mayLose(e.Path, e.Digest):
			return nil, fmt.Errorf("restore an artifact: %w", &workspace.ChangedError{Path: e.Path})
		case err == nil:
			found = append(found, e)
		case !workspace.IsAbsent(err):
			return nil, fmt.Errorf("restore an artifact: %w", err)
		}
	}
	for _, a := range had {
		path := w.RealPath(string(a.Path))
		if seen[path] || a.Digest == "" || a.LeftOut {
			continue
		}
		if e, err := w.Describe(ctx, path); err == nil && e.Digest == a.Digest {
			seen[path] = true
			found, removed = append(found, e), append(removed, path)
		}
	}
	now, to := (&workspace.Listing{}).With(found), (&workspace.Listing{}).With(wanted)
	if _, err := w.Restore(ctx, workspace.Diff(now, to), workspace.RestoreOptions{ID: id}); err != nil {
		return nil, fmt.Errorf("restore artifacts: %w", err)
	}
	return removed, nil
}
