package git

import (
	"context"
	"fmt"
	"strings"
)

// IgnoredAmong returns the paths that git ignores: a rule of .gitignore, or of another
// such file, matches them, and git does not track them.
func (g *Repository) IgnoredAmong(ctx context.Context, paths []string) (map[string]bool, error) {
	return g.checkIgnore(ctx, paths)
}

// IgnoredByRules returns the paths that a rule matches, tracked or not.
func (g *Repository) IgnoredByRules(ctx context.Context, paths []string) (map[string]bool, error) {
	return g.checkIgnore(ctx, paths, "--no-index")
}

func (g *Repository) checkIgnore(ctx context.Context, paths []string, options ...string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	// check-ignore knows no literal paths. The prefix "./" keeps a path that starts
	// with a colon from being read as a pattern.
	c := g.command(append([]string{"check-ignore", "-z", "--stdin"}, options...)...)
	c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0")
	stdin := strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00")
	out, err := g.runCapturing(ctx, stdin, c)
	if err != nil && exitCode(err) != 1 { // 1: none is ignored
		return nil, fmt.Errorf("ask git what is ignored: %w", err)
	}
	ignored := map[string]bool{}
	for _, path := range records(out) {
		ignored[strings.TrimPrefix(path, "./")] = true
	}
	return ignored, nil
}

// Ignored lists the files that git ignores. A directory that git ignores as a whole is
// listed by its name with a slash, and an empty one not at all.
func (g *Repository) Ignored(ctx context.Context) ([]string, error) {
	var ignored []string
	list := g.command("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory")
	err := g.eachRecord(ctx, list, func(name string) error {
		ignored = append(ignored, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the files that git ignores: %w", err)
	}
	return ignored, nil
}

// UntrackedDirs lists the outermost directories that hold no tracked file and that git
// does not ignore. It names no directory that has the name of a tracked file.
func (g *Repository) UntrackedDirs(ctx context.Context) ([]string, error) {
	out, err := g.output(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--directory")
	if err != nil {
		return nil, fmt.Errorf("list the directories that git does not track: %w", err)
	}
	var dirs []string
	for _, name := range records(out) {
		if dir, isDir := strings.CutSuffix(name, "/"); isDir {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
