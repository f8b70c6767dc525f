package git

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const headsRoot = "refs/heads/"

// Head returns the branch and the commit that HEAD names. branch is "" if HEAD is
// detached, commit is "" on a branch that has none yet.
func (g *Repository) Head(ctx context.Context) (branch, commit string, err error) {
	out, err := g.output(ctx, nil, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD", "--")
	if exitCode(err) == 128 {
		// Nothing was committed yet: HEAD names a branch that does not exist.
		if out, symbolic := g.output(ctx, nil, "symbolic-ref", "-q", "HEAD"); symbolic == nil {
			return strings.TrimPrefix(strings.TrimSuffix(string(out), "\n"), headsRoot), "", nil
		}
	}
	lines := strings.Split(string(out), "\n")
	if err == nil && len(lines) < 2 {
		err = fmt.Errorf("cannot read the answer %q", out)
	}
	if err != nil {
		return "", "", fmt.Errorf("look where HEAD of git stands: %w", err)
	}
	if lines[1] == "HEAD" {
		return "", lines[0], nil
	}
	return strings.TrimPrefix(lines[1], headsRoot), lines[0], nil
}

// BranchCommit returns the commit of a branch, or "" if the branch does not exist. The
// branch "" means HEAD.
func (g *Repository) BranchCommit(ctx context.Context, branch string) (string, error) {
	on, commit, err := g.Head(ctx)
	if err != nil || branch == "" || branch == on {
		return commit, err
	}
	refs, err := g.Refs(ctx, headsRoot+branch)
	return refs[headsRoot+branch], err
}

// HasBranch reports whether the repository, or a remote-tracking branch, has a branch of
// the given name.
func (g *Repository) HasBranch(ctx context.Context, name string) (bool, error) {
	refs, err := g.Refs(ctx, headsRoot+name)
	if _, here := refs[headsRoot+name]; here || err != nil {
		return here, err
	}
	remotes, err := g.Refs(ctx, "refs/remotes/")
	for ref := range remotes {
		if _, branch, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/"); branch == name {
			return true, nil
		}
	}
	return false, err
}

// CommitExists reports whether the repository has a commit.
func (g *Repository) CommitExists(ctx context.Context, commit string) (bool, error) {
	if !g.isName(commit) {
		return false, nil
	}
	kinds, err := g.objectKinds(ctx, []string{commit})
	return kinds[commit] == "commit", err
}

// Refs returns the refs below a prefix, such as "refs/runner/PRD-009", and the names of
// their objects.
func (g *Repository) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	if !strings.HasPrefix(prefix, "refs/") {
		return nil, fmt.Errorf("list git's refs: %q is not below refs/", prefix)
	}
	out, err := g.output(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, fmt.Errorf("list git's refs below %s: %w", prefix, err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		refs[ref] = name
	}
	return refs, nil
}

// FreeRef returns the name of a ref that can be created: the wanted name, with a number
// if necessary. An existing ref may keep a commit that is needed, and a ref whose lock a
// killed git left can't be created.
func (g *Repository) FreeRef(ctx context.Context, wanted string) (string, error) {
	for name, n := wanted, 2; ; name, n = fmt.Sprintf("%s-%d", wanted, n), n+1 {
		taken, err := g.Refs(ctx, name)
		if err != nil {
			return "", err
		}
		_, locked := g.fs.Lstat(filepath.Join(g.commonDir, filepath.FromSlash(name)+".lock"))
		if len(taken) == 0 && locked != nil {
			return name, nil
		}
	}
}

// CreateRef creates a ref that keeps a commit. The ref is durable when CreateRef returns.
// It is an error if the ref exists.
func (g *Repository) CreateRef(ctx context.Context, ref, commit string) error {
	if !strings.HasPrefix(ref, refRoot) || !g.isName(commit) {
		return fmt.Errorf("keep commit %q as %q: not a commit, or not below %s", commit, ref, refRoot)
	}
	_, err := g.output(ctx, nil, durable("-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", ref, commit, "")...)
	if err != nil {
		return fmt.Errorf("keep commit %s as %s: %w", commit, ref, err)
	}
	return syncer{g}.syncRef(ref, time.Now())
}

