package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/text"
)

// A git command that is killed, or whose machine loses power, leaves its lock files
// behind, which do not name a process. Runner cannot tell such a lock from that of a
// command that runs for another user, in another container or on another machine that
// shares the directory, and removing that one would corrupt the repository. So Runner
// removes no lock, and tells the user how to.

// explainLock turns the error of a git command that found a lock into a *StateError that
// names the lock and says what the user can do.
func explainLock(err error) error {
	var exit *ExitError
	if !errors.As(err, &exit) {
		return err
	}
	_, rest, begins := strings.Cut(exit.Stderr, "Unable to create '")
	lock, _, ends := strings.Cut(rest, ".lock': File exists")
	if !begins || !ends {
		return err
	}
	lock += ".lock"
	return &StateError{
		Detail: fmt.Sprintf("git's lock %s is there: another git command is at work, or was killed", lock),
		Remedy: "wait for that command to end; where no git is at work: rm " + text.ShellWord(lock),
	}
}

// IndexLock returns the path of git's lock on the index, "" if there is none.
func (g *Repository) IndexLock() string {
	lock := g.indexFile() + ".lock"
	if _, err := g.fs.Lstat(lock); err != nil {
		return ""
	}
	return filepath.Clean(lock)
}
