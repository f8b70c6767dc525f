// Package git runs the commands of git that captures and rollbacks need.
//
// It knows git's commands, objects, refs, trees and index files. Captures and workspaces
// do not belong here. The package starts no process itself; the caller passes it a
// Commander.
//
// Begin with Open, which finds the work tree of a directory and returns a Repository.
// Files lists the files that git knows, Begin writes a commit that is on no branch (a
// Writer), CommitAll writes one on the user's branch, Reset goes back to a commit, and
// Blobs reads the bytes of files.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"prdrunner/checkpoint/store"
)

// StateError says why git can't execute a request now, and what the user can do.
type StateError struct {
	Detail string
	Remedy string
}

func (e *StateError) Error() string { return e.Detail }

// Repository is a git work tree, or a directory in one. It is safe for concurrent use.
//
// Only CommitAll, Reset and SetIndex change HEAD, a branch, the index, the stash or a
// reflog. Only CommitAll and Reset run filters that change files; Modified and Status may
// run clean filters, to compare files. No method runs a hook. Paths are relative to the directory,
// slash-separated, of any bytes.
type Repository struct {
	commander     Commander
	dir           string
	prefix        string // of dir below the top level: "" or "a/b/"
	gitDir        string // of this work tree
	commonDir     string // of all work trees of the repository
	format        string // of object names: sha1 or sha256
	caseSensitive bool   // names that differ only in case are different files, whatever core.ignoreCase says
	fs            store.FS
}

// endOfAnswer separates the answers of rev-parse, which may hold newlines: it prints
// flags that it does not know.
const endOfAnswer = "--end-of-answer"

// Open returns the work tree that a directory lies in, or nil if it lies in none, such as
// in a bare repository or below .git. If there is a work tree and no git program, Open
// returns a *StateError: without git, a capture would hold other files, and blobs would
// seem damaged.
func Open(ctx context.Context, c Commander, dir string) (*Repository, error) {
	if there, err := Exists(dir); err != nil || !there {
		return nil, err
	}
	g := &Repository{commander: c, dir: dir, fs: store.OS()}
	answer, err := g.output(ctx, nil, "rev-parse", "--is-inside-work-tree", endOfAnswer,
		"--show-object-format", endOfAnswer, "--show-prefix", endOfAnswer,
		"--path-format=absolute", "--git-dir", endOfAnswer, "--git-common-dir")
	var exit *ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, missingGit(dir)
	case errors.As(err, &exit) && strings.Contains(exit.Stderr, "not a git repository (or any"):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for the git work tree of %s: %w", dir, err)
	}
	parts := strings.Split(string(answer), endOfAnswer+"\n")
	if parts[0] == "false\n" {
		return nil, nil
	}
	if len(parts) != 5 {
		return nil, fmt.Errorf("look for the git work tree of %s: cannot read the answer %q", dir, answer)
	}
	for i, field := range []*string{nil, &g.format, &g.prefix, &g.gitDir, &g.commonDir} {
		if field != nil {
			*field = strings.TrimSuffix(parts[i], "\n")
		}
	}
	g.caseSensitive = distinguishesCase(dir)
	if g.format != "sha1" && g.format != "sha256" {
		return nil, fmt.Errorf("look for the git work tree of %s: unknown object format %q", dir, g.format)
	}
	return g, nil
}

// unsetVariables returns the variables by which git tells its hooks and aliases where the
// repository is. Runner finds the repository by its directory instead. The other
// variables GIT_* are the user's choice.
func unsetVariables() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
		"GIT_REPLACE_REF_BASE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS",
	}
}

// command returns a git command that runs no hook and takes no optional lock. It does not
// ask an fsmonitor, which git would start, and which may be wrong.
func (g *Repository) command(args ...string) Command {
	quiet := []string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	if g.caseSensitive {
		quiet = append(quiet, "-c", "core.ignoreCase=false")
	}
	return Command{
		Args:  append(quiet, args...),
		Dir:   g.dir,
		Unset: unsetVariables(),
		Env: []string{
			"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
			"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		},
	}
}

// output runs a command and returns its standard output.
func (g *Repository) output(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return g.runCapturing(ctx, stdin, g.command(args...))
}

func (g *Repository) runCapturing(ctx context.Context, stdin io.Reader, c Command) ([]byte, error) {
	var stdout bytes.Buffer
	c.Stdin, c.Stdout = stdin, &stdout
	if err := g.commander.Run(ctx, c); err != nil {
		return stdout.Bytes(), explainLock(err)
	}
	return stdout.Bytes(), nil
}