// KeepCommits creates refs that keep commits. The map is from refs to commits.
// KeepCommits skips commits that the repository lacks. The refs are durable when it
// returns.
func (g *Repository) KeepCommits(ctx context.Context, commits map[string]string) error {
	if len(commits) == 0 {
		return nil
	}
	kinds, err := g.objectKinds(ctx, slices.Compact(slices.Sorted(maps.Values(commits))))
	if err != nil {
		return err
	}
	for _, ref := range slices.Sorted(maps.Keys(commits)) {
		if commit := commits[ref]; kinds[commit] == "commit" {
			if err := g.CreateRef(ctx, ref, commit); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteRefs deletes refs below refs/runner/, all or none. It skips refs that do not
// exist.
func (g *Repository) DeleteRefs(ctx context.Context, refs []string) error {
	var stdin strings.Builder
	for _, ref := range refs {
		if !strings.HasPrefix(ref, refRoot) || strings.Contains(ref, "..") || strings.IndexByte(ref, 0) >= 0 {
			return fmt.Errorf("delete the git ref %q: not below %s", ref, refRoot)
		}
		stdin.WriteString("delete " + ref + "\x00\x00")
	}
	if stdin.Len() == 0 {
		return nil
	}
	_, err := g.output(ctx, strings.NewReader(stdin.String()),
		"-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "--stdin", "-z")
	if err != nil {
		return fmt.Errorf("delete git's refs: %w", err)
	}
	return nil
}

// LogEntry is a commit in a log.
type LogEntry struct {
	Commit  string
	Subject string
}

// Log returns the commits that to reaches and from does not, the newest first. limit
// bounds their number (0: all). If from is "", it returns all commits that to reaches.
func (g *Repository) Log(ctx context.Context, from, to string, limit int) ([]LogEntry, error) {
	commits, err := g.revisionRange(from, to)
	if err != nil {
		return nil, fmt.Errorf("read git's log: %w", err)
	}
	args := []string{"log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=tformat:%H %s"}
	if limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(limit))
	}
	out, err := g.output(ctx, nil, append(append(args, commits...), "--")...)
	if err != nil {
		return nil, fmt.Errorf("read git's log from %s to %s: %w", from, to, err)
	}
	var entries []LogEntry
	for _, record := range records(out) {
		commit, subject, _ := strings.Cut(record, " ")
		entries = append(entries, LogEntry{Commit: commit, Subject: subject})
	}
	return entries, nil
}

// PushedCommits returns the commits of Log that a remote-tracking branch has, the newest
// first.
func (g *Repository) PushedCommits(ctx context.Context, from, to string) ([]string, error) {
	commits, err := g.revisionRange(from, to)
	if err != nil {
		return nil, fmt.Errorf("look for pushed commits: %w", err)
	}
	all, err := g.revisions(ctx, commits...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	unpushed, err := g.revisions(ctx, append(commits, "--not", "--remotes")...)
	if err != nil {
		return nil, err
	}
	local := make(map[string]bool, len(unpushed))
	for _, commit := range unpushed {
		local[commit] = true
	}
	var pushed []string
	for _, commit := range all {
		if !local[commit] {
			pushed = append(pushed, commit)
		}
	}
	return pushed, nil
}

func (g *Repository) revisions(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.output(ctx, nil, append([]string{"rev-list"}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("list commits of git: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// revisionRange returns the arguments of rev-list for the commits that to reaches and
// from does not.
func (g *Repository) revisionRange(from, to string) ([]string, error) {
	if !g.isName(to) || from != "" && !g.isName(from) {
		return nil, fmt.Errorf("%q or %q is not the name of a commit", from, to)
	}
	if from == "" {
		return []string{to}, nil
	}
	return []string{to, "^" + from}, nil
}
