package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/store"
)

// Commander starts programs for this package, which never starts one itself.
type Commander interface {
	// Run runs a command to its end, and leaves nothing of it behind, also
	// when ctx ends first. That it ended with another exit code than 0 is an
	// *ExitError; that there is no such program is exec.ErrNotFound. When Run
	// returns, all of Stdout is written, and Stdin is not read any more.
	Run(ctx context.Context, c Command) error
}

// Command is a program to run: no shell.
type Command struct {
	Args  []string // the program first
	Dir   string
	Unset []string // names of variables that are taken out of the environment
	Env   []string // NAME=value, added to the environment after that
	// Stdin and Stdout are read and written while the command runs. What may
	// block for long has to be an *os.File, which the command gets itself.
	Stdin  io.Reader
	Stdout io.Writer
}

// ExitError says that a program ran and failed.
type ExitError struct {
	Args   []string
	Code   int    // -1: ended by a signal
	Stderr string // its end
}

func (e *ExitError) Error() string {
	ended := fmt.Sprintf("exit code %d", e.Code)
	if e.Code < 0 {
		ended = "ended by a signal"
	}
	name := strings.Join(e.Args[:min(len(e.Args), 1)], "")
	if said := strings.TrimSpace(e.Stderr); said != "" {
		return fmt.Sprintf("%s: %s: %s", name, ended, said)
	}
	return name + ": " + ended
}

// GitStateError says that git can't do now what was asked for, and what a
// person can do about it.
type GitStateError struct {
	Detail string
	Remedy string
}

func (e *GitStateError) Error() string { return e.Detail }

// Git is a git work tree, or a directory in one. It is safe for concurrent use.
//
// Nothing but CommitAll and Reset touches HEAD, a branch, the index, the stash
// or a reflog, and nothing but these two runs filters; no hook is run at all.
// Paths are relative to the directory, slash-separated, of any bytes.
type Git struct {
	commander Commander
	dir       string
	prefix    string // of dir below the top level: "" or "a/b/"
	gitDir    string // of this work tree
	commonDir string // of all work trees of the repository
	format    string // of object names: sha1 or sha256
	exact     bool   // names that differ only in case are different files, whatever core.ignoreCase says
	fs        store.FS
}

// endOfAnswer parts the answers of rev-parse, which repeats flags that it does
// not know: a path may hold newlines.
const endOfAnswer = "--end-of-answer"

// OpenGit returns the work tree that a directory lies in. It is nil where there
// is none (a bare repository, the inside of .git). That there is one, and no git
// program that could tell what is in it, is a *GitStateError: to go on as if
// there were none would capture other files, and call what git has damaged.
func OpenGit(ctx context.Context, c Commander, dir string) (*Git, error) {
	if there, err := isBelowGit(dir); err != nil || !there {
		return nil, err
	}
	g := &Git{commander: c, dir: dir, fs: store.OS()}
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
	g.exact = distinguishesCase(dir)
	if g.format != "sha1" && g.format != "sha256" {
		return nil, fmt.Errorf("look for the git work tree of %s: unknown object format %q", dir, g.format)
	}
	return g, nil
}

// distinguishesCase reports whether names that differ only in case are different files where a
// directory's repository is. core.ignoreCase may say otherwise, as after a clone was copied from
// another machine: then git would show only one of two such files.
func distinguishesCase(dir string) bool {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return false
		}
		is, err := os.Lstat(repository)
		if err != nil {
			continue
		}
		also, err := os.Lstat(filepath.Join(filepath.Dir(repository), strings.ToUpper(filepath.Base(repository))))
		return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, also)
	}
	return false
}

// isBelowGit reports whether a directory, or one above it, has something called
// .git, without which there is no work tree: git takes longer to say so than many
// a command takes for all it does.
func isBelowGit(dir string) (bool, error) {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(repository); !errors.Is(err, fs.ErrNotExist) {
			return true, nil // or git knows what it means
		}
	}
	return false, nil
}

// repositoriesOf yields where a directory's repository may be: in itself, or in one
// above it.
func repositoriesOf(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		at, err := filepath.EvalSymlinks(dir)
		if err != nil {
			yield("", fmt.Errorf("look for the git work tree of %s: %w", dir, err))
			return
		}
		for yield(filepath.Join(at, ".git"), nil) && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
	}
}

// missingGit is for a machine without the git program: nil where nothing shows
// that it is needed.
func missingGit(dir string) error {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return err
		}
		info, err := os.Stat(repository)
		if err == nil && info.IsDir() { // git passes by an empty one
			_, err = os.Lstat(filepath.Join(repository, "HEAD"))
		}
		if err == nil {
			return &GitStateError{
				Detail: fmt.Sprintf("git is needed, since there is %s, and is not found in PATH", repository),
				Remedy: "put git on PATH; a new session does without it where checkpoint.git.mode is off",
			}
		}
	}
	return nil
}

// foreign are variables by which git tells its hooks and aliases where they
// are: the directory says that here. The rest of GIT_* is the user's choice.
func foreign() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
		"GIT_REPLACE_REF_BASE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS",
	}
}

// command is a git command that leaves everything of the user's alone. An
// fsmonitor is not asked: it would be started, and it may be wrong.
func (g *Git) command(args ...string) Command {
	quiet := []string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	if g.exact {
		quiet = append(quiet, "-c", "core.ignoreCase=false")
	}
	return Command{
		Args:  append(quiet, args...),
		Dir:   g.dir,
		Unset: foreign(),
		Env: []string{
			"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
			"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		},
	}
}

// output runs a command and returns what it prints.
func (g *Git) output(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return g.capture(ctx, stdin, g.command(args...))
}

func (g *Git) capture(ctx context.Context, stdin io.Reader, c Command) ([]byte, error) {
	var stdout bytes.Buffer
	c.Stdin, c.Stdout = stdin, &stdout
	if err := g.commander.Run(ctx, c); err != nil {
		return stdout.Bytes(), explainLock(err)
	}
	return stdout.Bytes(), nil
}

// exitCode returns the exit code that an error tells of: 0 for none.
func exitCode(err error) int {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return 0
}
