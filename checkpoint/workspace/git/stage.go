package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// IndexEntry is what git's index, or a commit, has at a path.
type IndexEntry struct {
	Path string
	Mode uint32 // 0: it has no entry
	Blob string // "": it has no entry
}

// Absent reports whether there is no entry at the path.
func (e IndexEntry) Absent() bool { return e.Mode == 0 }

// StagedChange is a path at which the index differs from a commit.
type StagedChange struct{ Commit, Index IndexEntry }

// Staged lists the paths below the directory at which the index differs from a commit,
// sorted. In the index, a path with a conflict is absent, and so is a file that is only
// intended to be added (git add --intent-to-add).
func (g *Repository) Staged(ctx context.Context, commit string) ([]StagedChange, error) {
	if !g.isName(commit) {
		return nil, fmt.Errorf("look at what is staged: %q is not the name of a commit", commit)
	}
	out, err := g.output(ctx, nil, append(diffIndex("--ita-invisible-in-index", commit), "--", ".")...)
	var changes []StagedChange
	if err == nil {
		changes, err = parseRawDiff(out, g.prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("look at what is staged: %w", err)
	}
	slices.SortFunc(changes, func(a, b StagedChange) int { return strings.Compare(a.Index.Path, b.Index.Path) })
	return slices.CompactFunc(changes, func(a, b StagedChange) bool { return a.Index.Path == b.Index.Path }), nil
}

// Changed lists the paths below the directory at which two commits differ.
func (g *Repository) Changed(ctx context.Context, from, to string) ([]string, error) {
	if !g.isName(from) || !g.isName(to) {
		return nil, fmt.Errorf("compare two commits: %q or %q is not the name of a commit", from, to)
	}
	out, err := g.output(ctx, nil, "-c", "diff.relative=false", "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--", ".")
	if err != nil {
		return nil, fmt.Errorf("compare the commits %s and %s: %w", from, to, err)
	}
	paths := records(out)
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, g.prefix)
	}
	return paths, nil
}

// ChangedSince lists the paths below the directory at which to differs from from because
// of newer commits: any if to is a descendant of from, else those made after a time. A
// commit that is only undone, or another branch that is only checked out, is not newer.
func (g *Repository) ChangedSince(ctx context.Context, from, to string, after time.Time) ([]string, error) {
	paths, err := g.Changed(ctx, from, to)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	undone, err := g.Log(ctx, to, from, 1)
	if err != nil || len(undone) == 0 { // a descendant
		return paths, err
	}
	out, err := g.output(ctx, nil, "-c", "diff.relative=false", "-c", "log.showSignature=false", "log", "-z", "--diff-merges=first-parent", "--no-renames", "--name-only", "--format=tformat:%x00%ct",
		to, "^"+from, "--", ".")
	if err != nil {
		return nil, fmt.Errorf("read git's log from %s to %s: %w", from, to, err)
	}
	newer := g.pathsOfCommits(string(out), after)
	return slices.DeleteFunc(paths, func(path string) bool { return !newer[path] }), nil
}

// pathsOfCommits returns the paths of the commits made after a time. log has a NUL, the
// time, a NUL, and a newline for each commit, and then its paths, each with a NUL.
func (g *Repository) pathsOfCommits(log string, after time.Time) map[string]bool {
	paths := map[string]bool{}
	for commit := range strings.SplitSeq(log, "\x00\x00") {
		made, rest, _ := strings.Cut(strings.TrimPrefix(commit, "\x00"), "\x00")
		seconds, err := strconv.ParseInt(made, 10, 64)
		if err != nil || seconds < after.Unix() {
			continue
		}
		for path := range strings.SplitSeq(strings.TrimPrefix(rest, "\n"), "\x00") {
			paths[strings.TrimPrefix(path, g.prefix)] = true
		}
	}
	return paths
}

// SetIndex changes the user's index: it sets the given entries, and removes those that are
// absent. It changes no file.
func (g *Repository) SetIndex(ctx context.Context, entries []IndexEntry) error {
	if len(entries) == 0 {
		return nil
	}
	var stdin strings.Builder
	for _, e := range entries {
		if err := checkPath(e.Path); err != nil {
			return err
		}
		if !e.Absent() && !g.isName(e.Blob) {
			return fmt.Errorf("stage %s: %q is not the name of a blob", e.Path, e.Blob)
		}
		stdin.WriteString(g.indexInfo(e, g.prefix+e.Path))
	}
	if _, err := g.output(ctx, strings.NewReader(stdin.String()), durable("update-index", "-z", "--index-info")...); err != nil {
		return fmt.Errorf("change git's index: %w", err)
	}
	return syncer{g}.syncFile(g.indexFile())
}

// indexInfo returns an entry in the form that update-index reads. path is relative to the
// top level.
func (g *Repository) indexInfo(e IndexEntry, path string) string {
	name := e.Blob
	if e.Absent() {
		name = strings.Repeat("0", g.nameLength())
	}
	return fmt.Sprintf("%o %s\t%s\x00", e.Mode, name, path)
}

// diffIndex returns the arguments of a command that compares the index with a commit, in
// the form that parseRawDiff reads.
func diffIndex(args ...string) []string {
	return append([]string{
		"-c", "diff.relative=false",
		"diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none",
	}, args...)
}

// parseRawDiff reads records ":100644 100755 NAME NAME M", each followed by a path. It
// removes the prefix of the path.
func parseRawDiff(out []byte, prefix string) ([]StagedChange, error) {
	fields := records(out)
	changes := make([]StagedChange, 0, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(about) != 5 {
			return nil, fmt.Errorf("unexpected answer %q", fields[i])
		}
		var c StagedChange
		for side, entry := range []*IndexEntry{&c.Commit, &c.Index} {
			mode, err := strconv.ParseUint(about[side], 8, 32)
			if err != nil {
				return nil, fmt.Errorf("unexpected answer %q: %w", fields[i], err)
			}
			*entry = IndexEntry{Path: strings.TrimPrefix(fields[i+1], prefix), Mode: uint32(mode)}
			if mode != 0 {
				entry.Blob = about[2+side]
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}
