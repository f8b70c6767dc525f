package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Modes in a git tree.
const (
	ModeGitlink uint32 = 0o160000 // a submodule
	modeSymlink uint32 = 0o120000
)

// File is a file that git tracks, or would track.
type File struct {
	Path    string
	Blob    string // in the index; of a submodule: the commit
	Mode    uint32 // in the index; 0 for an untracked file
	Tracked bool
	Gitlink bool // a submodule, or an untracked repository in this one
	Sparse  bool // a sparse checkout does not check it out: its absence is no deletion
}

// Files lists the tracked files, and those that are neither tracked nor ignored, each
// once, sorted by path. It lists a tracked file also if the user deleted it in the work
// tree.
func (g *Repository) Files(ctx context.Context) ([]File, error) {
	var l listing
	list := g.command("ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
	if err := g.eachRecord(ctx, list, l.addLine); err != nil {
		return nil, fmt.Errorf("list the files that git knows: %w", err)
	}
	return MergeFiles(l.others, l.tracked), nil
}

// Tracked lists the tracked files, as Files does.
func (g *Repository) Tracked(ctx context.Context) ([]File, error) {
	var l listing
	if err := g.eachRecord(ctx, g.command("ls-files", "-z", "-t", "--stage", "--cached"), l.addLine); err != nil {
		return nil, fmt.Errorf("list the files that git tracks: %w", err)
	}
	return MergeFiles(nil, l.tracked), nil
}

// maxPathspecs bounds the paths in one question to git, since git compares each path with
// every file.
const maxPathspecs = 64

// Others lists the files at the paths and below them that are neither tracked nor
// ignored. With more than maxPathspecs paths it lists all files that are neither tracked
// nor ignored.
func (g *Repository) Others(ctx context.Context, paths []string) ([]File, error) {
	var l listing
	args := []string{"ls-files", "-z", "-t", "--others", "--exclude-standard"}
	if len(paths) <= maxPathspecs {
		args = append(append(args, "--"), paths...)
	}
	if err := g.eachRecord(ctx, g.command(args...), l.addLine); err != nil {
		return nil, fmt.Errorf("list the files that git does not track: %w", err)
	}
	return MergeFiles(nil, l.others), nil
}

// listing collects the files that git lists.
type listing struct{ others, tracked []File }

func (l *listing) addLine(line string) error {
	f, stage, err := parseFile(line)
	switch last := len(l.tracked) - 1; {
	case err != nil:
		return err
	case !f.Tracked:
		l.others = append(l.others, f)
	case stage == "0":
		l.tracked = append(l.tracked, f)
		// A path in conflict has up to three entries: base, ours and theirs. No commit
	// would hold any.
	case last < 0 || l.tracked[last].Path != f.Path:
		f.Blob = ""
		l.tracked = append(l.tracked, f)
	}
	return nil
}

// MergeFiles merges two lists of files into one that is sorted by path.
func MergeFiles(a, b []File) []File {
	for _, list := range [][]File{a, b} {
		slices.SortFunc(list, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	}
	if len(a) == 0 {
		return b
	}
	all := make([]File, 0, len(a)+len(b))
	for _, f := range a {
		n, _ := slices.BinarySearchFunc(b, f.Path, func(x File, path string) int { return strings.Compare(x.Path, path) })
		all = append(append(all, b[:n]...), f)
		b = b[n:]
	}
	return append(all, b...)
}

// parseFile reads "? path" or "H 100644 NAME 0\tpath".
func parseFile(line string) (f File, stage string, err error) {
	tag, rest, ok := strings.Cut(line, " ")
	if !ok {
		return File{}, "", fmt.Errorf("unexpected line %q", line)
	}
	if tag == "?" {
		path, isDir := strings.CutSuffix(rest, "/")
		return File{Path: path, Gitlink: isDir}, "0", nil
	}
	about, path, ok := strings.Cut(rest, "\t")
	digits, about, _ := strings.Cut(about, " ")
	name, stage, two := strings.Cut(about, " ")
	if !ok || !two || strings.Contains(stage, " ") {
		return File{}, "", fmt.Errorf("unexpected line %q", line)
	}
	mode, err := strconv.ParseUint(digits, 8, 32)
	if err != nil {
		return File{}, "", fmt.Errorf("unexpected line %q: %w", line, err)
	}
	f = File{Path: path, Tracked: true, Mode: uint32(mode), Blob: name, Sparse: tag == "S"}
	f.Gitlink = f.Mode == ModeGitlink
	return f, stage, nil
}

// TrackedByPath returns the files that git tracks, by path.
func (g *Repository) TrackedByPath(ctx context.Context) (map[string]File, error) {
	files, err := g.Tracked(ctx)
	if err != nil {
		return nil, err
	}
	index := make(map[string]File, len(files))
	for _, f := range files {
		index[f.Path] = f
	}
	return index, nil
}

// CommitFiles lists the files of a commit that are below the directory.
func (g *Repository) CommitFiles(ctx context.Context, commit string) ([]File, error) {
	if !g.isName(commit) {
		return nil, fmt.Errorf("list the files of %q: not the name of a commit", commit)
	}
	out, err := g.output(ctx, nil, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, fmt.Errorf("list the files of commit %s: %w", commit, err)
	}
	lines := records(out)
	files := make([]File, 0, len(lines))
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
