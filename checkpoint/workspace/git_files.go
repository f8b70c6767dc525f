package workspace

import (
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
	Blob    string // in the index; of a submodule: the commit
	Mode    uint32 // in the index; 0 for an untracked file
	Tracked bool
	Gitlink bool // a submodule, or an untracked repository in this one
	Sparse  bool // left out of the work tree by a sparse checkout: its absence is no deletion
}

// Files lists the files that are tracked, and those that are neither tracked nor ignored, each once,
// sorted by path.
// A tracked file that was deleted in the work tree is listed.
func (g *Git) Files(ctx context.Context) ([]GitFile, error) {
	var l gitListing
	list := g.command("ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
	if err := g.eachRecord(ctx, list, l.add); err != nil {
		return nil, fmt.Errorf("list the files that git knows: %w", err)
	}
	return mergeByPath(l.others, l.tracked), nil
}

// Tracked lists what Files lists of the files that are tracked.
func (g *Git) Tracked(ctx context.Context) ([]GitFile, error) {
	var l gitListing
	if err := g.eachRecord(ctx, g.command("ls-files", "-z", "-t", "--stage", "--cached"), l.add); err != nil {
		return nil, fmt.Errorf("list the files that git tracks: %w", err)
	}
	return mergeByPath(nil, l.tracked), nil
}

// mostPaths is how many paths git is asked about: it compares each with all it meets.
const mostPaths = 64

// Others lists what Files lists of the files that are not tracked, as far as they are
// at some paths or below, or of all of them where these are many.
func (g *Git) Others(ctx context.Context, paths []string) ([]GitFile, error) {
	var l gitListing
	args := []string{"ls-files", "-z", "-t", "--others", "--exclude-standard"}
	if len(paths) <= mostPaths {
		args = append(append(args, "--"), paths...)
	}
	if err := g.eachRecord(ctx, g.command(args...), l.add); err != nil {
		return nil, fmt.Errorf("list the files that git does not track: %w", err)
	}
	return mergeByPath(nil, l.others), nil
}

// gitListing collects what git lists.
type gitListing struct{ others, tracked []GitFile }

func (l *gitListing) add(line string) error {
	f, stage, err := parseFile(line)
	l.tracked = roomFor(l.tracked)
	switch last := len(l.tracked) - 1; {
	case err != nil:
		return err
	case !f.Tracked:
		l.others = append(l.others, f)
	case stage == "0":
		l.tracked = append(l.tracked, f)
	// A conflicted path has up to three entries: base, ours and theirs.
	// None of them is what a commit would hold.
	case last < 0 || l.tracked[last].Path != f.Path:
		f.Blob = ""
		l.tracked = append(l.tracked, f)
	}
	return nil
}

// mergeByPath merges two lists of files, that git has sorted but for directories
// among them.
func mergeByPath(a, b []GitFile) []GitFile {
	for _, list := range [][]GitFile{a, b} {
		slices.SortFunc(list, func(x, y GitFile) int { return compareFile(x, y.Path) })
	}
	if len(a) == 0 {
		return b
	}
	all := make([]GitFile, 0, len(a)+len(b))
	for _, f := range a {
		n, _ := slices.BinarySearchFunc(b, f.Path, compareFile)
		all = append(append(all, b[:n]...), f)
		b = b[n:]
	}
	return append(all, b...)
}

func compareFile(f GitFile, path string) int { return strings.Compare(f.Path, path) }

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
	digits, about, _ := strings.Cut(about, " ")
	name, stage, two := strings.Cut(about, " ")
	if !ok || !two || strings.Contains(stage, " ") {
		return GitFile{}, "", fmt.Errorf("unexpected line %q", line)
	}
	mode, err := strconv.ParseUint(digits, 8, 32)
	if err != nil {
		return GitFile{}, "", fmt.Errorf("unexpected line %q: %w", line, err)
	}
	f = GitFile{Path: path, Tracked: true, Mode: uint32(mode), Blob: name, Sparse: tag == "S"}
	f.Gitlink = f.Mode == ModeGitlink
	return f, stage, nil
}

// Index returns the files that git tracks, by path.
func (g *Git) Index(ctx context.Context) (map[string]GitFile, error) {
	files, err := g.Tracked(ctx)
	if err != nil {
		return nil, err
	}
	index := make(map[string]GitFile, len(files))
	for _, f := range files {
		index[f.Path] = f
	}
	return index, nil
}

// Tree lists the files of a commit, those below the directory.
func (g *Git) Tree(ctx context.Context, commit string) ([]GitFile, error) {
	if !g.isName(commit) {
		return nil, fmt.Errorf("list the files of %q: not the name of a commit", commit)
	}
	out, err := g.output(ctx, nil, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, fmt.Errorf("list the files of commit %s: %w", commit, err)
	}
	lines := records(out)
	files := make([]GitFile, 0, len(lines))
	for _, line := range lines {
		about, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type, name
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("list the files of commit %s: unexpected line %q", commit, line)
		}
		// The stage of an index takes the place of the type here.
		f, _, err := parseFile("H " + fields[0] + " " + fields[2] + " 0\t" + path)
		if err != nil {
			return nil, fmt.Errorf("list the files of commit %s: %w", commit, err)
		}
		files = append(files, f)
	}
	return files, nil
}
