package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/process"
)

// git examines the git program and the work tree.
func (x *examination) git(ctx context.Context) {
	commander := process.NewCommander(x.env.ChildEnvironment())
	version, err := gitVersion(ctx, commander)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		x.withoutGit()
		return
	case err != nil:
		x.fail("git", err)
		return
	}
	repository, err := git.Open(ctx, commander, x.env.Workdir)
	var refused *git.ExitError
	switch {
	case errors.As(err, &refused) && strings.Contains(refused.Stderr, "dubious ownership"):
		x.add("git", info.Problem, "`git config --global --add safe.directory "+text.ShellWord(x.env.Workdir)+"` (the top of the work tree), or give its files to you",
			"git refuses the work tree, because it belongs to another user")
	case err != nil:
		x.fail("git", err)
	case repository == nil:
		x.ok("git", "version %s; the workspace is in no work tree, so captures have the files that the pipeline or workspace.include names", version)
	default:
		x.workTree(ctx, version, repository)
	}
}

func (x *examination) workTree(ctx context.Context, version string, repository *git.Repository) {
	doing, err := repository.InProgress(ctx)
	if err != nil {
		x.fail("git", err)
		return
	}
	branch, _, err := repository.Head(ctx)
	if err != nil {
		x.fail("git", err)
		return
	}
	commits := x.cfg != nil && workspace.GitMode(x.cfg.Checkpoint.Git.Mode) == workspace.GitCommit
	switch lock := repository.IndexLock(); {
	case lock != "":
		x.add("git", info.Warning, "wait for that command to end; where no git is at work: `rm "+text.ShellWord(lock)+"`",
			"git's lock %s is there: another git command is at work, or was killed", lock)
	case doing != "" && commits:
		x.add("git", info.Problem, "`git status` tells how to go on, `git "+doing+" --abort` goes back", "a %s is in progress, during which no checkpoint can be committed", doing)
	case doing != "":
		x.add("git", info.Warning, "`git status` tells how to go on", "a %s is in progress; captures have its files as they are", doing)
	case branch == "":
		x.ok("git", "version %s; no branch is checked out (detached HEAD)", version)
	default:
		x.ok("git", "version %s, branch %s", version, branch)
	}
}

// withoutGit reports a machine without git, which is a problem only if there is a work tree.
func (x *examination) withoutGit() {
	there, err := git.Exists(x.env.Workdir)
	if err == nil && there && (x.cfg == nil || workspace.GitMode(x.cfg.Checkpoint.Git.Mode) != workspace.GitOff) {
		x.add("git", info.Problem, "install git, or put it on PATH; a new session does without it if checkpoint.git.mode is off", "the workspace is in a git work tree, and git is not found in PATH")
		return
	}
	x.ok("git", "not found in PATH, and not needed here")
}

// gitVersion returns the version of git.
func gitVersion(ctx context.Context, commander git.Commander) (string, error) {
	var out bytes.Buffer
	if err := commander.Run(ctx, git.Command{Args: []string{"git", "version"}, Stdout: &out}); err != nil {
		return "", err
	}
	return strings.TrimSpace(strings.TrimPrefix(out.String(), "git version ")), nil
}

// minColumns is the width below which the lines of a run are cut.
const minColumns = 60

// terminal examines what the view of a run needs.
func (x *examination) terminal(context.Context) {
	out := x.env.Stdout
	if !x.env.IsTerminal(out) {
		x.ok("terminal", "none: a build prints a line for each thing that happens")
		return
	}
	locale, width := x.locale(), x.env.Width(out)
	switch {
	case runtime.GOOS != "windows" && !isUTF8(locale):
		x.add("terminal", info.Warning, "`export LANG=C.UTF-8`, or another locale that `locale -a` lists", "the locale is %s: characters such as → and ✓ may look wrong", orNone(locale))
	case x.env.Lookup("TERM") == "dumb" || runtime.GOOS != "windows" && x.env.Lookup("TERM") == "":
		x.add("terminal", info.Warning, "set TERM to what the terminal is, such as xterm-256color", "TERM is %s: a build prints plain lines", orNone(x.env.Lookup("TERM")))
	case width < minColumns:
		x.add("terminal", info.Warning, "widen it, or use `runner build --output plain`", "%d columns; lines are cut below %d", width, minColumns)
	default:
		colors := "without colours"
		if x.env.Color(out) {
			colors = "with colours"
		}
		x.ok("terminal", "%s, %d columns, %s", x.env.Lookup("TERM"), width, colors)
	}
}

// locale returns the name of the locale of characters.
func (x *examination) locale() string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := x.env.Lookup(name); value != "" {
			return value
		}
	}
	return ""
}

func isUTF8(locale string) bool {
	locale = strings.ToUpper(locale)
	return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
}

func orNone(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// processes examines whether Runner can find processes that a killed run has left.
func (x *examination) processes(context.Context) {
	const check = "processes"
	if runtime.GOOS != "linux" {
		x.ok(check, "those that a killed run leaves are found by their process group only")
		return
	}
	if _, err := os.ReadFile("/proc/self/environ"); err != nil {
		x.add(check, info.Warning, "mount /proc in this container", "/proc can't be read, so processes that a killed run leaves are not found: %v", err)
		return
	}
	x.ok(check, "those that a killed run leaves can be found and ended")
}
