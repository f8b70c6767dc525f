package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ModeGitlink is the mode of a submodule in a git tree.
const ModeGitlink uint32 = 0o160000

// GitFile is a file that git tracks, or that it would.
type GitFile struct {
	Path    string
	Tracked bool
	Mode    uint32 // in the index; 0 for an untracked file
	Blob    string // in the index; of a submodule: the commit
	Gitlink bool   // a submodule, or an untracked repository in this one
	Sparse  bool   // left out of the work tree by a sparse checkout: its absence is no deletion
}

// Files lists the files that are tracked, and those that are neither tracked nor ignored, each once.
// A tracked file that was deleted in the work tree is listed. What git would wait
// for is a *GitStateError.
func (g *Git) Files(ctx context.Context) ([]GitFile, error) {
	out, err := g.captureUnstuck(ctx, g.command("ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard"))
	if err != nil {
		return nil, fmt.Errorf("list the files that git knows: %w", err)
	}
	lines := records(out)
	files := make([]GitFile, 0, len(lines))
	unmerged := map[string]bool{}
	for _, line := range lines {
		f, stage, err := parseFile(line)
		if err != nil {
			return nil, fmt.Errorf("list the files that git knows: %w", err)
		}
		// A conflicted path has up to three entries: base, ours and theirs.
		// None of them is what a commit would hold.
		if stage != "0" {
			if unmerged[f.Path] {
				continue
			}
			unmerged[f.Path] = true
			f.Blob = ""
		}
		files = append(files, f)
	}
	return files, nil
}

// Ignored lists what git ignores, a directory that is ignored as a whole by
// its name, and an empty one not at all.
func (g *Git) Ignored(ctx context.Context) ([]string, error) {
	out, err := g.captureUnstuck(ctx, g.command("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory"))
	if err != nil {
		return nil, fmt.Errorf("list the files that git ignores: %w", err)
	}
	return records(out), nil
}

// Ignored names what is in the workspace and not in a listing of it, since git
// ignores it: a directory by its name, with a slash.
func (w *Workspace) Ignored(ctx context.Context, l *Listing) ([]string, error) {
	if w.Git() == nil {
		return nil, nil
	}
	all, err := w.Git().Ignored(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool {
		_, listed := slices.BinarySearchFunc(l.Entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
		return listed || w.excluded(strings.TrimSuffix(path, "/"))
	}), nil
}

// parseFile reads "? path" or "H 100644 NAME 0\tpath".
func parseFile(line string) (f GitFile, stage string, err error) {
	tag, rest, ok := strings.Cut(line, " ")
	if !ok {
		return GitFile{}, "", fmt.Errorf("unexpected line %q", line)
	}
	if tag == "?" {
		path, isDir := strings.CutSuffix(rest, "/")
		return GitFile{Path: path, Gitlink: isDir}, "0", nil
	}
	about, path, ok := strings.Cut(rest, "\t")
	fields := strings.Split(about, " ")
	if !ok || len(fields) != 3 {
		return GitFile{}, "", fmt.Errorf("unexpected line %q", line)
	}
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	if err != nil {
		return GitFile{}, "", fmt.Errorf("unexpected line %q: %w", line, err)
	}
	f = GitFile{Path: path, Tracked: true, Mode: uint32(mode), Blob: fields[1], Sparse: tag == "S"}
	f.Gitlink = f.Mode == ModeGitlink
	return f, fields[2], nil
}
